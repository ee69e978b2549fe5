"""AutoCalibrator: a calibration map as flexible as the holdout supports."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.calibrators._averaging import Average, fit_average
from baserate.calibrators._softmax import normalise_rows
from baserate.calibrators._softmax_map import SAVED, SoftmaxMap, floor_of, log_likelihoods, raised_logs
from baserate.state.declarations import Number, Saved, Text
from baserate.validation import check_holdout

_FEWEST = 10


def _fits_together(saved: Saved) -> str:
    identity, free = saved.state["floor_"] == 0.0, saved.state["degrees_of_freedom_"]
    return "" if identity == (free == 0.0) else "has degrees of freedom that do not fit its map"


class AutoCalibrator(SoftmaxMap, saved_as="auto_calibrator"):
    """Calibrator ``softmax(scales_ * log p + biases_)`` that is as flexible as the holdout supports.

    One estimate takes the place of a choice between no calibration, a temperature, `BCTS` and `VectorScaling`: it is
    the average of maps under 24 priors, from one temperature alone to a free scale and bias per class, weighted by
    their evidence, the marginal likelihood of the holdout. So biases and differences between scales are shrunk
    smoothly, and classes with few samples most. The common temperature has the prior of `TemperatureScaling`, and zeros
    are treated as there.

    Probabilities that are calibrated are left exactly as they are (scales 1, biases 0, floor 0): the map is used only
    if it raises the holdout's log-likelihood by more than its effective number of parameters, the gain in nats that
    fitting them would bring on average without any benefit for new samples (Akaike's criterion). With fewer than 10
    samples, or only one class, nothing is changed.

    Time and memory: O(n k^2 + k^3) up to 320 classes; O(n k) a step beyond, where the map is that of `BCTS`.

    Attributes
    ----------
    scales_ : (k,) array
        Inverse temperatures.
    biases_ : (k,) array
        They sum to zero.
    floor_ : float
        The value that zeros are raised to; 0 where the map is the identity.
    degrees_of_freedom_ : float
        The effective number of parameters: 0 for the identity, about 1 for a temperature, up to 2 k.
    reason_ : str
        What was found, in one sentence.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> calibrated = rng.dirichlet(np.ones(3), size=500)
    >>> y = (calibrated.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    >>> AutoCalibrator().fit(calibrated, y).degrees_of_freedom_
    0.0
    >>> overconfident = calibrated**3 / (calibrated**3).sum(axis=1, keepdims=True)
    >>> auto = AutoCalibrator().fit(overconfident, y)
    >>> (1 / auto.scales_).round(1), auto.biases_.round(1) + 0.0, round(auto.degrees_of_freedom_)
    (array([2.9, 2.7, 2.8]), array([ 0. ,  0. , -0.1]), 2)
    """

    saves = SAVED.extended(state={"degrees_of_freedom_": Number(0.0, 1e9), "reason_": Text()}, check=_fits_together)

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Learn the map from the holdout.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, as column numbers of `proba`. A class may be missing.
        """
        holdout, labels = check_holdout(proba, y, every_class=False)
        n, k = holdout.shape
        fit, floor = Average(np.ones(k), np.zeros(k), 0.0, 0.0), 0.0
        if n < _FEWEST or (labels == labels[0]).all():
            lack = f"only {n} sample{'s' * (n > 1)}" if n < _FEWEST else f"samples of class {labels[0]} alone"
            reason = f"a holdout with {lack} cannot show a fault"
        else:
            before = float(log_likelihoods(normalise_rows(holdout), labels).sum())
            raised = floor_of(holdout)
            best = fit_average(raised_logs(holdout, raised), labels)
            gain = best.value - before
            reason = f"on {n} samples a map with {best.freedom:.1f} degrees of freedom gains {gain:.1f} nats"
            if before == -np.inf:
                reason = "the model had given a true class no probability"
            if gain > best.freedom:
                fit, floor = best, raised
            else:
                reason += ", no more than by chance"
        self.scales_, self.biases_, self.floor_ = fit.scales, fit.biases, floor
        self.degrees_of_freedom_ = fit.freedom
        self.reason_ = f"{_describe(fit)}: {reason}."
        return self


def _describe(fit: Average) -> str:
    """Say in words what a map does."""
    if fit.freedom == 0.0:
        return "The probabilities stay as they are"
    low, high = 1.0 / fit.scales.max(), 1.0 / fit.scales.min()
    same = f"{low:.2f}" == f"{high:.2f}"
    temperature = f"a temperature of {low:.2f}" if same else f"temperatures from {low:.2f} to {high:.2f}"
    return f"The probabilities are calibrated with {temperature} and biases of at most {np.abs(fit.biases).max():.2f}"
