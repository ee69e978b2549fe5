"""Class labels and the columns of probabilities that they stand for.

The library computes with column numbers; people have labels that are text, numbers or truth values.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.protocols import UNLABELLED, FloatArray, IntArray

ClassNames = list[str] | list[bool] | list[int]
"""The class label of each column, where labels are not the numbers of the columns."""

_SHOWN = 10


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
        if any(not isinstance(row, list) or len(row) != 1 for row in values):
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


def to_columns(y: Any, classes: Sequence[Any], n_samples: int) -> IntArray:
    """Return the column of each label, -1 where it is missing.

    Missing are the labels that `read_labels` turns into None, and the number -1 unless that is a class.
    """
    columns: dict[Any, int] = {value: column for column, value in enumerate(classes)}
    columns[None] = UNLABELLED
    columns.setdefault(UNLABELLED, UNLABELLED)
    try:
        found = [columns[value] for value in read_labels(y, n_samples)]
    except KeyError as unknown:
        raise ValueError(
            f"y holds {unknown.args[0]!r}, which is none of the classes {shown(classes)}. Where a label is not known, "
            "give None or NaN. A new class needs a model that knows it: train one, and fit on its holdout."
        ) from None
    except TypeError as error:  # a value that cannot be a label, such as a list
        raise ValueError(f"y holds something that is not a label ({error}).") from error
    return np.array(found, dtype=np.int64)


def shown(values: Sequence[Any]) -> str:
    """Return a few values as text for an error message."""
    return ", ".join(map(repr, values[:_SHOWN])) + (", ..." if len(values) > _SHOWN else "")


def called(c: int, names: Sequence[Any] | None) -> str:
    """Return what to call a class in a message: by its name where it has one, else by its number."""
    return str(c) if names is None else repr(names[c])


def learn_classes(y: Any, n_samples: int, n_classes: int, names: Sequence[str] | None) -> ClassNames | None:
    """Return the class label of each column, learned from a holdout; None if labels are the numbers of the columns.

    If the columns have names that are, after one common prefix, the labels, these say which is which. Otherwise the
    columns are in the order of the sorted labels, as those of scikit-learn's models are, and no class may be missing.

    Parameters
    ----------
    y : (n,) array
        The holdout's labels, none missing.
    n_samples, n_classes : int
        The numbers of rows and columns.
    names : sequence of str, optional
        The names of the columns.

    Examples
    --------
    >>> learn_classes(["spam", "ham"], 2, 2, None)
    ['ham', 'spam']
    >>> learn_classes(["spam", "ham"], 2, 2, ["p_spam", "p_ham"])
    ['spam', 'ham']
    >>> learn_classes([1, 0], 2, 2, None)
    """
    if names is None and _kind_of(y) in "iuf":
        return None
    values = set(_hashable(read_labels(y, n_samples)))
    known = values - {None}
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in known):
        return _numbered(known, n_classes, names)
    if not (all(isinstance(value, str) for value in known) or all(isinstance(value, bool) for value in known)):
        kinds = ", ".join(sorted({type(value).__name__ for value in known}))
        raise TypeError(f"y holds labels of the kinds {kinds}; give all as text, or all as numbers of columns.")
    if None in values:
        raise ValueError("y has no label for some samples; every label must be known here. Drop these samples.")
    by_name = None if names is None else _by_name({str(value): value for value in known}, names)
    if by_name is not None:
        truth = {"True": True, "False": False}
        return by_name if isinstance(next(iter(known)), str) else [truth[name] for name in by_name]
    found = [False, True] if isinstance(next(iter(known)), bool) else sorted(known)
    if names is not None and _by_name({_plain(value): value for value in known}, list(map(_plain, names))) is not None:
        raise ValueError(
            f"proba has the columns {shown(names)}, and y the labels {shown(found)}: they differ in capitals or "
            "spaces. Write both in one way."
        )
    if len(found) != n_classes:
        raise ValueError(
            f"y holds {len(found)} different labels ({shown(found)}), and proba has {n_classes} columns; which label "
            "is which column cannot be told. Give samples of every class, or a frame whose columns are named by the "
            "labels, such as "
            f"{', '.join(f'p_{value}' for value in found[:2])}."
        )
    return found


def columns_besides(y: Any, names: Sequence[str]) -> list[str]:
    """Return the columns that are named like no label, where every label has a column of its name."""
    labels = {str(value) for value in np.asarray(y, dtype=object).ravel().tolist() if value is not None}
    return [name for name in names if name not in labels] if labels and labels <= set(names) else []


def _plain(name: Any) -> str:
    return str(name).strip().casefold()


def _kind_of(y: Any) -> str:
    try:
        return np.asarray(y).dtype.kind
    except (ValueError, TypeError) as error:
        raise ValueError(_labels_advice("y", f"is not a plain array ({error})")) from error


def _hashable(values: list[Any]) -> list[Any]:
    for value in values:
        if isinstance(value, list | dict | set):
            raise ValueError(f"y holds something that is not a label ({value!r}).")
    return values


def _numbered(known: set[Any], n_classes: int, names: Sequence[str] | None) -> ClassNames | None:
    """Return the numbers by which columns are named, if that is not their order."""
    if names is None or not known or not all(float(value).is_integer() for value in known):
        return None
    by_name = _by_name({str(int(value)): value for value in known}, names)
    if by_name is None or not all(name.isdecimal() for name in by_name):
        return None
    numbers = [int(name) for name in by_name]
    return None if numbers == list(range(n_classes)) else numbers


def _by_name(labels: dict[str, Any], names: Sequence[str]) -> list[str] | None:
    """Return the names without that common prefix after which every label is among them; None if there is none."""
    longest = 0
    while all(len(name) > longest and name[longest] == names[0][longest] for name in names):
        longest += 1
    for length in range(longest + 1):
        bare = [name[length:] for name in names]
        if labels.keys() <= set(bare):
            return bare
    return None


def check_chosen(y_probability: ArrayLike | None, labels: IntArray | None) -> FloatArray | None:
    """Check the probabilities with which samples were chosen for a label; those of unlabelled samples do not matter.

    Parameters
    ----------
    y_probability : float or (n,) array, optional
        Above 0, at most 1, for each sample with a label; a number stands for all.
    labels : (n,) array of int or None
        The labels, checked.
    """
    if y_probability is None:
        return None
    if labels is None:
        raise ValueError("y_probability is given without y; it is how probably each of these labels was to be had.")
    try:
        array = np.array(y_probability, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"y_probability holds something that is not a number ({error}); give a number for each label."
        ) from error
    if array.ndim == 0:
        array = np.full(len(labels), array)
    if array.shape != labels.shape:
        raise ValueError(
            f"y_probability has shape {array.shape}; expected one number for each of {len(labels)} labels."
        )
    array[labels == UNLABELLED] = 1.0
    bad = np.flatnonzero(~((array > 0.0) & (array <= 1.0)))
    if len(bad):
        raise ValueError(
            f"y_probability holds {array[bad[0]]:.6g} at sample {bad[0]}, which has a label; give the probability with "
            "which it was chosen to be labelled, above 0 and at most 1."
        )
    return array


def check_labels(
    y: ArrayLike,
    n_samples: int,
    n_classes: int,
    name: str = "y",
    *,
    missing: bool = False,
    classes: ClassNames | None = None,
) -> IntArray:
    """Check labels, and return them as columns 0..k-1.

    Parameters
    ----------
    y : (n,) array
        Class indices, or labels out of `classes`.
    n_samples, n_classes : int
    name : str
        What to call them in an error.
    missing : bool
        Whether -1 or NaN may mark a sample whose label is not known.
    classes : list, optional
        The class label of each column.
    """
    if classes is not None:
        columns = to_columns(y, classes, n_samples)
        if not missing and (columns == UNLABELLED).any():
            i = int((columns == UNLABELLED).argmax())
            raise ValueError(f"{name} has no label at sample {i}; every label must be known here.")
        return columns
    array = _as_label_array(y, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; expected one label per sample, in one dimension.")
    if len(array) != n_samples:
        raise ValueError(f"{name} has {len(array)} labels; expected {n_samples}, one per sample.")
    if array.dtype.kind == "O":
        for value in array:
            if not (value is None or isinstance(value, Real)):
                raise TypeError(_labels_advice(name, f"holds {value!r}"))
        array = array.astype(np.float64)  # None becomes NaN
    if array.dtype.kind not in "fiub":
        raise TypeError(_labels_advice(name, f"has dtype {array.dtype}"))
    if array.dtype.kind == "f":
        if missing:
            array = np.where(np.isnan(array), UNLABELLED, array)
        if not np.isfinite(array).all():
            raise ValueError(
                f"{name} holds NaN or an infinity at sample {int((~np.isfinite(array)).argmax())}; every label must "
                "be known here."
            )
        if (array != np.floor(array)).any():
            raise ValueError(_labels_advice(name, f"holds {array[int((array != np.floor(array)).argmax())]:.6g}"))
    outside = (array < (UNLABELLED if missing else 0)) | (array >= n_classes)
    if outside.any():
        problem = f"holds the unknown label {array[int(outside.argmax())]:.6g}"
        raise ValueError(_labels_advice(name, problem, n_classes) + _remedy(array, n_classes, name))
    return array.astype(np.int64)


def _remedy(labels: NDArray[Any], n_classes: int, name: str) -> str:
    """Return the line that makes column numbers of labels in another usual form, if they are in one."""
    values = set(np.unique(labels).tolist())
    if values == {-1, 1} and n_classes == 2:
        return f" -1 means here that a label is not known; for classes -1 and 1 give {name} > 0."
    if values <= set(range(1, n_classes + 1)):
        return f" Labels that count from 1 become columns with {name} - 1."
    return ""


def _as_label_array(y: ArrayLike, name: str) -> NDArray[Any]:
    """Return labels as an array, in which masked ones and pandas' NA are NaN."""
    try:
        if isinstance(y, np.ma.MaskedArray):
            return np.asarray(np.ma.filled(y.astype(np.float64), np.nan))
        if hasattr(y, "isna") and hasattr(y, "to_numpy") and np.ndim(y) == 1 and y.isna().any():
            return np.asarray(y.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(y)
    except (ValueError, TypeError) as error:
        raise ValueError(_labels_advice(name, f"is not a plain array ({error})")) from error


def _labels_advice(name: str, problem: str, n_classes: int | None = None) -> str:
    span = "0..k-1" if n_classes is None else f"0..{n_classes - 1}"
    return f"{name} {problem}; expected class indices {span} (the column of each class in proba)."


def check_all_classes_present(
    y: IntArray, n_classes: int, name: str = "y", classes: Sequence[Any] | None = None
) -> None:
    """Check that a holdout has at least one sample of every class."""
    missing = np.flatnonzero(np.bincount(y, minlength=n_classes) == 0).tolist()
    if missing:
        told = ", ".join(called(c, classes) for c in missing[:_SHOWN])
        raise ValueError(
            f"{name} has no sample of class {told}{', ...' if len(missing) > _SHOWN else ''}; the holdout needs every "
            "class. Add samples, or drop the column."
        )
