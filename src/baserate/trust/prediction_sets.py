"""Prediction sets: every class that a sample may well have, at the class mix of now (conformal prediction)."""

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import FloatArray, IntArray

_ROUNDING = 1e-12  # by which probabilities that are equal may differ


def least_probabilities(
    proba: FloatArray, labels: IntArray, mixes: FloatArray, level: float, *, class_conditional: bool = False
) -> FloatArray:
    """Return for each class the least probability with which it belongs into a set, (k,).

    A set of all classes with at least these probabilities has the true class in it with probability `level`, if
    samples of a class look as they do in the holdout.

    A row of the holdout with label c counts ``mix[c] / n_c``, so that together they have the class mix of now. Whether
    class c belongs into the set of a new sample is asked as if that sample were one more row with this label: its
    probability must not be among the lowest ``1 - level`` of all (Tibshirani et al. 2019; Podkopaev and Ramdas 2021).
    The probability that a set covers is linear in the class mix: what is not known about the mix averages out, as far
    as the tracked mix is right on average.

    Parameters
    ----------
    proba : (n, k) array
        The holdout's probabilities, made in the same way as those of the samples that are to be predicted.
    labels : (n,) array of int
        Its labels, every class at least once.
    mixes : (m, k) array
        Class mixes at which the sets have to cover: the most careful one decides.
    level : float
        The probability, between 0 and 1.
    class_conditional : bool
        Cover each class by itself with this probability. Sets are larger, and do not depend on the mix.

    References
    ----------
    Podkopaev, Ramdas, "Distribution-free uncertainty quantification for classification under label shift", 2021.
    """
    n, k = proba.shape
    of_label = proba[np.arange(n), labels]
    counts = np.bincount(labels, minlength=k)
    if class_conditional:
        return np.array([_quantile(of_label[labels == c], np.ones(counts[c]), np.ones(1), level)[0] for c in range(k)])
    each = [_quantile(of_label, (mix / counts)[labels], mix / counts, level) for mix in mixes]
    return np.asarray(np.min(each, axis=0))


def _quantile(values: FloatArray, weights: FloatArray, extra: FloatArray, level: float) -> FloatArray:
    """Return, for each extra weight, the largest value that at least `level` of all weight is not below.

    The extra weight stands for a value below all others. Zero, if even the smallest value leaves less than `level`.
    """
    order = np.argsort(-values, kind="stable")
    reached = np.cumsum(weights[order])
    wanted = level * (reached[-1] + extra) * (1.0 - _ROUNDING)
    place = np.searchsorted(reached, wanted)
    return np.asarray(np.where(place < len(values), values[order[np.minimum(place, len(values) - 1)]], 0.0))


def prediction_sets(proba: FloatArray, least: FloatArray, *, allow_empty: bool = False) -> NDArray[np.bool_]:
    """Return the set of each row, (n, k): the classes with at least these probabilities.

    The likeliest class is always among them, unless sets may be empty. Where the model is right more often than sets
    are to cover, only empty ones bring the coverage down to the level.
    """
    sets = proba >= least - _ROUNDING
    if not allow_empty:
        sets[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return np.asarray(sets)
