"""Oracle: re-weighting that is told the class mixes, the best that it can do."""

from typing import Literal, Self

from numpy.typing import ArrayLike

from baserate.adapters._reweighting import SAVED, ReweightingAdapter
from baserate.adapters._source import learn_source
from baserate.protocols import Calibrator, FloatArray, IntArray
from baserate.simplex import normalise
from baserate.state.declarations import Plain, priors
from baserate.validation import check_path


class Oracle(ReweightingAdapter, saved_as="oracle"):
    """Re-weights with a path of class mixes that it is given, one row per round.

    Parameters
    ----------
    priors : (T, k) array
        The class mix of each round: the true q_t, or the label frequencies of each batch
        (`baserate.shifts.frequencies`), which is what "Oracle" means in the paper's tables.
    calibrator : Calibrator, "auto" or None
        Calibrates the probabilities first; as in `RegressAndReweight`.
    source_prior : (k,) array, optional
        The class mix the model was trained on. Default: the holdout's, as `RegressAndReweight` finds it.

    Examples
    --------
    >>> oracle = Oracle([[0.5, 0.5], [0.8, 0.2]]).fit([[0.9, 0.1], [0.1, 0.9]], [0, 1])
    >>> oracle.step([[0.5, 0.5]]).proba
    array([[0.5, 0.5]])
    >>> oracle.step([[0.5, 0.5]]).proba.round(12)
    array([[0.8, 0.2]])
    """

    saves = SAVED.extended({"priors": Plain()}, {"_path": priors("rounds", "k")})

    def __init__(
        self,
        priors: ArrayLike,
        *,
        calibrator: Calibrator | Literal["auto"] | None = "auto",
        source_prior: ArrayLike | None = None,
    ) -> None:
        self.priors = priors
        self.calibrator = calibrator
        self.source_prior = source_prior

    def fit(self, proba: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        source = learn_source(proba, y, self.source_prior, self.calibrator)
        self._path = normalise(check_path(self.priors, len(source.prior), "priors"))
        self._begin(source)
        return self

    def _restart(self) -> None:
        self.rounds_ = 0

    def _current_prior(self) -> FloatArray:
        if self.rounds_ >= len(self._path):
            raise ValueError(
                f"priors has {len(self._path)} rounds, and all of them are over; give a longer path, or call reset."
            )
        prior: FloatArray = self._path[self.rounds_]
        return prior

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        self._current_prior()  # one round beyond the end is an error here, too

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls([[0.2, 0.3, 0.5], [0.5, 0.25, 0.25]] * 100)]
