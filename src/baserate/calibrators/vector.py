"""Vector scaling: a scale and a bias per class (Guo et al. 2017)."""

from baserate.calibrators._fitting import Fit
from baserate.calibrators._softmax_map import SAVED, WIDTH, SoftmaxMap


class VectorScaling(SoftmaxMap, saved_as="vector_scaling"):
    """Calibrator with a scale and a bias per class: ``softmax(scales_ * log p + biases_)``.

    Biases are shrunk as in `BCTS`. Scales are shrunk towards their mean, the common inverse temperature, by a Gaussian
    prior whose width is chosen in the same way; a prior on ``mean(s - log s)`` with the weight of one sample keeps them
    positive and finite. Zeros, and maps that are less likely on the holdout than the model itself, are treated as in
    `TemperatureScaling`. Time and memory: Newton steps with the Hessian, O(n k^2), up to 320 classes; L-BFGS, O(n k) a
    step, beyond.

    Attributes
    ----------
    scales_ : (k,) array
        Inverse temperatures.
    biases_ : (k,) array
        They sum to zero.
    scale_sd_, bias_sd_ : float
        The widths of their priors; 0 where the map is the identity.
    floor_ : float
        The value that zeros are raised to; 0 where the map is the identity.

    Examples
    --------
    A model that is over-confident in the first class, and not in the second:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> calibrated = rng.dirichlet(np.ones(2), size=5000)
    >>> y = (rng.random(5000) > calibrated[:, 0]).astype(int)
    >>> shown = calibrated ** [2.0, 1.0]
    >>> shown /= shown.sum(axis=1, keepdims=True)
    >>> vector = VectorScaling().fit(shown, y)
    >>> bool(np.abs(vector.transform(shown) - calibrated).mean() < 0.02 < np.abs(shown - calibrated).mean())
    True

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.
    """

    _tied = False
    _biased = True

    saves = SAVED.extended(state={"scale_sd_": WIDTH, "bias_sd_": WIDTH})

    def _keep(self, fit: Fit) -> None:
        self.scale_sd_, self.bias_sd_ = fit.scale_sd, fit.bias_sd
