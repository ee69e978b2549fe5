"""Do nothing: the model as it is."""

from typing import Literal

from numpy.typing import ArrayLike

from baserate.adapters._reweighting import ReweightingAdapter
from baserate.protocols import Calibrator, FloatArray, IntArray


class Base(ReweightingAdapter, saved_as="base"):
    """The model's own probabilities, for comparison.

    Parameters
    ----------
    calibrator : Calibrator, "auto" or None
        Makes the probabilities honest first. Default: none, the model left alone.
    source_prior : (k,) array, optional
        The class mix the model was trained on. Default: the holdout's.

    Examples
    --------
    >>> base = Base().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    >>> base.step([[0.7, 0.3]]).proba
    array([[0.7, 0.3]])
    """

    def __init__(
        self, *, calibrator: Calibrator | Literal["auto"] | None = None, source_prior: ArrayLike | None = None
    ) -> None:
        self.calibrator = calibrator
        self.source_prior = source_prior

    def _current_prior(self) -> FloatArray:
        return self.source_prior_

    def _predict(self, proba: FloatArray) -> FloatArray:
        return proba.copy()

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        pass
