"""Mixing a portfolio: learning from labels, counting unlabelled samples at a discount, predicting (compiled)."""

import numpy as np

from baserate.compiled import compiled, compiled_within
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trust.portfolio.candidates import (
    BASE,
    DISCOUNTED,
    GATED,
    LEARNERS,
    ON_TRACKED,
    REMAPPED,
    SMALLEST,
    TRACKED,
    count,
    descend,
    log_rows,
    remap_row,
    say,
)

MOST = 32
"""Labels of a round that are learned from; of more, about this many from all over the round."""
FURTHEST = 7.0
"""Largest log-offset of a candidate: a mixture must not hang on one that rules a class out."""
_LASTS = 1000.0  # rounds without labels after which what they taught has faded to about a third
DISCOUNT = 0.1
"""The weight of an unlabelled sample in the discounted class prior, where a label counts for one."""
_MEMORY = 3000.0  # samples after which what was counted there has faded to about a third
_REMAP_MEMORY = 100.0  # labels, of one predicted class
_RATE, _FLOOR, _SHARE = 0.5, 1e-3, 0.01
_NEARLY = 0.04  # a temperature as near to one as this is taken for one: no probability moves by more than 0.01


@compiled_within
def _offsets(prior: FloatArray, part: float, source_prior: FloatArray, counts: FloatArray) -> FloatArray:
    """Return log-offsets of the default, of the tracked and of the discounted class prior, (3, k)."""
    out, total = np.empty((3, len(prior))), 1.0
    for c in range(len(prior)):
        total += counts[c]
    for c in range(len(prior)):
        tracked = np.log(max(prior[c], SMALLEST) / source_prior[c])
        discounted = np.log((counts[c] + source_prior[c]) / (total * source_prior[c]))
        out[1, c] = min(max(tracked, -FURTHEST), FURTHEST)
        out[2, c] = min(max(discounted, -FURTHEST), FURTHEST)
        out[0, c] = part * out[1, c]
    return out


def take_in(
    raw: FloatArray,
    calibrated: FloatArray,
    labels: IntArray,
    importance: FloatArray,
    is_round: bool,
    began: bool,
    prior: FloatArray,
    part: float,
    alone: bool,
    source_prior: FloatArray,
    resting: FloatArray,
    weights: FloatArray,
    biases: FloatArray,
    temperatures: FloatArray,
    seen: FloatArray,
    expected: FloatArray,
    counts: FloatArray,
) -> int:
    """Learn from samples, in place; return the number of labels.

    Parameters
    ----------
    labels : (n,) array of int
        Empty if no label is known.
    importance : (n,) array
        Number of labels that each label counts for in the discounted class prior, a mean. Empty: one. The rest of what
        is learned says how labels depend on outputs, which does not change if rows are chosen by their outputs.
    is_round : bool
        True for the samples of a round; False for labels that came late.
    began : bool
        True if there were labels before.
    prior, part, alone
        As in `Proposals`.
    resting : (m,) array
        The weights that every label pulls towards.
    """
    told = int(np.count_nonzero(labels != UNLABELLED))
    if told > 0:
        _learn(
            raw, calibrated, labels, importance, (told + MOST - 1) // MOST, prior, part, alone, source_prior, resting,
            weights, biases, temperatures, seen, expected, counts,
        )  # fmt: skip
    if is_round:
        _discount(calibrated, labels, source_prior, counts)
        if told == 0 and began:
            _fade(weights, biases, temperatures)
    return told


@compiled
def _learn(
    raw: FloatArray,
    calibrated: FloatArray,
    labels: IntArray,
    importance: FloatArray,
    stride: int,
    prior: FloatArray,
    part: float,
    alone: bool,
    source_prior: FloatArray,
    resting: FloatArray,
    weights: FloatArray,
    biases: FloatArray,
    temperatures: FloatArray,
    seen: FloatArray,
    expected: FloatArray,
    counts: FloatArray,
) -> None:
    """Learn from labels, one after the other: first every candidate is judged, then those that learn do."""
    m, k = len(weights), len(source_prior)
    offsets = _offsets(prior, part, source_prior, counts)
    logs, said, scratch, place = np.empty((2, k)), np.empty((m, k)), np.empty(k), 0
    for i in range(len(labels)):
        label = labels[i]
        if label == UNLABELLED:
            continue
        place += 1
        if (place - 1) % stride != 0:
            continue
        predicted = log_rows(raw[i], calibrated[i], logs)
        say(logs, predicted, offsets, alone, source_prior, biases, temperatures, seen, expected, scratch, said)
        total = 0.0
        for j in range(m):
            likely = said[j, label] + _FLOOR
            weights[j] *= np.sqrt(likely) if _RATE == 0.5 else likely**_RATE
            total += weights[j]
        for j in range(m):
            weights[j] = (1.0 - _SHARE) * weights[j] / total + _SHARE * resting[j]
        for j in range(LEARNERS, m):
            descend(label, logs, said[j], j - LEARNERS, biases, temperatures)
        if len(seen) > 0:
            count(label, predicted, calibrated[i], 1.0 - 1.0 / _REMAP_MEMORY, seen, expected)
        counts[label] += importance[i] if len(importance) > 0 else 1.0


@compiled
def _fade(weights: FloatArray, biases: FloatArray, temperatures: FloatArray) -> None:
    """Let what labels taught fade in a round without any, but not what they said against the tracked prior."""
    for i in range(len(biases)):
        for c in range(biases.shape[1]):
            biases[i, c] *= 1.0 - 1.0 / _LASTS
        temperatures[i] += (1.0 - temperatures[i]) / _LASTS
        if ON_TRACKED[i] > 0.0:
            moved = weights[LEARNERS + i] / _LASTS
            weights[LEARNERS + i] -= moved
            weights[GATED] += moved
    moved = weights[TRACKED] / _LASTS
    weights[TRACKED] -= moved
    weights[GATED] += moved


@compiled
def _discount(calibrated: FloatArray, labels: IntArray, source_prior: FloatArray, counts: FloatArray) -> None:
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
    prior: FloatArray,
    part: float,
    alone: bool,
    source_prior: FloatArray,
    biases: FloatArray,
    temperatures: FloatArray,
    seen: FloatArray,
    expected: FloatArray,
    counts: FloatArray,
    out: FloatArray,
) -> None:
    """Write the probabilities of each candidate, (m, n, k)."""
    k = len(source_prior)
    offsets = _offsets(prior, part, source_prior, counts)
    logs, said, scratch = np.empty((2, k)), np.empty((len(out), k)), np.empty(k)
    for i in range(len(raw)):
        predicted = log_rows(raw[i], calibrated[i], logs)
        say(logs, predicted, offsets, alone, source_prior, biases, temperatures, seen, expected, scratch, said)
        for j in range(len(out)):
            for c in range(k):
                out[j, i, c] = said[j, c]


@compiled
def blend(
    part: float,
    alone: bool,
    source_prior: FloatArray,
    weights: FloatArray,
    biases: FloatArray,
    temperatures: FloatArray,
    seen: FloatArray,
    expected: FloatArray,
    counts: FloatArray,
    offsets: FloatArray,
    table: FloatArray,
) -> tuple[float, float, float]:
    """Write the log-offsets of the mixture without the tracked prior's, and the table of predicted classes.

    Returns
    -------
    tracked, temperature, model : float
        As in `Blend`.
    """
    k = len(source_prior)
    tracked, discounted, model, temperature = weights[TRACKED], weights[DISCOUNTED], weights[BASE], 1.0
    if alone:
        model += weights[GATED]
    else:
        tracked += part * weights[GATED]
    ratios = _offsets(source_prior, 1.0, source_prior, counts)
    for c in range(k):
        offsets[c] = discounted * ratios[2, c]
    for i in range(len(biases)):
        w = weights[LEARNERS + i]
        tracked += w * ON_TRACKED[i]
        temperature += w * (temperatures[i] - 1.0)
        for c in range(k):
            offsets[c] += w * biases[i, c]
    for predicted in range(len(seen)):
        remap_row(seen, expected, source_prior, predicted, table[predicted])
        for c in range(k):
            table[predicted, c] *= weights[REMAPPED]
    return tracked, temperature - model, model  # all exponents sum to one while the temperatures are one


@compiled
def total_offsets(offsets: FloatArray, part: float, tracked: FloatArray) -> FloatArray:
    """Return the mixture's log-offsets, given those of tracked class priors, (n, k)."""
    out = np.empty(tracked.shape)
    for i in range(len(tracked)):
        for c in range(len(offsets)):
            out[i, c] = offsets[c] + part * min(max(tracked[i, c], -FURTHEST), FURTHEST)
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
