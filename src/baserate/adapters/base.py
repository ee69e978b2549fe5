"""Base: do nothing, the model as it is."""

from typing import Literal, Self

from numpy.typing import ArrayLike

from baserate.adapters._reweighting import SAVED, ReweightingAdapter
from baserate.adapters._source import learn_source
from baserate.protocols import Calibrator, FloatArray, IntArray


class Base(ReweightingAdapter, saved_as="base"):
    """The model's own probabilities, for comparison.

    Parameters
    ----------
    calibrator : Calibrator, "auto" or None
        Calibrates the probabilities first. Default: none, the model left alone.
    source_prior : (k,) array, optional
        The class mix the model was trained on. Default: the holdout's, as `RegressAndReweight` finds it.

    Examples
    --------
    >>> base = Base().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    >>> base.step([[0.7, 0.3]]).proba
    array([[0.7, 0.3]])
    """

    saves = SAVED

    def __init__(
        self, *, calibrator: Calibrator | Literal["auto"] | None = None, source_prior: ArrayLike | None = None
    ) -> None:
        self.calibrator = calibrator
        self.source_prior = source_prior

    def fit(self, proba: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        self._begin(learn_source(proba, y, self.source_prior, self.calibrator))
        return self

    def _restart(self) -> None:
        self.rounds_ = 0

    def _current_prior(self) -> None:
        return None

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        pass
