"""ReweightingAdapter: the part that simple re-weighting adapters share, from probabilities in to probabilities out."""

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._source import Source, calibrate
from baserate.protocols import Calibrator, FloatArray, IntArray, Step
from baserate.simplex import log_ratio, reweight
from baserate.state import Component
from baserate.state.declarations import Either, Maybe, Part, Plain, Saves, Spec, Text, Whole, floats, priors
from baserate.validation import LEAST_PRIOR, check_fitted, check_labels, check_proba

CALIBRATOR = Maybe(Either((Text(("auto",)), Part(Calibrator))))
"""The spec of an adapter's parameter `calibrator`."""
SOURCE: dict[str, Spec] = {
    "source_prior_": priors("k", low=LEAST_PRIOR),
    "calibrator_": Maybe(Part(Calibrator, {"k": "k"}, fitted=True)),
    "_calibration_offsets": Maybe(floats("k", low=-1e3, high=1e3)),
}
"""Specs of what an adapter keeps of the source."""
SAVED = Saves(
    params={"calibrator": CALIBRATOR, "source_prior": Maybe(Plain())},
    state={**SOURCE, "rounds_": Whole()},
    may_be_empty=True,
)
"""The declaration of what every re-weighting adapter saves."""


class ReweightingAdapter(Component):
    """An adapter that multiplies the model's probabilities by ``prior_ / source_prior_`` and normalises.

    A subclass implements `fit`, and says how a stream begins (`_restart`), what the class prior is now
    (`_current_prior`) and what a batch does to it (`_observe`).

    Attributes
    ----------
    rounds_ : int
        Rounds taken in.
    """

    input_kind = "proba"

    source_prior: ArrayLike | None
    calibrator: Calibrator | Literal["auto"] | None
    rounds_: int

    def fit(self, proba: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        """Learn from the holdout: the source prior, the calibration, and what else the method needs.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, as column numbers of `proba`.
        """
        raise NotImplementedError

    def _restart(self) -> None:
        """Begin a new stream."""
        raise NotImplementedError

    def _current_prior(self) -> FloatArray | None:
        """The class prior to re-weight to; None leaves the (calibrated) probabilities as they are."""
        raise NotImplementedError

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        """Take in a calibrated batch."""
        raise NotImplementedError

    def _begin(self, source: Source) -> None:
        """Keep what was learned of the source, and begin the first stream."""
        self.source_prior_ = source.prior
        self.calibrator_, self._calibration_offsets = source.calibrator, source.offsets
        self._restart()

    def reset(self) -> None:
        """Forget the stream, as if just fitted."""
        check_fitted(self, "source_prior_")
        self._restart()

    @property
    def prior_(self) -> FloatArray:
        """(k,) the class mix as tracked now."""
        check_fitted(self, "source_prior_")
        prior = self._current_prior()
        return (self.source_prior_ if prior is None else prior).copy()

    def log_offsets(self) -> FloatArray:
        """The correction as k numbers to add to the (calibrated) log-probabilities or logits, before a softmax.

        A model that is served elsewhere applies it in one line. A class that the prior rules out has the offset -inf.
        """
        return log_ratio(self.prior_, self.source_prior_)

    def predict_proba(self, proba: ArrayLike) -> FloatArray:
        """Adapted probabilities of a batch; changes nothing.

        Where the prior rules out every class that the model holds possible, the model's row is returned as it is.
        """
        return self._predict(self.check_proba(proba))

    def update(self, proba: ArrayLike, y: ArrayLike | None = None) -> None:
        """Take in one round.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities. An empty batch is a round without evidence.
        y : (n,) array of int, optional
            Labels where they are known, -1 or NaN where not.
        """
        self._advance(*self._check_batch(proba, y))

    def step(self, proba: ArrayLike, y: ArrayLike | None = None) -> Step:
        """Predict a batch, then take it in; return what was used."""
        calibrated, labels = self._check_batch(proba, y)
        step = Step(self._predict(calibrated), self.prior_, {})
        self._advance(calibrated, labels)
        return step

    def check_proba(self, proba: ArrayLike) -> FloatArray:
        """Check a batch, and calibrate it."""
        check_fitted(self, "source_prior_")
        return self.calibrate(check_proba(proba, len(self.source_prior_)))

    def calibrate(self, rows: FloatArray) -> FloatArray:
        """Calibrate a batch that is checked."""
        return calibrate(rows, self.calibrator_, self._calibration_offsets)

    def _check_batch(self, proba: ArrayLike, y: ArrayLike | None) -> tuple[FloatArray, IntArray | None]:
        checked = self.check_proba(proba)
        return checked, None if y is None else check_labels(y, *checked.shape, missing=True)

    def _predict(self, proba: FloatArray) -> FloatArray:
        prior = self._current_prior()
        if prior is None:
            return proba.copy()
        return reweight(proba, log_ratio(prior, self.source_prior_)[np.newaxis], np.array([0, len(proba)]))

    def _advance(self, proba: FloatArray, labels: IntArray | None) -> None:
        self._observe(proba, labels)
        self.rounds_ += 1
