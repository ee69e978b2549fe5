"""Conversion between class labels and columns of the model's probabilities.

Adapters use column numbers; users have labels that are text, numbers or truth values.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
from sklearn.utils.validation import _num_samples, column_or_1d  # type: ignore[import-untyped]

from baserate.protocols import UNLABELLED, IntArray

Labels = NDArray[Any]


def read_labels(y: Any, n_samples: int) -> list[Any]:
    """Return labels as plain values, one per sample; missing ones (None, NaN, NA, masked) are None."""
    if isinstance(y, np.ma.MaskedArray):
        values = y.tolist()  # of masked arrays, this gives None
    elif hasattr(y, "isna") and hasattr(y, "to_numpy"):  # pandas, whose NA is neither true nor false
        values = y.to_numpy(dtype=object, na_value=None).tolist()
    elif isinstance(y, list | tuple):  # an array made of these would turn NaN among text into the text "nan"
        values = [value.item() if isinstance(value, np.generic) else value for value in y]
    else:
        values = np.asarray(y).tolist()
    if not isinstance(values, list):
        raise ValueError(f"y is {y!r}; expected one label per sample, in one dimension.")
    if values and isinstance(values[0], list):
        if any(len(row) != 1 for row in values):
            raise ValueError("y has two dimensions; expected one label per sample, in one dimension.")
        values = [row[0] for row in values]
    if len(values) != n_samples:
        raise ValueError(f"y has {len(values)} labels; expected {n_samples}, one per sample.")
    return [None if is_missing(value) else value for value in values]


def is_missing(value: Any) -> bool:
    """Return whether a value means "no label": None, NaN or NA."""
    try:
        return value is None or bool(value != value)  # NaN is not itself
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"  # pandas', whose comparison has no truth value


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


def to_columns(y: Any, classes: Labels, n_samples: int) -> IntArray:
    """Return the column of each label, -1 where it is missing.

    Missing are the labels that `read_labels` turns into None, and the number -1 unless that is a class.
    """
    columns: dict[Any, int] = {value: column for column, value in enumerate(classes.tolist())}
    columns[None] = UNLABELLED
    columns.setdefault(UNLABELLED, UNLABELLED)
    try:
        found = [columns[value] for value in read_labels(y, n_samples)]
    except KeyError as unknown:
        raise ValueError(
            f"y holds {unknown.args[0]!r}, which is none of the classes {shown(classes.tolist())}. Where a label is "
            "not known, give None or NaN. A new class needs a model that knows it: fit one, and wrap that."
        ) from None
    except TypeError as error:  # a value that cannot be a label, such as a list
        raise ValueError(f"y holds something that is not a label ({error}).") from error
    return np.array(found, dtype=np.int64)


def find_missing(y: Any, classes: Labels | None, n_samples: int) -> NDArray[np.bool_]:
    """Return which labels are missing; if the classes are not known yet, -1 counts as a class."""
    if classes is None:
        return np.array([value is None for value in read_labels(y, n_samples)], dtype=bool)
    return np.asarray(to_columns(y, classes, n_samples) == UNLABELLED)


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


def shown(values: list[Any]) -> str:
    """Return a few values as text for an error message."""
    return ", ".join(map(repr, values[:10])) + (", ..." if len(values) > 10 else "")
