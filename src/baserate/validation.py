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

from baserate.compiled import compiled
from baserate.protocols import UNLABELLED, FloatArray, IntArray, Key
from baserate.simplex import normalise

SUM_TOLERANCE = 1e-3
"""Largest difference of a row's sum from one: allows for float32, and for rounding in files."""

_HUGE = 1e9  # an estimate beyond this is a bug upstream, and would dominate a running sum
_FLOAT64 = np.dtype(np.float64)


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
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
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
    if array.ndim != ndim:
        wanted = {1: "one dimension", 2: f"two dimensions ({axes})"}[ndim]
        advice = " For a single sample, give a list with one row." if ndim == 2 and array.ndim == 1 else ""
        raise ValueError(f"{name} has shape {array.shape}; expected {wanted}.{advice}")
    return np.ascontiguousarray(array, dtype=np.float64)


def check_proba(proba: ArrayLike, n_classes: int | None = None, name: str = "proba") -> FloatArray:
    """Check a batch of class probabilities, one row per sample. An empty batch is fine."""
    array = as_float_array(proba, name, 2)
    k = array.shape[1]
    if k != n_classes:
        if n_classes is not None:
            raise ValueError(
                f"{name} has {k} columns; expected {n_classes}, one per class, in the order used for fitting."
            )
        if k < 2:
            raise ValueError(
                f"{name} has {k} column(s); expected at least 2 classes. For a binary model give both columns."
            )
    bad = first_bad_row(array, SUM_TOLERANCE)
    if bad >= 0:
        raise ValueError(_describe_bad_row(array[bad], bad, name))
    return array


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
    return f"{where} sums to {row.sum():.6g}; expected 1. Normalise the rows, or take the softmax of logits."


def check_labels(y: ArrayLike, n_samples: int, n_classes: int, name: str = "y", *, missing: bool = False) -> IntArray:
    """Check labels: class indices 0..k-1. With `missing`, -1 or NaN marks a sample whose label is not known."""
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
        raise ValueError(_labels_advice(name, f"holds the unknown label {array[int(outside.argmax())]:.6g}", n_classes))
    return array.astype(np.int64)


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


def check_all_classes_present(y: IntArray, n_classes: int, name: str = "y") -> None:
    """Check that a holdout has at least one sample of every class."""
    missing = np.flatnonzero(np.bincount(y, minlength=n_classes) == 0)
    if len(missing):
        shown = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        raise ValueError(
            f"{name} has no sample of class {shown}; the holdout needs every class. Add samples, or drop the column."
        )


def check_holdout(proba: ArrayLike, y: ArrayLike, *, every_class: bool) -> tuple[FloatArray, IntArray]:
    """Check a labelled holdout: at least one sample, or at least one of every class."""
    holdout = check_proba(proba)
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


def check_head(coef: ArrayLike, intercept: ArrayLike | None) -> FloatArray:
    """Check the weights (k, d) of a last linear layer; its intercepts, if there are any, become one more column."""
    if hasattr(coef, "coef"):
        raise TypeError("coef is a whole layer; give its parts, weights first: (layer.coef, layer.intercept, ...).")
    if hasattr(coef, "fit") or hasattr(coef, "predict_proba"):
        raise TypeError(
            f"coef is {type(coef).__name__}; give the weights of a model's last linear layer, which "
            "baserate.integrations.last_layer(model) gets. A model that has no such layer (a forest, say) works with "
            "the methods that re-weight its probabilities, such as RegressAndReweight."
        )
    weights = as_float_array(coef, "coef", 2, "classes, features")
    k, d = weights.shape
    if k < 2 or d < 1:
        raise ValueError(
            f"coef has shape {weights.shape}; expected one row for each of at least 2 classes, and at least 1 feature. "
            "For a binary model give both rows."
        )
    bad = _first_wild_entry(weights.ravel())
    if bad >= 0:
        raise ValueError(
            f"coef row {bad // d} holds {weights[bad // d, bad % d]:.6g} in column {bad % d}; give finite numbers "
            f"below {_HUGE:g} in size."
        )
    if intercept is None:
        return weights.copy()
    return np.column_stack([weights, check_vector(intercept, k, "intercept")])


LEAST_PRIOR = 1e-12
"""The least share of a class in a source prior: predictions are divided by it."""


def check_prior(
    q: ArrayLike, n_classes: int | None = None, name: str = "prior", *, positive: bool = False
) -> FloatArray:
    """Check a class mix: non-negative and summing to one. With `positive`, no class may be missing."""
    array = as_float_array(q, name, 1)
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
    array = check_proba(path, n_classes, name)
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
