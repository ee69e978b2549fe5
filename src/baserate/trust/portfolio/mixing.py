"""Mixing a portfolio: learning from labels, counting unlabelled samples at a discount, predicting (compiled)."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trust.portfolio.candidates import (
    LEARNERS,
    SMALLEST,
    count,
    descend,
    log_rows,
    remap_row,
    say,
)

DISCOUNT = 0.1
"""What an unlabelled sample counts for in the discounted class prior, where a label counts for one."""
_MEMORY = 3000.0  # samples after which what was counted there has faded to about a third
_REMAP_MEMORY = 100.0  # labels, of one predicted class
_RATE, _FLOOR, _SHARE = 0.5, 1e-3, 0.01
_NEARLY = 0.02  # a temperature as near to one as this is taken for one: no probability moves by more than 1 %


@compiled
def learn(
    raw: FloatArray,
    calibrated: FloatArray,
    labels: IntArray,
    rows: IntArray,
    offsets: FloatArray,
    default_is_model: bool,
    source_prior: FloatArray,
    resting: FloatArray,
    weights: FloatArray,
    biases: FloatArray,
    temperatures: FloatArray,
    seen: FloatArray,
    expected: FloatArray,
    counts: FloatArray,
) -> None:
    """Learn from labelled samples, one after the other: first every candidate is judged, then those that learn do.

    Parameters
    ----------
    rows : (m,) array of int
        The samples to use.
    offsets, default_is_model
        As in `candidates.say`.
    resting : (m,) array
        The weights that are pulled towards.
    """
    m, k = len(weights), len(source_prior)
    logs, said, scratch = np.empty((2, k)), np.empty((m, k)), np.empty(k)
    for i in rows:
        label = labels[i]
        predicted = log_rows(raw[i], calibrated[i], logs)
        say(
            logs, predicted, offsets, default_is_model, source_prior, biases, temperatures, seen, expected, scratch,
            said,
        )  # fmt: skip
        total = 0.0
        for j in range(m):
            weights[j] *= (said[j, label] + _FLOOR) ** _RATE
            total += weights[j]
        for j in range(m):
            weights[j] = (1.0 - _SHARE) * weights[j] / total + _SHARE * resting[j]
        for j in range(LEARNERS, m):
            descend(label, logs, said[j], j - LEARNERS, biases, temperatures)
        if len(seen) > 0:
            count(label, predicted, calibrated[i], 1.0 - 1.0 / _REMAP_MEMORY, seen, expected)
        counts[label] += 1.0


@compiled
def discount(calibrated: FloatArray, labels: IntArray, source_prior: FloatArray, counts: FloatArray) -> None:
    """Count the unlabelled samples of a round by their class probabilities, at a discount; earlier ones fade."""
    n, k = calibrated.shape
    kept, total = np.exp(-n / _MEMORY), 1.0
    for c in range(k):
        counts[c] *= kept
        total += counts[c]
    ratios, sums = np.empty(k), np.zeros(k)
    for c in range(k):
        ratios[c] = (counts[c] + source_prior[c]) / (total * source_prior[c])
    for i in range(n):
        if len(labels) > 0 and labels[i] != UNLABELLED:
            continue
        mass = 0.0
        for c in range(k):
            mass += calibrated[i, c] * ratios[c]
        scale = DISCOUNT / mass if mass > 0.0 else 0.0
        for c in range(k):
            sums[c] += scale * calibrated[i, c]
    for c in range(k):
        counts[c] += sums[c] * ratios[c]


@compiled
def tables(
    raw: FloatArray,
    calibrated: FloatArray,
    offsets: FloatArray,
    default_is_model: bool,
    source_prior: FloatArray,
    biases: FloatArray,
    temperatures: FloatArray,
    seen: FloatArray,
    expected: FloatArray,
    out: FloatArray,
) -> None:
    """Write the probabilities of each candidate, (m, n, k)."""
    k = len(source_prior)
    logs, said, scratch = np.empty((2, k)), np.empty((len(out), k)), np.empty(k)
    for i in range(len(raw)):
        predicted = log_rows(raw[i], calibrated[i], logs)
        say(
            logs, predicted, offsets, default_is_model, source_prior, biases, temperatures, seen, expected, scratch,
            said,
        )  # fmt: skip
        for j in range(len(out)):
            for c in range(k):
                out[j, i, c] = said[j, c]


@compiled
def remap_table(seen: FloatArray, expected: FloatArray, source_prior: FloatArray, weight: float) -> FloatArray:
    """Return the log-offsets of the remapped candidate by predicted class, (k, k), times its weight."""
    out = np.empty(seen.shape)
    for predicted in range(len(seen)):
        remap_row(seen, expected, source_prior, predicted, out[predicted])
        for c in range(seen.shape[1]):
            out[predicted, c] *= weight
    return out


@compiled
def predict(
    raw: FloatArray,
    calibrated: FloatArray,
    offsets: FloatArray,
    temperature: float,
    model: float,
    table: FloatArray,
) -> FloatArray:
    """Return the geometric mean of the candidates, by weight, normalised.

    Parameters
    ----------
    offsets : (1, k) or (n, k) array
        Log-offsets for all samples, or for each.
    temperature, model : float
        Exponents of the calibrated probabilities, and of the model's own.
    table : (k, k) array
        Further log-offsets by the predicted class; may have no rows.
    """
    n, k = calibrated.shape
    out = np.empty((n, k))
    plain = abs(temperature - 1.0) <= _NEARLY and model == 0.0
    by_class, kinds = len(table) > 0, max(len(table), 1)
    factors, ready = np.empty((kinds, k)), np.zeros(kinds, dtype=np.bool_)
    for i in range(n):
        predicted = 0
        if by_class:
            for c in range(1, k):
                if calibrated[i, c] > calibrated[i, predicted]:
                    predicted = c
        row = 0 if len(offsets) == 1 else i
        if len(offsets) > 1 or not ready[predicted]:
            top = -np.inf
            for c in range(k):
                factors[predicted, c] = offsets[row, c] + (table[predicted, c] if by_class else 0.0)
                top = max(top, factors[predicted, c])
            for c in range(k):
                factors[predicted, c] = np.exp(factors[predicted, c] - top)
            ready[predicted] = True
        total = 0.0
        if plain:
            for c in range(k):
                out[i, c] = max(calibrated[i, c], SMALLEST) * factors[predicted, c]
                total += out[i, c]
        else:
            for c in range(k):
                power = temperature * np.log(max(calibrated[i, c], SMALLEST))
                if model > 0.0:
                    power += model * np.log(max(raw[i, c], SMALLEST))
                out[i, c] = np.exp(power) * factors[predicted, c]
                total += out[i, c]
        for c in range(k):
            out[i, c] /= total
    return out
