"""Temperature scaling: one parameter for the confidence (Guo et al. 2017)."""

from baserate.calibrators._softmax_map import SAVED, SoftmaxMap


class TemperatureScaling(SoftmaxMap, saved_as="temperature_scaling"):
    """Calibrator with one temperature for all probabilities: ``softmax(log p / temperature_)``.

    The inverse temperature beta maximises the holdout's log-likelihood minus ``beta - log(beta)``. That prior has the
    weight of one sample: it keeps beta positive, and finite if the model makes no mistake on the holdout.

    Zeros are raised to a floor before the logarithm: half the smallest positive probability of the holdout, at least
    1e-12, and at most 0.3 / k if the holdout has zeros or 1e-6 if it has none. A map that is less likely on the holdout
    than the model itself is replaced by the identity.

    Attributes
    ----------
    temperature_ : float
        Above 1 for an over-confident model.
    floor_ : float
        The value that zeros are raised to; 0 where the map is the identity.

    Examples
    --------
    A model that is right three times out of four, and always sure:

    >>> import numpy as np
    >>> holdout = np.tile([[0.98, 0.02], [0.02, 0.98]], (200, 1))
    >>> y = np.tile([0, 1, 0, 1, 0, 1, 1, 0], 50)
    >>> scaling = TemperatureScaling().fit(holdout, y)
    >>> scaling.transform([[0.98, 0.02]]).round(2)
    array([[0.75, 0.25]])

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.
    """

    _tied = True
    _biased = False

    saves = SAVED

    @property
    def temperature_(self) -> float:
        return float(1.0 / self.scales_[0])
