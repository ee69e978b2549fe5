"""Doubt: what speaks against believing an estimate that relies on label shift, and how far."""

from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray, IntArray

_CORRELATIONS = 0.2, 1.0 / 3.0  # of neighbours: from where on there is doubt, and where nothing is certain
_SUSPICION = 0.5  # logarithm of the evidence from which on there is doubt, as a part of an alarm's
MOVED = 0.1
"""Total variation distance of the class mix, beyond which classes that look alike make it doubtful."""
_LEAST_SINGULAR = 0.1  # of the confusion matrix
_UNKNOWN = 0.02  # share of unknown samples that is worth a word


class Signs(NamedTuple):
    """Signs that may speak against label shift.

    Attributes
    ----------
    untested : str
        Why label shift is not tested; empty if it is.
    alarm : bool
        Whether there is an alarm.
    evidence, needed : float
        The evidence against label shift, and that of an alarm.
    correlation : float
        Serial correlation of the outputs.
    sigma_min : float
        Least singular value of the holdout's confusion matrix; see `told_apart`.
    moved : float
        Total variation distance of the class mix from the source's.
    unknown : float
        The share of samples that fits no class.
    """

    untested: str
    alarm: bool
    evidence: float
    needed: float
    correlation: float
    sigma_min: float
    moved: float
    unknown: float


class Doubt(NamedTuple):
    """Degree of doubt, from 0 to 1, where limits say nothing, and the reason in words."""

    degree: float
    reason: str


def told_apart(proba: FloatArray, labels: IntArray, source_prior: FloatArray) -> float:
    """Return the least singular value of the confusion matrix of a holdout with every class.

    Predictions are those that were made if all classes were equally common: a rare class may otherwise never be
    predicted, however well the model tells it from the others.
    """
    k = proba.shape[1]
    predicted = (proba / source_prior).argmax(axis=1)
    confusion = np.bincount(labels * k + predicted, minlength=k * k).reshape(k, k)
    return float(np.linalg.svd(confusion / confusion.sum(axis=1, keepdims=True), compute_uv=False)[-1])


def doubt(signs: Signs) -> Doubt:
    """Weigh what speaks against label shift.

    Examples
    --------
    >>> calm = Signs("", False, 1.0, 20.0, 0.05, 0.6, 0.3, 0.0)
    >>> doubt(calm)
    Doubt(degree=0.0, reason='')
    >>> doubt(calm._replace(alarm=True)).degree
    1.0
    """
    found = []
    if signs.alarm:
        found.append((1.0, "the stream does not look like label shift: see assumption_findings_"))
    elif signs.untested:
        found.append((1.0, f"label shift is not tested: {signs.untested.rstrip('.')}"))
    else:
        degree = float(np.log(max(signs.evidence, 1.0)) / np.log(signs.needed))
        if degree >= _SUSPICION:
            found.append((min(degree, 1.0), "there are signs that more than the class mix has changed"))
    low, high = _CORRELATIONS
    if signs.correlation > low:
        degree = min((signs.correlation - low) / (high - low), 1.0)
        found.append((degree, f"samples that follow each other are alike (correlation {signs.correlation:.2f})"))
    if signs.sigma_min < _LEAST_SINGULAR and signs.moved > MOVED:
        found.append(
            (1.0, "the model hardly tells some classes apart, so a fault would look like the change of the class mix")
        )
    if signs.unknown > _UNKNOWN:
        found.append((min(signs.unknown, 1.0), f"{100 * min(signs.unknown, 1.0):.0f} % of the samples fit no class"))
    if not found:
        return Doubt(0.0, "")
    reason = "; ".join(reason for _, reason in found)
    return Doubt(max(degree for degree, _ in found), f"{reason[0].upper()}{reason[1:]}. A few fresh labels would tell.")


def widened(limits: FloatArray, degree: float) -> FloatArray:
    """Move limits, (..., 2), towards 0 and 1 by a part of the way.

    Examples
    --------
    >>> widened(np.array([0.4, 0.6]), 0.5)
    array([0.2, 0.8])
    """
    return np.asarray(limits + degree * (np.array([0.0, 1.0]) - limits))
