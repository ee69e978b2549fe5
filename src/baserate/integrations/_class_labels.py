"""Checks of the class labels that `LabelShiftClassifier` takes."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
from sklearn.utils.validation import _num_samples, column_or_1d  # type: ignore[import-untyped]

from baserate.class_labels import read_labels, shown, to_columns
from baserate.known_prior import check_mix
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.validation import series_index

Labels = NDArray[Any]
_ORDERED = {"-1", "0", "1", "false", "true", "no", "yes", "n", "y"}  # in sorted order, the second is the positive one


def check_targets(y: Any) -> Labels:
    """Check the labels that a classifier is fitted on: none is missing, and there are at least two classes."""
    if y is None:
        raise ValueError("LabelShiftClassifier requires y to be passed, but the target y is None.")
    values = read_labels(y, _num_samples(y))
    if None in values:
        raise ValueError(
            f"y has no label at sample {values.index(None)}; every label must be known here. partial_fit takes samples "
            "without labels."
        )
    labels: Labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    if len(np.unique(labels)) < 2:
        raise ValueError(f"y holds less than two classes: {len(values)} sample(s) of one class; give some of another.")
    return labels


def find_missing(y: Any, classes: Labels | None, n_samples: int) -> NDArray[np.bool_]:
    """Return which labels are missing; if the classes are not known yet, -1 counts as a class."""
    if classes is None:
        return np.array([value is None for value in read_labels(y, n_samples)], dtype=bool)
    return np.asarray(to_columns(y, classes.tolist(), n_samples) == UNLABELLED)


def check_every_class(columns: IntArray, classes: Labels) -> None:
    """Check that a holdout has samples of every class that the model knows, and of no other."""
    if (columns == UNLABELLED).any():
        raise ValueError(
            f"y holds -1 at sample {int((columns == UNLABELLED).argmax())}, which is none of the classes "
            f"{shown(classes.tolist())}; every label must be known here."
        )
    missing = np.flatnonzero(np.bincount(columns, minlength=len(classes)) == 0)
    if len(missing):
        raise ValueError(
            f"y has no sample of {shown(classes[missing].tolist())}, and the model knows it: the holdout needs every "
            "class. Add samples of it, or train a model without it."
        )


def check_classes(classes: ArrayLike, known: Labels) -> None:
    """Check that the classes given to `partial_fit` are those that are known."""
    told = np.asarray(classes).ravel().tolist()
    strange = [value for value in told if value not in known.tolist()]
    left_out = [value for value in known.tolist() if value not in told]
    if strange:
        raise ValueError(
            f"classes names {shown(strange)}, of which there was no sample when this was fitted: the holdout needs "
            "every class. Give the first call samples of each, or leave the class out."
        )
    if left_out:
        raise ValueError(f"classes leaves out {shown(left_out)}; name every class that y holds, or leave classes out.")


def check_target(target: ArrayLike | Mapping[Any, float], classes: Labels) -> FloatArray:
    """Check a known class mix, and return it in the order of the classes."""
    known = classes.tolist()
    if set(series_index(target) or []) == set(known):
        target = dict(cast(Any, target).items())
    if not isinstance(target, Mapping):
        if np.ndim(target) == 0 and len(known) == 2 and not {str(label).lower() for label in known} <= _ORDERED:
            raise ValueError(
                f"target_prior is one number, and of the classes {shown(known)} none is clearly the positive one; say "
                f"which share is whose: target_prior={{{known[0]!r}: ..., {known[1]!r}: ...}}."
            )
        return check_mix(target, len(known), "target_prior")
    strange = [label for label in target if label not in known]
    left_out = [label for label in known if label not in target]
    if strange or left_out:
        problem = f"names {shown(strange)}, which is no class" if strange else f"leaves out {shown(left_out)}"
        raise ValueError(f"target_prior {problem}; give each of the classes {shown(known)} its share.")
    return check_mix([target[label] for label in known], len(known), "target_prior")
