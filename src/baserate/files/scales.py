"""The scale of a model's outputs in a file, and the way from there to probabilities: percent, logits, one score."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

from baserate.protocols import FloatArray
from baserate.validation import SUM_TOLERANCE

PROBABILITIES, PERCENT, LOGITS = "probabilities", "percent", "logits"
SCALES = (PROBABILITIES, PERCENT, LOGITS)
ROUNDED = 1.5
"""Largest distance from 100 of the sum of a row's percentages, which are often rounded to whole ones."""

_COARSE = 0.15  # by which rounding to a digit or two moves the sum of a row
_NEARER = 10.0  # the mean of percentages is 100 times the share, that of probabilities the share: halfway, in logs


class OutputOptions(NamedTuple):
    """The options that say what a model's outputs in a file are.

    Parameters
    ----------
    score : str, optional
        The one column of a model of two classes.
    positive : str, optional
        The class that its score is the probability of.
    scale : str
        What the numbers are: one of `SCALES`.
    """

    score: str | None = None
    positive: str | None = None
    scale: str = PROBABILITIES


def scale_named(*, percent: bool, logits: bool) -> str:
    """The scale that options ask for."""
    if percent and logits:
        raise ValueError("--percent and --logits exclude each other; give the one that the columns are.")
    return PERCENT if percent else LOGITS if logits else PROBABILITIES


def to_probabilities(values: FloatArray, scale: str, positive: int | None) -> FloatArray:
    """Probabilities of all classes, from a row of values each; what is wrong with a row is wrong with its result.

    Parameters
    ----------
    values : (n, k) or (n, 1) array
        The columns of the file.
    scale : str
        What they are.
    positive : int or None
        The class that the one column is about; None: there is a column for each.

    Examples
    --------
    >>> import numpy as np
    >>> to_probabilities(np.array([[25.0]]), "percent", 1)
    array([[0.75, 0.25]])
    """
    if positive is not None:
        score = values[:, 0] / 100.0 if scale == PERCENT else values[:, 0]
        pair = (expit(-score), expit(score)) if scale == LOGITS else (1.0 - score, score)
        return np.column_stack(pair if positive == 1 else pair[::-1])
    if scale == LOGITS:
        with np.errstate(invalid="ignore"):  # infinities, which the caller tells of
            return np.ascontiguousarray(softmax(values, axis=1))
    if scale == PERCENT:
        sums = values.sum(axis=1, keepdims=True)
        # Divided by their sum where that is 100 but for rounding, else by 100, so that they are refused.
        return values / np.where(np.abs(sums - 100.0) <= ROUNDED, sums, 100.0)
    return values


def wrong_scale(values: FloatArray, scale: str, *, score: bool, share: float | None = None) -> str:
    """The advice for a file whose values are of another scale than options say, all of them; or nothing.

    Taken for logits, probabilities would silently be others; and so would scores, taken for percentages.

    Parameters
    ----------
    values : (n, k) or (n, 1) array
        The columns of the file.
    scale : str
        What options say they are.
    score : bool
        True if the one column is a score.
    share : float, optional
        The share of the class that the score is about, among labels. Percentages of a rare class may all be below 1,
        and are taken for such where their mean fits the share better than that of probabilities would.
    """
    if scale == PROBABILITIES or len(values) < 2 or not np.isfinite(values).all() or values.min() < 0.0:
        return ""
    if score and scale == PERCENT and share and float(values.mean()) > _NEARER * share:
        return ""
    sums = values.sum(axis=1)
    if (score and values.max() <= 1.0) or (not score and (np.abs(sums - 1.0) <= SUM_TOLERANCE).all()):
        return f"the values are probabilities already, from 0 to 1; leave --{scale} out"
    if scale == LOGITS and not score and (np.abs(sums - 100.0) <= ROUNDED).all():
        return "the values are percentages, and no logits; give --percent instead of --logits"
    return ""


def advice_for_score(value: float, scale: str) -> str:
    """The problem of a score, and what to do about it."""
    if scale == PERCENT:
        return (
            f"is {value:.6g}; expected a percentage, from 0 to 100. If the column holds logits, give --logits instead"
        )
    other = "percentages, add --percent; if they are logits, add --logits" if 1.0 < value <= 100.0 else ""
    other = other or "logits, add --logits"
    return f"is {value:.6g}; a score is a probability, from 0 to 1. If these are {other}"


def advice_for_row(values: FloatArray, scale: str) -> str:
    """The problem of a row that is not a probability for each class, and what to do about it."""
    total = values.sum()
    if scale == PERCENT:
        if abs(total - 1.0) <= SUM_TOLERANCE:
            return "sums to 1, not to 100: these are probabilities already; leave --percent out"
        return f"the percentages sum to {total:.6g}; expected 100. Check that these are all classes of the model"
    if abs(total - 100.0) <= ROUNDED:
        return f"sums to {total:.6g}: these look like percentages; add --percent"
    if abs(total - 1.0) <= _COARSE:
        return (
            f"the probabilities sum to {total:.6g}; expected 1. If they were rounded, write them with more digits; if "
            "a class is missing, add its column"
        )
    logits = ". If these are logits, add --logits" if values.max() > 1.0 else ""
    return (
        f"the probabilities sum to {total:.6g}; expected 1. Normalise them, and check that these are all classes of "
        f"the model and nothing else; --columns A,B,C names those to read{logits}"
    )
