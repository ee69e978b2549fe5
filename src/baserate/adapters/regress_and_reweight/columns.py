"""Columns of probabilities by their names: frames in another order, and class labels that are no column numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.class_labels import ClassNames, columns_besides, learn_classes, shown
from baserate.validation import check_held_proba, check_labels

Names = Sequence[Any] | NDArray[Any] | None
"""Names of classes, such as a model's `classes_`."""


class NamedHoldout(NamedTuple):
    """A holdout, and what its columns are called.

    Attributes
    ----------
    proba : array or None
    y : array or None
        Labels, as column numbers of `proba`.
    columns : list of str or None
        The names of the columns, if `proba` was a frame with names.
    classes : list or None
        The class label of each column, if labels are not the columns' numbers.
    names : sequence or None
        What to call classes in messages, if not by their numbers.
    """

    proba: ArrayLike | None
    y: ArrayLike | None
    columns: list[str] | None
    classes: ClassNames | None
    names: Sequence[Any] | None


def read_holdout(proba: ArrayLike | None, y: ArrayLike | None, names: Names = None) -> NamedHoldout:
    """Learn from a holdout what its columns are called, and which class each is."""
    if proba is None:
        return NamedHoldout(None, y, None, None, _listed(names))
    columns = _names_of(proba)
    try:
        rows = check_held_proba(proba, y)
    except (TypeError, ValueError) as error:
        others = [] if columns is None else columns_besides(y, columns)
        if not others:
            raise
        raise type(error)(f"{error} Its columns {shown(others)} are no labels in y; leave them out.") from error
    k = rows.shape[1]
    called = _listed(names, k)
    classes = None if y is None else learn_classes(y, len(rows), k, columns or _labels_among(called, y))
    if y is not None and classes is not None:
        y = check_labels(y, len(rows), k, classes=classes)
    return NamedHoldout(rows, y, columns, classes, called or classes or columns)


def _labels_among(names: list[Any] | None, y: ArrayLike) -> list[str] | None:
    """Return names if they are text, and labels that are text are among them: then they say which column is which."""
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    labels, known = np.asarray(y, dtype=object).ravel().tolist(), set(names)
    return names if labels and all(isinstance(label, str) and label in known for label in labels) else None


def same_columns(
    proba: ArrayLike, y: ArrayLike, columns: list[str] | None, classes: ClassNames | None, names: Names = None
) -> NamedHoldout:
    """Read a holdout of a new model with the columns and the classes of the one before."""
    rows = check_held_proba(arranged(proba, columns), y)
    told = y if classes is None or y is None else check_labels(y, *rows.shape, classes=classes)
    return NamedHoldout(rows, told, columns, classes, _listed(names, rows.shape[1]) or classes or columns)


def arranged(proba: Any, columns: Sequence[str] | None) -> Any:
    """Return a batch with its columns as those of the holdout were; only frames have names to go by."""
    if columns is not None and _is_flat(proba):
        raise ValueError(
            f"proba is one number for each row, and this was fitted on the columns {shown(columns)}, of which either "
            "could be meant; give both."
        )
    names = None if columns is None else _names_of(proba)
    if columns is None or names is None or names == columns:
        return proba
    missing = [name for name in columns if name not in names]
    others = [name for name in names if name not in columns]
    if missing or others:
        said = [f"lacks {shown(missing)}"] * bool(missing) + [f"has {shown(others)} besides"] * bool(others)
        raise ValueError(
            f"proba {' and '.join(said)}; expected the columns that were fitted on: {shown(columns)}. Select them, "
            "frame[adapter.columns_], or give an array (frame.to_numpy()) with the classes in that order."
        )
    return proba[list(columns)]


def _is_flat(proba: Any) -> bool:
    """Tell whether probabilities have one dimension."""
    if isinstance(proba, list | tuple):
        return bool(proba) and not hasattr(proba[0], "__len__")
    return getattr(proba, "ndim", 2) == 1


def _listed(names: Names, k: int | None = None) -> list[Any] | None:
    """Return names as a list; one for each of `k` columns, if that is known."""
    if names is None:
        return None
    called = names.tolist() if isinstance(names, np.ndarray) else list(names)
    if k is not None and len(called) != k:
        raise ValueError(f"names has {len(called)} entries; expected {k}, one for each column of proba.")
    return called


def _names_of(proba: Any) -> list[str] | None:
    """Return the names of a frame's columns; None of anything else, and where a name is no text."""
    if not hasattr(proba, "__array__") or not hasattr(proba, "columns"):
        return None
    names = list(proba.columns)
    if not all(isinstance(name, str) for name in names):
        return None
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"proba has two columns named {twice!r}; give each class one column.")
    return names
