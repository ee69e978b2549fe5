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
    PRIOR,
    REMAPPED,
    SMALLEST,
    TRACKED,
    count,
    descend,
    remap_row,
    say,
)

MOST = 32
"""Labels of a round that are learned from; of more, about this many from all over the round."""
FURTHEST = 7.0
"""Largest log-offset of a candidate: a mixture must not hang on one that rules a class out."""
_FARTHEST = float(np.exp(FURTHEST))
_LASTS = 1000.0  # rounds without labels after which what they taught has faded to about a third
DISCOUNT = 0.1
"""The weight of an unlabelled sample in the discounted class prior, where a label counts for one."""
_MEMORY = 3000.0  # samples after which what was counted there has faded to about a third
_REMAP_MEMORY = 100.0  # labels, of one predicted class
_RATE, _FLOOR, _SHARE = 0.5, 1e-3, 0.01
_DELAY = 0.02  # one over the number of labels that come meanwhile for which a verdict counts for half
_CELLS, _HALVINGS, _PART = 64, 41, 2**46 - 1  # of numbers from one to two; of `SMALLEST`; bits within a cell
_SMALLEST_BITS, _ONE_BITS = (int(np.float64(p).view(np.int64)) for p in (SMALLEST, 1.0))
_LOGS = np.log1p(np.arange(_CELLS + 1) / _CELLS)


@compiled_within
def _ratio(counts: FloatArray, total: float, source_prior: FloatArray, c: int) -> float:
    """Return the factor of a class by the discounted class prior."""
    ratio: float = (counts[c] + source_prior[c]) / (total * source_prior[c])
    return min(max(ratio, 1.0 / _FARTHEST), _FARTHEST)


@compiled_within
def _factors(prior: FloatArray, part: float, source_prior: FloatArray, counts: FloatArray, out: FloatArray) -> None:
    """Write the factors of the default, of the tracked and of the discounted class prior, (3, k)."""
    total = 1.0 + counts.sum()
    for c in range(len(prior)):
        tracked = min(max(max(prior[c], SMALLEST) / source_prior[c], 1.0 / _FARTHEST), _FARTHEST)
        out[0, c] = tracked if part == 1.0 else tracked**part
        out[1, c] = tracked
        out[2, c] = _ratio(counts, total, source_prior, c)


@compiled
def take_in(
    raw: FloatArray,
    calibrated: FloatArray,
    labels: IntArray,
    importance: FloatArray,
    is_round: bool,
    learned: int,
    learned_then: int,
    prior: FloatArray,
    part: float,
    alone: bool,
    source_prior: FloatArray,
    weights: FloatArray,
    learners: FloatArray,
    remap: FloatArray,
    counts: FloatArray,
    offsets: FloatArray,
    table: FloatArray,
) -> tuple[int, int, float, float, float, float]:
    """Learn from samples, in place, and mix the candidates anew.

    Parameters
    ----------
    labels : (n,) array of int
        Empty if no label is known.
    importance : (n,) array
        Number of labels that each label counts for in the discounted class prior, a mean. Empty: one. The rest of what
        is learned says how labels depend on outputs, which does not change if rows are chosen by their outputs.
    is_round : bool
        True for the samples of a round; False for labels that came late.
    learned, learned_then : int
        Labels that have been learned until now, and until the round of the samples: others came while these were
        waited for. -1: none did.
    prior, part, alone
        As in `Proposals`.
    offsets, table
        As in `Blend`; they are written.

    Returns
    -------
    told, learned : int
        Labels that came, and labels that were learned until now.
    default, tracked, temperature, model : float
        The default's weight, and what `Blend` says without the default.
    """
    told = 0
    for i in range(len(labels)):
        told += labels[i] != UNLABELLED
    began = learned > 0
    if told > 0:
        learned = _learn(
            raw, calibrated, labels, importance, (told + MOST - 1) // MOST, learned, learned_then, prior, part, alone,
            source_prior, weights, learners, remap, counts,
        )  # fmt: skip
    if is_round:
        _discount(calibrated, labels, source_prior, counts)
        if told == 0 and began:
            _fade(weights, learners)
    if learned == 0:
        return told, learned, 1.0, 0.0, 1.0, 0.0
    default, tracked, temperature, model = _mix(source_prior, weights, learners, remap, counts, offsets, table)
    return told, learned, default, tracked, temperature, model


@compiled_within
def _learn(
    raw: FloatArray,
    calibrated: FloatArray,
    labels: IntArray,
    importance: FloatArray,
    stride: int,
    learned: int,
    learned_then: int,
    prior: FloatArray,
    part: float,
    alone: bool,
    source_prior: FloatArray,
    weights: FloatArray,
    learners: FloatArray,
    remap: FloatArray,
    counts: FloatArray,
) -> int:
    """Learn from labels, one after the other: first every candidate is judged, then those that learn do."""
    m, k, place = len(weights), len(source_prior), -1
    factors, logs, said = np.empty((3, k)), np.empty(k), np.empty((m, k))
    _factors(prior, part, source_prior, counts, factors)
    left_out = 0.0 if remap.shape[1] > 0 else PRIOR[REMAPPED]
    for i in range(len(labels)):
        label = labels[i]
        if label == UNLABELLED:
            continue
        place += 1
        if place % stride != 0:
            continue
        delay = max(learned - learned_then, 0) if learned_then >= 0 else 0
        predicted = say(raw[i], calibrated[i], factors, alone, source_prior, learners, remap, logs, said)
        rate, share, total = _RATE / (1.0 + _DELAY * delay), _SHARE / (1.0 + _DELAY * delay), 0.0
        for j in range(m):
            likely = said[j, label] + _FLOOR
            weights[j] *= np.sqrt(likely) if rate == 0.5 else likely**rate
            total += weights[j]
        for j in range(m):
            rest = PRIOR[j] / (1.0 - left_out) if left_out == 0.0 or j != REMAPPED else 0.0
            weights[j] = (1.0 - share) * weights[j] / total + share * rest
        for j in range(LEARNERS, m):
            descend(label, logs, said[j], delay, j - LEARNERS, learners[j - LEARNERS])
        if remap.shape[1] > 0:
            count(label, predicted, calibrated[i], 1.0 - 1.0 / _REMAP_MEMORY, remap)
        counts[label] += importance[i] if len(importance) > 0 else 1.0
        learned += 1
    return learned


@compiled_within
def _fade(weights: FloatArray, learners: FloatArray) -> None:
    """Let what labels taught fade in a round without any, but not what they said against the tracked prior."""
    k = learners.shape[1] - 1
    for i in range(len(learners)):
        for c in range(k):
            learners[i, c] *= 1.0 - 1.0 / _LASTS
        learners[i, k] += (1.0 - learners[i, k]) / _LASTS
        if ON_TRACKED[i] > 0.0:
            moved = weights[LEARNERS + i] / _LASTS
            weights[LEARNERS + i] -= moved
            weights[GATED] += moved
    moved = weights[TRACKED] / _LASTS
    weights[TRACKED] -= moved
    weights[GATED] += moved


@compiled_within
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
    learners: FloatArray,
    remap: FloatArray,
    counts: FloatArray,
    out: FloatArray,
) -> None:
    """Write the probabilities of each candidate, (m, n, k)."""
    k = len(source_prior)
    factors, logs, said = np.empty((3, k)), np.empty(k), np.empty((len(out), k))
    _factors(prior, part, source_prior, counts, factors)
    for i in range(len(raw)):
        say(raw[i], calibrated[i], factors, alone, source_prior, learners, remap, logs, said)
        for j in range(len(out)):
            for c in range(k):
                out[j, i, c] = said[j, c]


@compiled_within
def _mix(
    source_prior: FloatArray,
    weights: FloatArray,
    learners: FloatArray,
    remap: FloatArray,
    counts: FloatArray,
    offsets: FloatArray,
    table: FloatArray,
) -> tuple[float, float, float, float]:
    """Write the log-offsets of the mixture without the tracked prior's, and the table of predicted classes."""
    k, total = len(source_prior), 1.0 + counts.sum()
    tracked, temperature = weights[TRACKED], 1.0
    for c in range(k):
        offsets[c] = weights[DISCOUNTED] * np.log(_ratio(counts, total, source_prior, c))
    for i in range(len(learners)):
        w = weights[LEARNERS + i]
        tracked += w * ON_TRACKED[i]
        temperature += w * (learners[i, k] - 1.0)
        for c in range(k):
            offsets[c] += w * learners[i, c]
    for predicted in range(len(table)):
        remap_row(remap, source_prior, predicted, table[predicted])
        for c in range(k):
            table[predicted, c] = weights[REMAPPED] * np.log(table[predicted, c])
    return weights[GATED], tracked, temperature, weights[BASE]


@compiled
def mix(
    source_prior: FloatArray,
    weights: FloatArray,
    learners: FloatArray,
    remap: FloatArray,
    counts: FloatArray,
    offsets: FloatArray,
    table: FloatArray,
) -> tuple[float, float, float, float]:
    """Mix the candidates as `take_in` does."""
    return _mix(source_prior, weights, learners, remap, counts, offsets, table)


@compiled_within
def _correct(
    prior: FloatArray, source_prior: FloatArray, offsets: FloatArray, part: float, out: FloatArray, used: FloatArray
) -> None:
    """Write the mixture's log-offsets, given a tracked class prior, and the class prior that they lead to."""
    total = 0.0
    for c in range(len(prior)):
        tracked = np.log(max(prior[c], SMALLEST) / source_prior[c])
        out[c] = offsets[c] + part * min(max(tracked, -FURTHEST), FURTHEST)
        used[c] = source_prior[c] * np.exp(out[c])
        total += used[c]
    for c in range(len(prior)):
        used[c] /= total


@compiled
def correct(
    prior: FloatArray, source_prior: FloatArray, offsets: FloatArray, part: float
) -> tuple[FloatArray, FloatArray]:
    """Return the mixture's log-offsets, given the tracked class prior, and the class prior that they lead to."""
    out, used = np.empty(len(prior)), np.empty(len(prior))
    _correct(prior, source_prior, offsets, part, out, used)
    return out, used


@compiled
def correct_each(
    priors: FloatArray, source_prior: FloatArray, offsets: FloatArray, part: float
) -> tuple[FloatArray, FloatArray]:
    """Return the same for many class priors, (n, k)."""
    out, used = np.empty(priors.shape), np.empty(priors.shape)
    for i in range(len(priors)):
        _correct(priors[i], source_prior, offsets, part, out[i], used[i])
    return out, used


@compiled_within
def _set_powers(exponent: float, powers: FloatArray) -> None:
    """Write the powers of a probability's parts: of two to the minus 0, ..., 40, and of one to two."""
    half = 0.5**exponent
    powers[0] = 1.0
    for i in range(1, _HALVINGS):
        powers[i] = powers[i - 1] * half
    for i in range(_CELLS + 1):
        powers[_HALVINGS + i] = np.exp(exponent * _LOGS[i])


@compiled_within
def _power(bits: int, powers: FloatArray) -> float:
    """Return the power of a probability, given the bits of that number.

    A number is a power of two, times a number from one to two. The power of the first is looked up, that of the second
    interpolated between 65 places: to a relative error of 3e-5 ``a (a - 1)``, in a fourth of the time of ``p**a``.
    """
    bits = min(max(bits, _SMALLEST_BITS), _ONE_BITS)  # numbers are in the order of their bits
    i = _HALVINGS + ((bits >> 46) & (_CELLS - 1))
    part = (bits & _PART) * (1.0 / (_PART + 1))
    power: float = powers[1023 - (bits >> 52)] * (powers[i] + part * (powers[i + 1] - powers[i]))
    return power


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
    out, powers = np.empty((n, k)), np.empty((2, _HALVINGS + _CELLS + 1))
    bits, raw_bits = calibrated.view(np.int64), raw.view(np.int64)
    _set_powers(temperature, powers[0])
    if model > 0.0:
        _set_powers(model, powers[1])
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
        for c in range(k):
            value = _power(bits[i, c], powers[0]) * factors[predicted, c]
            if model > 0.0:
                value *= _power(raw_bits[i, c], powers[1])
            out[i, c] = value
            total += value
        scale = 1.0 / total
        for c in range(k):
            out[i, c] *= scale
    return out
