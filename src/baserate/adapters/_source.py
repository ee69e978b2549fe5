"""The source of a model: what an adapter learns of it from the holdout, and how its probabilities are calibrated."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.calibrators import AutoCalibrator
from baserate.parameters import clone
from baserate.protocols import Calibrator, FloatArray, IntArray
from baserate.simplex import log_ratio, reweight
from baserate.state.declarations import SavedPart
from baserate.validation import (
    LEAST_PRIOR,
    check_all_classes_present,
    check_has_methods,
    check_held_proba,
    check_labels,
    check_option,
    check_prior,
    check_proba,
    warn_user,
)


class Source(NamedTuple):
    """A source class prior, the fitted calibrator, and the holdout.

    Attributes
    ----------
    prior : (k,) array
        The class mix that the model's probabilities assume.
    calibrator : Calibrator or None
        Fitted on the holdout.
    offsets : (k,) array or None
        Log-offsets from the source prior to the holdout's class mix, where the two differ: see `calibrate`.
    raw, calibrated : (n, k) arrays or None
        The holdout's probabilities as the model gives them, and calibrated.
    labels : (n,) array of int or None
        The holdout's labels.
    """

    prior: FloatArray
    calibrator: Calibrator | None = None
    offsets: FloatArray | None = None
    raw: FloatArray | None = None
    calibrated: FloatArray | None = None
    labels: IntArray | None = None


def learn_source(
    proba: ArrayLike | None,
    y: ArrayLike | None,
    source_prior: ArrayLike | None,
    calibrator: Calibrator | Literal["auto"] | None,
    names: Sequence[Any] | None = None,
) -> Source:
    """Check a holdout, and fit the calibrator on it.

    Parameters
    ----------
    proba, y
        The holdout, as `fit` of an adapter takes it.
    source_prior, calibrator
        The adapter's parameters of these names.
    names : sequence, optional
        What to call the classes in an error. Default: their numbers.
    """
    if proba is None:
        if y is not None:
            raise ValueError("proba is missing, and y is there; give the holdout's probabilities, too.")
        if source_prior is None:
            raise ValueError("proba is missing: without a holdout, give the source_prior to the constructor.")
        prior = check_prior(source_prior, name="source_prior", positive=True)
        holdout, labels = None, None
    else:
        holdout = check_held_proba(proba, y)
        labels = None if y is None else check_labels(y, len(holdout), holdout.shape[1])
        prior = _prior(source_prior, labels, holdout.shape[1], names)
    fitted = _new_calibrator(calibrator, labelled=labels is not None)
    if fitted is None or holdout is None or labels is None:
        return Source(prior, raw=holdout, calibrated=holdout, labels=labels)
    k = len(prior)
    check_all_classes_present(labels, k, classes=names)
    shift = log_ratio(np.bincount(labels, minlength=k) / len(labels), prior)
    offsets = shift if np.abs(shift).max() > 1e-12 else None
    fitted.fit(_shifted(holdout, offsets), labels)
    calibrated = calibrate(holdout, fitted, offsets)
    if source_prior is None and isinstance(fitted, AutoCalibrator):
        # The mix that the calibrated probabilities assume is their mean. The calibrator has looked whether the labels
        # contradict it; where they do not, their share of a rare class is the less certain of the two.
        prior = np.maximum(calibrated.mean(axis=0), LEAST_PRIOR)
        prior /= prior.sum()
    return Source(prior, fitted, offsets, holdout, calibrated, labels)


def _prior(
    source_prior: ArrayLike | None, labels: IntArray | None, n_classes: int, names: Sequence[Any] | None
) -> FloatArray:
    if source_prior is not None:
        return check_prior(source_prior, n_classes, "source_prior", positive=True)
    if labels is None:
        raise ValueError("y is missing: give the holdout's labels, or the source_prior to the constructor.")
    if len(labels) == 0:
        raise ValueError("proba is an empty holdout; give labelled samples of every class.")
    check_all_classes_present(labels, n_classes, classes=names)
    return np.asarray(np.bincount(labels, minlength=n_classes) / len(labels), dtype=np.float64)


def _new_calibrator(calibrator: Calibrator | Literal["auto"] | None, *, labelled: bool) -> Any:
    """An unfitted calibrator as asked for; without labels, none by default."""
    if isinstance(calibrator, str):
        check_option(calibrator, "calibrator", ["auto"])
        if labelled:
            return AutoCalibrator()
        warn_user(
            "there is no labelled holdout to calibrate the probabilities on, and they are taken as calibrated. If they "
            "are, say so with calibrator=None."
        )
        return None
    if calibrator is None:
        return None
    check_has_methods(calibrator, "calibrator", Calibrator, "fit and transform")
    if not labelled:
        raise ValueError("y is missing: a calibrator needs a labelled holdout. Give one, or set calibrator=None.")
    return clone(calibrator)


def changes_nothing(calibrator: Calibrator | None) -> bool:
    """Return True if a fitted calibrator leaves probabilities as they are."""
    return calibrator is None or (isinstance(calibrator, AutoCalibrator) and calibrator.floor_ == 0.0)


def changes_nothing_saved(calibrator: SavedPart | None) -> bool:
    """`changes_nothing` of a calibrator in a file."""
    if calibrator is None or not issubclass(calibrator.cls, AutoCalibrator):
        return calibrator is None
    return calibrator.state.get("floor_") == 0.0


def calibrate(proba: FloatArray, calibrator: Calibrator | None, offsets: FloatArray | None) -> FloatArray:
    """Calibrate probabilities that assume the source prior, by a calibrator that was fitted on the holdout.

    Where a person gave another source prior than the holdout's class mix, `offsets` lead from the one to the other: the
    probabilities are shifted to the holdout's mix, calibrated there, and shifted back. Otherwise a calibrator that has
    biases would take the difference of the two for a fault of the model.
    """
    if calibrator is None or changes_nothing(calibrator):
        return proba
    calibrated = check_proba(calibrator.transform(_shifted(proba, offsets)), proba.shape[1], "the calibrator's output")
    return _shifted(calibrated, None if offsets is None else -offsets)


def _shifted(proba: FloatArray, offsets: FloatArray | None) -> FloatArray:
    return proba if offsets is None else reweight(proba, offsets[np.newaxis], np.array([0, len(proba)]))
