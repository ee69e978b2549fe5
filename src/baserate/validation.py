"""Validation of all input from users.

Each function returns its argument in the form the library works with, or raises a ValueError or TypeError that names
the argument, says what is wrong with it and what to do. None of them changes its argument.
"""

import itertools
import sys
import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.class_labels import check_all_classes_present as check_all_classes_present
from baserate.class_labels import check_chosen as check_chosen
from baserate.class_labels import check_labels as check_labels
from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray, Key
from baserate.simplex import normalise

SUM_TOLERANCE = 1e-3
"""Largest difference of a row's sum from one: allows for float32, and for rounding in files."""

_HUGE = 1e9  # an estimate beyond this is a bug upstream, and would dominate a running sum
_FLOAT64 = np.dtype(np.float64)
_MOST_SUM = 2.0  # of shares, however wrong; what sums to more is counted
_ROUNDING = 1e-6  # by which a score may be beyond 0 or 1, as those of float32 may


@compiled
def first_bad_row(proba: FloatArray, tolerance: float) -> int:
    """Return the index of the first row that is not a probability vector, or -1."""
    n, k = proba.shape
    good = 0
    # Four rows at a time, because the additions of one sum have to wait for each other.
    while good + 4 <= n:
        a, b, d, e, low = 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(k):
            a += proba[good, c]
            b += proba[good + 1, c]
            d += proba[good + 2, c]
            e += proba[good + 3, c]
            low = min(low, min(min(proba[good, c], proba[good + 1, c]), min(proba[good + 2, c], proba[good + 3, c])))
        far = max(max(abs(a - 1.0), abs(b - 1.0)), max(abs(d - 1.0), abs(e - 1.0)))
        if not (far <= tolerance and low >= 0.0 and np.isfinite(a + b + d + e)):
            break
        good += 4
    for i in range(good, n):
        total, low = 0.0, 0.0
        for c in range(k):
            total += proba[i, c]
            low = min(low, proba[i, c])
        # NaN and infinity carry over to the total, which then fails the comparison.
        if not (abs(total - 1.0) <= tolerance and low >= 0.0):
            return i
    return -1


@compiled
def _first_wild_entry(vector: FloatArray) -> int:
    """Return the index of the first entry that is NaN, infinite or absurdly large, or -1."""
    for c in range(len(vector)):
        if not abs(vector[c]) <= _HUGE:
            return c
    return -1


def as_float_array(value: ArrayLike, name: str, ndim: int, axes: str = "samples, classes") -> FloatArray:
    """Return a C-ordered float64 array of `ndim` dimensions; the value itself if it is one already."""
    if type(value) is np.ndarray and value.dtype == _FLOAT64 and value.ndim == ndim and value.flags.c_contiguous:
        return value
    array = _as_numbers(value, name)
    if array.ndim != ndim:
        wanted = {1: "one dimension", 2: f"two dimensions ({axes})"}[ndim]
        advice = " For a single sample, give a list with one row." if ndim == 2 and array.ndim == 1 else ""
        raise ValueError(f"{name} has shape {array.shape}; expected {wanted}.{advice}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _as_numbers(value: ArrayLike, name: str) -> NDArray[Any]:
    """Return an array of real numbers."""
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    if hasattr(value, "collect_schema") and not hasattr(value, "to_numpy"):
        raise TypeError(f"{name} is a lazy frame; give its rows, {name}.collect().")
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:  # torch raises the last
        raise ValueError(
            f"{name} is not a rectangular array of numbers ({error}); give every row the same length."
        ) from error
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (ValueError, TypeError) as error:
            raise TypeError(
                f"{name} holds something that is not a number ({error}); give an array of numbers."
            ) from error
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {array.dtype}; give an array of real numbers.")
    return array


def check_proba(proba: ArrayLike, n_classes: int | None = None, name: str = "proba") -> FloatArray:
    """Check a batch of class probabilities, one row per sample. An empty batch is fine.

    Of two classes, the probabilities of the second one are enough, in one dimension; the result has two columns.
    """
    if type(proba) is not np.ndarray or proba.ndim != 2:
        proba = _as_numbers(proba, name)
        if proba.ndim == 1:
            return _check_scores(proba, n_classes, name)
    array = as_float_array(proba, name, 2)
    k = array.shape[1]
    if k != n_classes:
        if n_classes is not None:
            raise ValueError(
                f"{name} has {k} columns; expected {n_classes}, one per class, in the order used for fitting."
            )
        if k < 2:
            raise ValueError(
                f"{name} has {k} column(s); expected at least 2 classes. For a binary model give both columns, or the "
                "probability of the second class in one dimension, such as scores[:, 0]."
            )
    bad = first_bad_row(array, SUM_TOLERANCE)
    if bad >= 0:
        raise ValueError(_describe_bad_row(array[bad], bad, name))
    return array


def _check_scores(scores: NDArray[Any], n_classes: int | None, name: str) -> FloatArray:
    """Check the probabilities of the second of two classes, and return those of both."""
    if n_classes not in (None, 2):
        raise ValueError(
            f"{name} has shape {scores.shape}; one number per sample is enough for 2 classes, here are {n_classes}. "
            f"Give rows of {n_classes} probabilities; for a single sample, a list with one row."
        )
    second = scores.astype(np.float64)
    outside = ~((second >= -_ROUNDING) & (second <= 1.0 + _ROUNDING))
    if outside.any():
        i = int(outside.argmax())
        where = f"{name} holds {second[i]:.6g} at sample {i}"
        if not np.isfinite(second).all():
            i = int((~np.isfinite(second)).argmax())
            raise ValueError(f"{name} holds {second[i]} at sample {i}; drop the sample or fix the model.")
        fix = "If these are percentages, divide them by 100. If they are logits, give 1 / (1 + np.exp(-scores))."
        if second.min() < 0.0:
            fix = "If these are logits or margins, give their sigmoid, 1 / (1 + np.exp(-scores))."
        raise ValueError(f"{where}; in one dimension, expected the probability of the second class, from 0 to 1. {fix}")
    second = np.clip(second, 0.0, 1.0)
    return np.column_stack([1.0 - second, second])


def _describe_bad_row(row: FloatArray, i: int, name: str) -> str:
    where = f"{name} row {i}"
    if np.isnan(row).any():
        return f"{where} holds NaN in column {int(np.isnan(row).argmax())}; drop the sample or fix the model."
    if np.isinf(row).any():
        return f"{where} holds an infinity in column {int(np.isinf(row).argmax())}; drop the sample or fix the model."
    if (row < 0).any():
        c = int(row.argmin())
        return (
            f"{where} holds the negative value {row[c]:.6g} in column {c}; give probabilities (the softmax of logits)."
        )
    if abs(row.sum() - 100.0) <= 100.0 * SUM_TOLERANCE:
        return f"{where} sums to {row.sum():.6g}; expected 1. Divide percentages by 100."
    return f"{where} sums to {row.sum():.6g}; expected 1. Normalise the rows, or take the softmax of logits."


def check_held_proba(proba: ArrayLike, y: ArrayLike | None) -> FloatArray:
    """Check the probabilities of a holdout; in one dimension they must be as many as the labels, and no labels."""
    scores = proba if type(proba) is np.ndarray else _as_numbers(proba, "proba")
    if scores.ndim == 1:
        n = len(scores) if y is None or np.ndim(y) == 0 else len(np.asarray(y))
        if len(scores) != n:
            raise ValueError(
                f"proba has shape {scores.shape}, which is one score per sample, and y has {n} labels; give as many of "
                "each. A single sample is a list with one row."
            )
        if scores.dtype.kind in "iub" and n > 0:
            raise ValueError(
                f"proba holds whole numbers in one dimension ({scores.dtype}), like predicted classes; give the "
                "probabilities of the second class: model.predict_proba(X)[:, 1]."
            )
    return check_proba(scores)


def check_holdout(proba: ArrayLike, y: ArrayLike, *, every_class: bool) -> tuple[FloatArray, IntArray]:
    """Check a labelled holdout: at least one sample, or at least one of every class."""
    holdout = check_held_proba(proba, y)
    labels = check_labels(y, *holdout.shape)
    if every_class:
        check_all_classes_present(labels, holdout.shape[1])
    elif len(holdout) == 0:
        raise ValueError("proba is an empty holdout, which says nothing about the model; give labelled samples.")
    return holdout, labels


def check_vector(z: ArrayLike, n_classes: int, name: str = "z") -> FloatArray:
    """Check a vector with one finite number per class, on the simplex or not."""
    array = as_float_array(z, name, 1)
    if len(array) != n_classes:
        raise ValueError(f"{name} has {len(array)} entries; expected {n_classes}, one per class.")
    bad = _first_wild_entry(array)
    if bad >= 0:
        raise ValueError(f"{name} holds {array[bad]:.6g} at class {bad}; give finite numbers below {_HUGE:g} in size.")
    return array


def check_features(X: ArrayLike, n_features: int, name: str = "X") -> FloatArray:
    """Check a batch of features, one row per sample. An empty batch is fine."""
    array = as_float_array(X, name, 2, "samples, features")
    if array.shape[1] != n_features:
        raise ValueError(
            f"{name} has {array.shape[1]} columns; expected {n_features}, the features that the last layer sees."
        )
    bad = _first_wild_entry(array.ravel())
    if bad >= 0:
        row, column = divmod(bad, n_features)
        raise ValueError(
            f"{name} row {row} holds {array[row, column]:.6g} in column {column}; give finite numbers below {_HUGE:g} "
            "in size."
        )
    return array


LEAST_PRIOR = 1e-12
"""The least share of a class in a source prior: predictions are divided by it."""


def series_index(values: Any) -> list[Any] | None:
    """Return the index of a pandas Series; None of anything else."""
    return list(values.index) if hasattr(values, "iloc") and hasattr(values, "items") else None


def check_prior(
    q: ArrayLike, n_classes: int | None = None, name: str = "prior", *, positive: bool = False
) -> FloatArray:
    """Check a class mix: non-negative and summing to one. With `positive`, no class may be missing."""
    if isinstance(q, dict):
        raise TypeError(
            f"{name} is a dict; give the shares in the order of the columns, as [{name}[c] for c in classes]."
        )
    index = series_index(q)
    if index is not None and index != list(range(len(index))):  # what value_counts gives is sorted by frequency
        raise ValueError(
            f"{name} is a Series with the index {index[:10]}, and shares are taken by position; give an array in the "
            f"order of the classes, such as {name}.sort_index().to_numpy()."
        )
    array = as_float_array(q, name, 1)
    total = float(array.sum())
    if _MOST_SUM < total < np.inf and array.min() >= 0.0 and abs(total - 100.0) > 100.0 * SUM_TOLERANCE:
        raise ValueError(f"{name} sums to {total:.6g}; expected shares, which sum to 1. Divide counts by their sum.")
    # A sum that is not exactly one would be tracked as a shift.
    array = normalise(check_proba(array[np.newaxis], n_classes, name)[0])
    if positive and array.min() < LEAST_PRIOR:
        share = "no mass" if array.min() == 0 else f"a share of {array.min():.3g}"
        raise ValueError(
            f"{name} gives class {int(array.argmin())} {share}; the source needs every class, with {LEAST_PRIOR:g} at "
            "least. Drop the class, or give it its share."
        )
    return array


def check_limits(
    bounds: tuple[ArrayLike, ArrayLike] | None, floor: float | None, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Check limits of each class's share, within 0 and 1; the stricter of `floor` and lower bounds counts."""
    lower, upper = np.zeros(n_classes), np.ones(n_classes)
    if bounds is not None:
        if not isinstance(bounds, tuple | list) or len(bounds) != 2:
            raise ValueError(
                f"bounds is {bounds!r}; give a pair (lower, upper), each a number or one number per class."
            )
        full = [np.broadcast_to(np.asarray(bound), n_classes) if np.ndim(bound) == 0 else bound for bound in bounds]
        lower, upper = (check_vector(bound, n_classes, "bounds") for bound in full)
    lower, upper = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    if floor is not None:
        lower = np.maximum(lower, check_real(floor, "floor", 0.0, 1.0 / n_classes))
    slack = 1e-9  # k times 1/k need not be one
    if (lower > upper).any() or lower.sum() > 1 + slack or upper.sum() < 1 - slack:
        raise ValueError(
            "bounds and floor leave no class mix: the lower limits must stay below the upper ones and sum to at most "
            "1, the upper ones to at least 1."
        )
    return lower, upper


def check_path(path: ArrayLike, n_classes: int | None = None, name: str = "path") -> FloatArray:
    """Check a path of class mixes: one row per round, at least one round."""
    array = check_proba(as_float_array(path, name, 2, "rounds, classes"), n_classes, name)
    if len(array) == 0:
        raise ValueError(f"{name} has no rounds; give at least one row.")
    return array


def check_starts(starts: ArrayLike, n_samples: int, name: str = "evidence.starts") -> IntArray:
    """Check where batches start among rows: whole numbers that rise from 0 to the number of rows."""
    array = np.asarray(starts)
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} is {starts!r}; give a row number for each batch, and the number of rows at the end.")
    if array[0] != 0 or array[-1] != n_samples or (np.diff(array.astype(np.int64)) < 0).any():
        raise ValueError(f"{name} does not rise from 0 to {n_samples}, the number of rows.")
    return np.ascontiguousarray(array, dtype=np.int64)


def check_integer(value: object, name: str, minimum: int) -> int:
    """Check a whole number of at least `minimum`."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; give a whole number of at least {minimum}.")
    if int(value) < minimum:
        raise ValueError(f"{name} is {value}; give a whole number of at least {minimum}.")
    return int(value)


def check_real(value: object, name: str, low: float, high: float, *, closed: bool = True) -> float:
    """Check a number between `low` and `high`, bounds included if `closed`."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; give a number.")
    number = float(value)
    if not (low <= number <= high if closed else low < number < high):
        word = "from" if closed else "strictly between"
        raise ValueError(
            f"{name} is {number:.6g}; give a number {word} {low:.6g} {'to' if closed else 'and'} {high:.6g}."
        )
    return number


def check_option(value: object, name: str, options: Iterable[object]) -> None:
    """Check that a value is one of a few."""
    choices = list(options)
    if not any(value is option or (isinstance(value, str) and value == option) for option in choices):
        raise ValueError(f"{name} is {value!r}; choose one of {', '.join(map(repr, choices))}.")


def check_option_or_real(value: object, name: str, options: Iterable[str], low: float, high: float) -> None:
    """Check that a value is one of a few words, or a number strictly between `low` and `high`."""
    if isinstance(value, str):
        check_option(value, name, options)
    else:
        check_real(value, name, low, high, closed=False)


def check_rng(rng: object, name: str = "rng") -> np.random.Generator:
    """Return a `numpy.random.Generator` from a seed, a generator (used as it is) or None (random seed)."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None or (isinstance(rng, Integral) and not isinstance(rng, bool) and int(rng) >= 0):
        return np.random.default_rng(None if rng is None else int(rng))
    raise TypeError(
        f"{name} is {rng!r}; give a seed (a whole number of at least 0), a numpy.random.Generator, or None."
    )


def check_has_methods(value: object, name: str, protocol: type, methods: str) -> None:
    """Check that an object follows a protocol."""
    if isinstance(value, type) or not isinstance(value, protocol):
        kind = f"the class {value.__name__}, not an instance" if isinstance(value, type) else repr(value)
        raise TypeError(f"{name} is {kind}; expected an object with {methods}.")


def check_keys(keys: Any, name: str = "keys", held: Iterable[Key] = ()) -> list[Key]:
    """Check keys of streams or samples: all text or all whole numbers, like the keys that are held already."""
    values = list(keys) if isinstance(keys, list | tuple) else np.asarray(keys).tolist()
    one = name.removesuffix("s")
    if not isinstance(values, list):
        raise TypeError(f"{name} is {keys!r}; give one {one} per row.")
    kinds = set(map(type, values))
    if kinds - {str, int}:
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
        kinds = set(map(type, values))
    kinds |= {type(key) for key in itertools.islice(held, 1)}
    if kinds - {str, int} or len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"{name} holds {names}; {name} are all text or all whole numbers, none missing.")
    return values


def check_fitted(estimator: object, attribute: str) -> None:
    """Check that `fit` has been called."""
    if not hasattr(estimator, attribute):
        from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]  # not before it is needed: slow

        raise NotFittedError(f"this {type(estimator).__name__} is not fitted yet; call fit on the holdout first.")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of this package that led here."""
    level = 1
    while sys._getframe(level).f_globals.get("__name__", "").partition(".")[0] == "baserate":
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)
