"""BCTS, bias-corrected temperature scaling (Alexandari et al. 2020)."""

from baserate.calibrators._fitting import Fit
from baserate.calibrators._softmax_map import SAVED, WIDTH, SoftmaxMap


class BCTS(SoftmaxMap, saved_as="bcts"):
    """Calibrator with one temperature and a bias per class: ``softmax(log p / temperature_ + biases_)``.

    Likelihood-based estimates of the class mix need the biases: a temperature alone cannot make the mean output on the
    holdout equal to its class mix.

    Biases have a Gaussian prior around zero, whose width is the one (of ten, from 0.01 to 5.12) that maximises the
    evidence of the holdout. If a small holdout shows no bias, the map is nearly a temperature; if the bias is clear,
    the prior has nearly no effect. The inverse temperature has the prior of `TemperatureScaling`; zeros, and maps that
    are less likely on the holdout than the model itself, are treated as there. Time and memory: Newton steps
    with the Hessian, O(n k^2), up to 639 classes; L-BFGS, O(n k) a step, beyond.

    Attributes
    ----------
    temperature_ : float
        Above 1 for an over-confident model.
    biases_ : (k,) array
        They sum to zero. The bias of a class that is missing in the holdout is determined by the prior.
    bias_sd_ : float
        The width of their prior; 0 where the map is the identity.
    floor_ : float
        The value that zeros are raised to; 0 where the map is the identity.

    Examples
    --------
    A model that thinks that both classes are equally frequent, and a holdout in which they are not:

    >>> import numpy as np
    >>> holdout = np.tile([[0.8, 0.2], [0.5, 0.5], [0.5, 0.5], [0.2, 0.8]], (100, 1))
    >>> y = np.tile([0, 0, 0, 1, 1, 0, 1, 0], 50)
    >>> bcts = BCTS().fit(holdout, y)
    >>> bcts.transform(holdout).mean(axis=0).round(2), np.bincount(y) / len(y)
    (array([0.62, 0.38]), array([0.625, 0.375]))

    References
    ----------
    Alexandari, Kundaje, Shrikumar, "Maximum Likelihood with Bias-Corrected Calibration is Hard-To-Beat at Label Shift
    Adaptation", ICML 2020.
    """

    _tied = True
    _biased = True

    saves = SAVED.extended(state={"bias_sd_": WIDTH})

    @property
    def temperature_(self) -> float:
        return float(1.0 / self.scales_[0])

    def _keep(self, fit: Fit) -> None:
        self.bias_sd_ = fit.bias_sd
