"""The candidates of a portfolio: their names, rates and starting weights, and the logits of each (compiled)."""

from functools import cache

import numpy as np

from baserate.compiled import compiled_within
from baserate.protocols import FloatArray, IntArray

GATED, BASE, TRACKED, DISCOUNTED, REMAPPED, LEARNERS = 0, 1, 2, 3, 4, 5
"""Places of the candidates; those from `LEARNERS` on learn biases and a temperature from labels."""
CANDIDATES = (
    "default",
    "model alone",
    "tracked",
    "discounted",
    "remapped",
    "recalibrated, slow",
    "recalibrated",
    "recalibrated, fast",
    "tracked and recalibrated, slow",
    "tracked and recalibrated",
)
STEPS = np.array([0.1, 0.3, 1.0, 0.1, 0.3])
"""Step sizes of the learners: how far a label moves the biases, in log-odds per unit of surprise."""
SHRINKS = np.array([0.02, 0.02, 0.05, 0.02, 0.02])
"""Parts of the way back to the holdout's calibration that each label takes them."""
ON_TRACKED = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
"""One for learners that start from the tracked class prior, zero for those that start from the source prior."""
_SHARES = np.array([0.25, 0.1, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
PRIOR = _SHARES / _SHARES.sum()
"""Weights that every label pulls towards, so that a candidate that was wrong for long can come back."""
_FIRST = 0.8  # the default's weight before the first label: a few labels must not undo what the outputs have shown
MOST_REMAPPED = 32
"""Largest number of classes for which predicted classes are remapped; the table is k x k."""
SMALLEST, _WARMEST, _COLDEST, _STEEPEST = 1e-12, 0.1, 3.0, 3.0
_PSEUDO = 2.0  # samples of the source prior by which the remapped candidate is held back
_TEMPERATURE_STEP = 0.1  # step size of temperatures, relative to that of biases


def starting_weights(n_classes: int) -> FloatArray:
    """Return the weights before the first label."""
    weights = _without_remap(PRIOR, n_classes)
    weights[GATED] = 0.0
    weights *= (1.0 - _FIRST) / weights.sum()
    weights[GATED] = _FIRST
    return weights


@cache
def resting_weights(n_classes: int) -> FloatArray:
    """Return `PRIOR`, without the candidate that is left out where there are many classes."""
    return _without_remap(PRIOR, n_classes)


def _without_remap(weights: FloatArray, n_classes: int) -> FloatArray:
    kept = weights.copy()
    if n_classes > MOST_REMAPPED:
        kept[REMAPPED] = 0.0
    return np.asarray(kept / kept.sum())


@compiled_within
def remap_row(
    seen: FloatArray, expected: FloatArray, source_prior: FloatArray, predicted: int, out: FloatArray
) -> None:
    """Write the log-offsets of samples of one predicted class: true classes that were seen over those expected."""
    for c in range(len(source_prior)):
        pseudo = _PSEUDO * source_prior[c]
        out[c] = np.log((seen[predicted, c] + pseudo) / (expected[predicted, c] + pseudo))


@compiled_within
def softmax(logits: FloatArray, out: FloatArray) -> None:
    """Write the probabilities that logits stand for."""
    top, total = logits[0], 0.0
    for c in range(1, len(logits)):
        top = max(top, logits[c])
    for c in range(len(logits)):
        out[c] = np.exp(logits[c] - top)
        total += out[c]
    for c in range(len(logits)):
        out[c] /= total


@compiled_within
def log_rows(raw: FloatArray, calibrated: FloatArray, logs: FloatArray) -> int:
    """Write the log-probabilities of a sample, the model's and calibrated, (2, k); return the predicted class."""
    predicted = 0
    for c in range(len(raw)):
        logs[0, c] = np.log(max(raw[c], SMALLEST))
        logs[1, c] = np.log(max(calibrated[c], SMALLEST))
        if calibrated[c] > calibrated[predicted]:
            predicted = c
    return predicted


@compiled_within
def say(
    logs: FloatArray,
    predicted: int,
    offsets: FloatArray,
    default_is_model: bool,
    source_prior: FloatArray,
    biases: FloatArray,
    temperatures: FloatArray,
    seen: FloatArray,
    expected: FloatArray,
    scratch: FloatArray,
    out: FloatArray,
) -> None:
    """Write every candidate's probabilities of one sample, (m, k).

    Parameters
    ----------
    logs : (2, k) array
        Log-probabilities: the model's own, and calibrated.
    predicted : int
        The model's class.
    offsets : (3, k) array
        Log-offsets of the default correction, of the tracked and of the discounted class prior.
    default_is_model : bool
        True while the default is the model left alone, uncalibrated.
    """
    k = logs.shape[1]
    for j in range(len(out)):
        for c in range(k):
            scratch[c] = logs[1, c]
        if j == BASE or (j == GATED and default_is_model):
            for c in range(k):
                scratch[c] = logs[0, c]
        elif j == GATED:
            for c in range(k):
                scratch[c] += offsets[0, c]
        elif j == TRACKED:
            for c in range(k):
                scratch[c] += offsets[1, c]
        elif j == DISCOUNTED:
            for c in range(k):
                scratch[c] += offsets[2, c]
        elif j == REMAPPED:
            if len(seen) > 0:
                remap_row(seen, expected, source_prior, predicted, scratch)
                for c in range(k):
                    scratch[c] += logs[1, c]
        else:
            i = j - LEARNERS
            for c in range(k):
                scratch[c] = temperatures[i] * logs[1, c] + biases[i, c] + ON_TRACKED[i] * offsets[1, c]
        softmax(scratch, out[j])


@compiled_within
def descend(
    label: int, logs: FloatArray, said: FloatArray, i: int, biases: FloatArray, temperatures: FloatArray
) -> None:
    """Move one learner's biases and temperature down the gradient of a label's log loss, and shrink them."""
    slope, kept = -logs[1, label], 1.0 - SHRINKS[i]
    for c in range(len(said)):
        slope += said[c] * logs[1, c]
        miss = said[c] - 1.0 if c == label else said[c]
        biases[i, c] = kept * biases[i, c] - STEPS[i] * miss
    slope = min(max(slope, -_STEEPEST), _STEEPEST)
    moved = 1.0 + kept * (temperatures[i] - 1.0) - _TEMPERATURE_STEP * STEPS[i] * slope
    temperatures[i] = min(max(moved, _WARMEST), _COLDEST)


@compiled_within
def count(
    label: int,
    predicted: int,
    calibrated: FloatArray,
    kept: float,
    seen: FloatArray,
    expected: FloatArray,
) -> None:
    """Count a label by the class that was predicted, beside what the model expected; earlier ones fade."""
    for c in range(len(calibrated)):
        seen[predicted, c] *= kept
        expected[predicted, c] = kept * expected[predicted, c] + calibrated[c]
    seen[predicted, label] += 1.0


NO_LABELS: IntArray = np.empty(0, dtype=np.int64)
