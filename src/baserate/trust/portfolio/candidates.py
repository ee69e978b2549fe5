"""The candidates of a portfolio: their names, rates and starting weights, and the probabilities of each (compiled)."""

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
    "recalibrated, fast",
    "tracked and recalibrated",
)
STEPS = np.array([0.1, 1.0, 0.1])
"""Step sizes of the learners: how far a label moves the biases, in log-odds per unit of surprise."""
SHRINKS = np.array([0.002, 0.02, 0.002])
"""Parts of the way back to the holdout's calibration that each label takes them."""
ON_TRACKED = np.array([0.0, 0.0, 1.0])
"""One for learners that start from the tracked class prior, zero for those that start from the source prior."""
_SHARES = np.array([0.25, 0.1, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1])
PRIOR = _SHARES / _SHARES.sum()
"""Weights that every label pulls towards, so that a candidate that was wrong for long can come back."""
_FIRST = 0.8  # the default's weight before the first label: a few labels must not undo what the outputs have shown
MOST_REMAPPED = 32
"""Largest number of classes for which predicted classes are remapped; the tables are k x k."""
SMALLEST, _WARMEST, _COLDEST, _STEEPEST = 1e-12, 0.1, 3.0, 3.0
_PSEUDO = 2.0  # samples of the source prior by which the remapped candidate is held back
_TEMPERATURE_STEP = 0.1  # step size of temperatures, relative to that of biases
_DELAY = 0.1  # one over the number of labels that come meanwhile for which a step of one is halved


def starting_weights(n_classes: int) -> FloatArray:
    """Return the weights before the first label."""
    weights = PRIOR.copy()
    weights[GATED] = 0.0
    if n_classes > MOST_REMAPPED:
        weights[REMAPPED] = 0.0
    weights *= (1.0 - _FIRST) / weights.sum()
    weights[GATED] = _FIRST
    return np.asarray(weights)


@compiled_within
def remap_row(remap: FloatArray, source_prior: FloatArray, predicted: int, out: FloatArray) -> None:
    """Write the factors of samples of one predicted class: true classes that were seen over those expected."""
    for c in range(len(source_prior)):
        pseudo = _PSEUDO * source_prior[c]
        out[c] = (remap[0, predicted, c] + pseudo) / (remap[1, predicted, c] + pseudo)


@compiled_within
def say(
    raw: FloatArray,
    calibrated: FloatArray,
    factors: FloatArray,
    default_is_model: bool,
    source_prior: FloatArray,
    learners: FloatArray,
    remap: FloatArray,
    logs: FloatArray,
    out: FloatArray,
) -> int:
    """Write every candidate's probabilities of one sample, (m, k); return the predicted class.

    Parameters
    ----------
    raw, calibrated : (k,) arrays
    factors : (3, k) array
        Factors of the default correction, of the tracked and of the discounted class prior.
    default_is_model : bool
        True while the default is the model left alone, uncalibrated.
    learners : (l, k + 1) array
        Each learner's biases and, last, its temperature.
    remap : (2, k, k) array
        For each predicted class, true classes as they were seen, and as expected; or empty.
    logs : (k,) array
        Where the calibrated log-probabilities are written.
    """
    k, predicted, remaps = len(calibrated), 0, remap.shape[1] > 0
    for c in range(k):
        logs[c] = np.log(max(calibrated[c], SMALLEST))
        if calibrated[c] > calibrated[predicted]:
            predicted = c
    if remaps:
        remap_row(remap, source_prior, predicted, out[REMAPPED])
    base, gated, tracked, discounted, remapped = 0.0, 0.0, 0.0, 0.0, 0.0  # totals; one loop, in which none waits
    for c in range(k):
        p = max(calibrated[c], SMALLEST)
        out[BASE, c] = max(raw[c], SMALLEST)
        out[GATED, c] = out[BASE, c] if default_is_model else p * factors[0, c]
        out[TRACKED, c] = p * factors[1, c]
        out[DISCOUNTED, c] = p * factors[2, c]
        out[REMAPPED, c] = p * out[REMAPPED, c] if remaps else p
        base += out[BASE, c]
        gated += out[GATED, c]
        tracked += out[TRACKED, c]
        discounted += out[DISCOUNTED, c]
        remapped += out[REMAPPED, c]
    base, gated, tracked, discounted = 1.0 / base, 1.0 / gated, 1.0 / tracked, 1.0 / discounted
    remapped = 1.0 / remapped
    for c in range(k):
        out[BASE, c] *= base
        out[GATED, c] *= gated
        out[TRACKED, c] *= tracked
        out[DISCOUNTED, c] *= discounted
        out[REMAPPED, c] *= remapped
    for i in range(len(learners)):
        top, total, row = -np.inf, 0.0, out[LEARNERS + i]
        for c in range(k):
            row[c] = learners[i, k] * logs[c] + learners[i, c]
            top = max(top, row[c])
        for c in range(k):
            row[c] = np.exp(row[c] - top)
            if ON_TRACKED[i] > 0.0:
                row[c] *= factors[1, c]
            total += row[c]
        scale = 1.0 / total
        for c in range(k):
            row[c] *= scale
    return predicted


@compiled_within
def descend(label: int, logs: FloatArray, said: FloatArray, delay: float, i: int, learner: FloatArray) -> None:
    """Move one learner's biases and temperature down the gradient of a label's log loss, and shrink them.

    Parameters
    ----------
    delay : float
        Labels that came while this one was waited for. What is learned from late labels is used that much later than
        it was right, so that it must hold for longer: the memory of the learner grows with the delay.
    """
    k, slope, slower = len(said), -logs[label], 1.0 / (1.0 + _DELAY * delay * STEPS[i])
    step, kept = STEPS[i] * slower, 1.0 - SHRINKS[i] * slower
    for c in range(k):
        slope += said[c] * logs[c]
        miss = said[c] - 1.0 if c == label else said[c]
        learner[c] = kept * learner[c] - step * miss
    slope = min(max(slope, -_STEEPEST), _STEEPEST)
    moved = 1.0 + kept * (learner[k] - 1.0) - _TEMPERATURE_STEP * step * slope
    learner[k] = min(max(moved, _WARMEST), _COLDEST)


@compiled_within
def count(label: int, predicted: int, calibrated: FloatArray, kept: float, remap: FloatArray) -> None:
    """Count a label by the class that was predicted, beside what the model expected; earlier ones fade."""
    for c in range(len(calibrated)):
        remap[0, predicted, c] *= kept
        remap[1, predicted, c] = kept * remap[1, predicted, c] + calibrated[c]
    remap[0, predicted, label] += 1.0


NO_LABELS: IntArray = np.empty(0, dtype=np.int64)
"""Labels of a round without any."""
