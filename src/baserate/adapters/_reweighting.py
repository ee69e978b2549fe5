"""What all re-weighting adapters share: fit on the holdout, predict with the current prior, step."""

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.calibrators import AutoCalibrator
from baserate.parameters import clone
from baserate.protocols import Calibrator, FloatArray, IntArray, Step
from baserate.simplex import log_ratio, reweight
from baserate.state import Component, check_array
from baserate.validation import (
    check_all_classes_present,
    check_fitted,
    check_has_methods,
    check_labels,
    check_option,
    check_prior,
    check_proba,
    warn_user,
)


class Holdout(NamedTuple):
    """What an adapter learns from a holdout: how to calibrate, the source prior, the calibrated samples, the others."""

    calibrator: Calibrator | None
    offsets: FloatArray | None
    source_prior: FloatArray
    proba: FloatArray | None
    labels: IntArray | None
    raw: FloatArray | None


class ReweightingAdapter(Component):
    """An adapter that multiplies the model's probabilities by ``prior_ / source_prior_`` and normalises.

    A subclass says what the prior is (`_current_prior`) and what a batch does to it (`_observe`). `rounds_` counts the
    rounds taken in.
    """

    input_kind = "proba"

    source_prior: ArrayLike | None
    calibrator: Calibrator | Literal["auto"] | None

    def fit(self, proba: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        """Learn from the holdout: the source prior, the calibration, and what else the method needs.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, as column numbers of `proba`.
        """
        self._fit(proba, y)
        self._start()
        return self

    def _fit(self, proba: ArrayLike | None, y: ArrayLike | None) -> None:
        """Set everything that comes from the holdout, all of it or nothing."""
        self._keep(self._read_holdout(proba, y))

    def _keep(self, holdout: Holdout) -> None:
        self.calibrator_, self._calibration_offsets = holdout.calibrator, holdout.offsets
        self.source_prior_ = holdout.source_prior

    def _start(self) -> None:
        """Begin a new stream."""
        self.rounds_ = 0

    def reset(self) -> None:
        """Forget the stream, as if just fitted."""
        check_fitted(self, "source_prior_")
        self._start()

    def _read_holdout(self, proba: ArrayLike | None, y: ArrayLike | None) -> Holdout:
        if proba is None:
            if y is not None:
                raise ValueError("proba is missing, and y is there; give the holdout's probabilities, too.")
            if self.source_prior is None:
                raise ValueError("proba is missing: without a holdout, give the source_prior to the constructor.")
            source_prior = check_prior(self.source_prior, name="source_prior", positive=True)
            holdout, labels = None, None
        else:
            holdout = check_proba(proba)
            labels = None if y is None else check_labels(y, len(holdout), holdout.shape[1])
            source_prior = self._source_prior(labels, holdout.shape[1])
        calibrator = self._new_calibrator(labeled=labels is not None)
        if calibrator is None or holdout is None or labels is None:
            return Holdout(None, None, source_prior, holdout, labels, holdout)
        k = len(source_prior)
        check_all_classes_present(labels, k)
        shift = log_ratio(np.bincount(labels, minlength=k) / len(labels), source_prior)
        offsets = shift if np.abs(shift).max() > 1e-12 else None
        calibrator.fit(_shifted(holdout, offsets), labels)
        proba_calibrated = calibrated(calibrator, offsets, holdout)
        return Holdout(calibrator, offsets, source_prior, proba_calibrated, labels, holdout)

    def _new_calibrator(self, *, labeled: bool) -> Any:
        """An unfitted calibrator as asked for; without labels, none by default."""
        if isinstance(self.calibrator, str):
            check_option(self.calibrator, "calibrator", ["auto"])
            if labeled:
                return AutoCalibrator()
            warn_user(
                "there is no labelled holdout to calibrate the probabilities on, and they are taken as honest. If they "
                "are, say so with calibrator=None."
            )
            return None
        if self.calibrator is None:
            return None
        check_has_methods(self.calibrator, "calibrator", Calibrator, "fit and transform")
        if not labeled:
            raise ValueError("y is missing: a calibrator needs a labelled holdout. Give one, or set calibrator=None.")
        return clone(self.calibrator)

    def _source_prior(self, labels: IntArray | None, n_classes: int) -> FloatArray:
        if self.source_prior is not None:
            return check_prior(self.source_prior, n_classes, "source_prior", positive=True)
        if labels is None:
            raise ValueError("y is missing: give the holdout's labels, or the source_prior to the constructor.")
        if len(labels) == 0:
            raise ValueError("proba is an empty holdout; give labelled samples of every class.")
        check_all_classes_present(labels, n_classes)
        return np.asarray(np.bincount(labels, minlength=n_classes) / len(labels), dtype=np.float64)

    @property
    def prior_(self) -> FloatArray:
        """(k,) the class mix as tracked now."""
        check_fitted(self, "source_prior_")
        return self._current_prior().copy()

    def log_offsets(self) -> FloatArray:
        """The correction as k numbers to add to the (calibrated) log-probabilities or logits, before a softmax.

        A model that is served elsewhere applies it in one line. A class that the prior rules out has the offset -inf.
        """
        check_fitted(self, "source_prior_")
        return log_ratio(self._current_prior(), self.source_prior_)

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
        checked = self.check_proba(proba)
        self._advance(checked, self._check_labels(y, checked))

    def step(self, proba: ArrayLike, y: ArrayLike | None = None) -> Step:
        """Predict a batch, then take it in; return what was used."""
        checked = self.check_proba(proba)
        labels = self._check_labels(y, checked)
        step = Step(self._predict(checked), self._current_prior().copy(), self._flags())
        self._advance(checked, labels)
        return step

    def _advance(self, proba: FloatArray, labels: IntArray | None) -> None:
        self._observe(proba, labels)
        self.rounds_ += 1

    def check_proba(self, proba: ArrayLike) -> FloatArray:
        """Check a batch, and calibrate it."""
        return self.calibrate(self.check_rows(proba))

    def check_rows(self, proba: ArrayLike) -> FloatArray:
        """Check a batch, and leave it as it is."""
        check_fitted(self, "source_prior_")
        return check_proba(proba, len(self.source_prior_))

    def calibrate(self, rows: FloatArray) -> FloatArray:
        """Calibrate a batch that is checked."""
        return calibrated(self.calibrator_, self._calibration_offsets, rows)

    def _check_labels(self, y: ArrayLike | None, proba: FloatArray) -> IntArray | None:
        return None if y is None else check_labels(y, *proba.shape, missing=True)

    def _predict(self, proba: FloatArray) -> FloatArray:
        return reweight(proba, self.log_offsets()[np.newaxis], np.array([0, len(proba)]))

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if hasattr(self, "source_prior_"):
            like = np.empty(np.size(self.source_prior_))
            check_array(self.source_prior_, "source_prior_", like)
            if self._calibration_offsets is not None:
                check_array(self._calibration_offsets, "_calibration_offsets", like)
        return self

    def _flags(self) -> dict[str, bool]:
        return {}

    def _current_prior(self) -> FloatArray:
        raise NotImplementedError

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        raise NotImplementedError


def calibrated(calibrator: Calibrator | None, offsets: FloatArray | None, proba: FloatArray) -> FloatArray:
    """Calibrate probabilities of the source's class mix with a calibrator, if there is one, that knows the holdout's.

    Where a person gave another source prior than the holdout's mix, `offsets` lead from the one to the other: the
    probabilities are shifted to the holdout's mix, calibrated there, and shifted back. Otherwise a calibrator that has
    biases would take the difference of the two for a fault of the model.
    """
    if calibrator is None or (isinstance(calibrator, AutoCalibrator) and calibrator.calibrator_ is None):
        return proba  # honest as it is
    honest = check_proba(calibrator.transform(_shifted(proba, offsets)), proba.shape[1], "the calibrator's output")
    return _shifted(honest, None if offsets is None else -offsets)


def _shifted(proba: FloatArray, offsets: FloatArray | None) -> FloatArray:
    return proba if offsets is None else reweight(proba, offsets[np.newaxis], np.array([0, len(proba)]))
