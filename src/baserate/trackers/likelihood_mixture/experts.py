"""Experts of the likelihood mixture: their class mixes, their weights and their counts (compiled).

There are two kinds of experts, in this order:

- *memories* forget what they have counted, each at its own speed;
- *known mixes* do not forget: the birth value, and class mixes that lasted for a while and may come back (*recalled*).

Experts are the last, contiguous axis of every array, so that the inner loops process several of them at a time.
"""

import numpy as np

from baserate.compiled import compiled, compiled_part, compiled_within
from baserate.protocols import FloatArray, IntArray

LONGEST = 21
MEMORIES = LONGEST + 2
"""Number of memories: of 1, 2, 4, ..., 2^21 rounds, and of all rounds."""
RECALLED = 8
"""Number of places for recalled mixes."""
KNOWN = MEMORIES
"""Index of the first known mix, the birth value."""
FIRST_RECALLED = KNOWN + 1
EXPERTS = FIRST_RECALLED + RECALLED
SWITCHING_RATES = np.array([0.2, 0.02, 0.0])
"""Assumed probabilities per round that another expert becomes the best one; zero stands for 1 / t."""
NEW_MIX_THRESHOLD = 5.0
"""Log-likelihood ratio of the memories to the known mixes, over the latest rounds, above which these rounds become a
known mix of their own: about 150 times likelier."""

KEPT = np.append(1.0 - 0.5 ** np.arange(LONGEST + 1), 1.0)
"""Share of its counts that each memory keeps from one round to the next."""
_KEPT_BY_ALL = np.append(KEPT, np.ones(EXPERTS - MEMORIES))  # only memories fade

_FLOOR = 1e-6  # least share of a class in the birth value: a class that it rules out may still appear
_ROUNDING = 1e-12  # rounding error of log-likelihoods


# A round of one key is computed in three tables, which are allocated once for many keys because allocating takes longer
# than filling them. `mixes`, (k, m), is the class mix that each expert predicts or is judged by. `per_expert` has m
# numbers in each of these rows:
WEIGHT, LIKELIHOOD, COUNTED, SPARE_1, SPARE_2 = range(5)
"""Weight of each expert, averaged over switching rates; likelihood of the batch under it, up to a common factor; share
of each sample that it counts; and two rows of scratch space."""
# `per_class` has k numbers in each of these rows:
BIRTH, MIXTURE, COUNT, SPARE, JUDGED = range(5)
"""The birth value; the weighted mean of all experts; the number of samples of each class; scratch space; and the mix
that the birth value is judged by."""
# The whole tables are passed from function to function, because numba would count references to every slice or tuple of
# arrays. Loops run to `m`, which is read from a table, and not to the constant `EXPERTS`: the compiler would unroll a
# short loop of known length instead of vectorising it.


@compiled
def make_tables(k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Allocate the tables `mixes`, `per_expert` and `per_class`."""
    return np.empty((k, EXPERTS)), np.empty((5, EXPERTS)), np.empty((5, k))


@compiled_within
def set_birth(birth: FloatArray, per_class: FloatArray) -> None:
    """Set the row `BIRTH`: the birth value, in which no class is ruled out."""
    total = 0.0
    for c in range(len(birth)):
        per_class[BIRTH, c] = max(birth[c], _FLOOR)
        total += per_class[BIRTH, c]
    total = 1.0 / total
    for c in range(len(birth)):
        per_class[BIRTH, c] *= total


@compiled_within
def _set_expert_mixes(
    birth: FloatArray, counts: FloatArray, mixes: FloatArray, per_expert: FloatArray, per_class: FloatArray
) -> None:
    """Set `mixes`: the counts of each expert plus one sample's worth of the birth value, normalised."""
    m = per_expert.shape[1]
    k = len(birth)
    set_birth(birth, per_class)
    for e in range(m):
        per_expert[SPARE_1, e] = 1.0
    for c in range(k):
        for e in range(m):
            per_expert[SPARE_1, e] += counts[c, e]
    for e in range(m):
        per_expert[SPARE_1, e] = 1.0 / per_expert[SPARE_1, e]
    # The expert of the birth value has no counts, so its mix is the birth value.
    for c in range(k):
        pseudo = per_class[BIRTH, c]
        for e in range(m):
            mixes[c, e] = (counts[c, e] + pseudo) * per_expert[SPARE_1, e]


@compiled_within
def _set_mean_weights(weights: FloatArray, trust: FloatArray, per_expert: FloatArray) -> None:
    """Set the row `WEIGHT`: the weight of each expert, averaged over switching rates."""
    m = per_expert.shape[1]
    a, b, c = trust[0], trust[1], trust[2]
    for e in range(m):
        per_expert[WEIGHT, e] = a * weights[0, e] + b * weights[1, e] + c * weights[2, e]


@compiled
def expert_mixes(birth: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the class mix of each expert, (k, m)."""
    mixes, per_expert, per_class = make_tables(len(birth))
    _set_expert_mixes(birth, counts, mixes, per_expert, per_class)
    return mixes


@compiled
def mean_weights(weights: FloatArray, trust: FloatArray) -> FloatArray:
    """Return the weight of each expert, (m,), averaged over switching rates."""
    per_expert = np.empty((1, EXPERTS))
    _set_mean_weights(weights, trust, per_expert)
    weight: FloatArray = per_expert[WEIGHT]
    return weight


@compiled_within
def load_key(
    birth: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    mixes: FloatArray,
    per_expert: FloatArray,
    per_class: FloatArray,
) -> None:
    """Set the class mixes and the weights of one key's experts."""
    _set_expert_mixes(birth, counts, mixes, per_expert, per_class)
    _set_mean_weights(weights, trust, per_expert)


@compiled_within
def _weighted_sums(table: FloatArray, per_expert: FloatArray, by: int, out: FloatArray, to: int) -> None:
    """Write the sums of the rows of a table, weighted by the row `by` of `per_expert`, to the row `to` of `out`.

    The order of the additions is the same on every machine, and lets it do neighbouring ones at the same time; a plain
    running sum would wait for each addition. Callers write ``int(by)``: numba would compile it anew for every constant.
    """
    n = per_expert.shape[1] // 4
    for row in range(len(table)):
        for i in range(n):
            per_expert[SPARE_2, i] = (per_expert[by, i] * table[row, i] + per_expert[by, n + i] * table[row, n + i]) + (
                per_expert[by, 2 * n + i] * table[row, 2 * n + i] + per_expert[by, 3 * n + i] * table[row, 3 * n + i]
            )
        total = 0.0
        for i in range(n):
            total += per_expert[SPARE_2, i]
        out[to, row] = total


@compiled_within
def average_experts(mixes: FloatArray, per_expert: FloatArray, per_class: FloatArray) -> None:
    """Set the row `MIXTURE`: the weighted mean of the experts' class mixes."""
    k = len(mixes)
    _weighted_sums(mixes, per_expert, int(WEIGHT), per_class, int(MIXTURE))
    total = 0.0
    for c in range(k):
        total += per_class[MIXTURE, c]
    total = 1.0 / total
    for c in range(k):
        per_class[MIXTURE, c] *= total


@compiled_within
def apply_margin(
    counts: FloatArray, margin: FloatArray, mixes: FloatArray, per_expert: FloatArray, per_class: FloatArray
) -> None:
    """Replace the birth value in `mixes` by the mix it is judged by: the observed one, within `margin` of it.

    A slightly miscalibrated model makes the source look like another class mix. So the expert of the birth value
    predicts the birth value, but its likelihood is that of the mix found by the memories and in this batch, clipped to
    `margin`: only a mix that is further away is evidence against it. The birth value counts as many samples as would
    give a mean of labels the standard error `margin`. The batch is included because the memories are late: without it,
    they would speak for the birth value while they are still learning the mix.
    """
    m = per_expert.shape[1]
    k = len(margin)
    worth, unsure, trusted, size, total = 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(k):
        worth += per_class[BIRTH, c] * (1.0 - per_class[BIRTH, c])
        unsure += margin[c] * margin[c]
    if unsure == 0.0:
        return
    worth /= unsure
    for e in range(m):
        per_expert[SPARE_1, e] = per_expert[WEIGHT, e] if e < MEMORIES else 0.0
    for e in range(MEMORIES):
        trusted += per_expert[WEIGHT, e]
    _weighted_sums(counts, per_expert, int(SPARE_1), per_class, int(SPARE))
    trusted = 1.0 / trusted
    for c in range(k):
        per_class[SPARE, c] = per_class[SPARE, c] * trusted + per_class[COUNT, c]
        size += per_class[SPARE, c]
    size = 1.0 / (size + worth)
    for c in range(k):
        birth = per_class[BIRTH, c]
        mix = (per_class[SPARE, c] + worth * birth) * size
        per_class[SPARE, c] = max(min(mix, birth + margin[c]), birth - margin[c])
        total += per_class[SPARE, c]
    total = 1.0 / total
    for c in range(k):
        mixes[c, KNOWN] = per_class[SPARE, c] * total


@compiled_within
def restore_birth_value(mixes: FloatArray, per_class: FloatArray) -> None:
    """Undo `apply_margin`: the expert of the birth value predicts the birth value."""
    for c in range(len(mixes)):
        mixes[c, KNOWN] = per_class[BIRTH, c]


@compiled_within
def scale_likelihoods(logs: FloatArray, per_expert: FloatArray) -> float:
    """Set the row `LIKELIHOOD` from logarithms, relative to the largest among experts with weight; returns that one."""
    m = per_expert.shape[1]
    top = -np.inf
    for e in range(m):
        if per_expert[WEIGHT, e] > 0.0:
            top = max(top, logs[e])
    for e in range(m):
        per_expert[LIKELIHOOD, e] = np.exp(min(logs[e] - top, 0.0))
    return top


@compiled_within
def next_doubt(doubt: float, per_expert: FloatArray) -> float:
    """Return Page's cumulative sum of the log-likelihood ratio of memories to known mixes, after this batch.

    It is zero where the known mixes explain the latest rounds. Both groups have weight, because some is redistributed
    to each in every round. If the likelihoods of one group all underflow, the result is zero or infinite, as it should.
    """
    new, known, new_weight, known_weight = 0.0, 0.0, 0.0, 0.0
    for e in range(KNOWN):
        new += per_expert[WEIGHT, e] * per_expert[LIKELIHOOD, e]
        new_weight += per_expert[WEIGHT, e]
    for e in range(KNOWN, EXPERTS):
        known += per_expert[WEIGHT, e] * per_expert[LIKELIHOOD, e]
        known_weight += per_expert[WEIGHT, e]
    ahead = np.log((new / new_weight) / (known / known_weight))
    # Experts that predict the same, as all do in the first round, may differ by rounding: that is no evidence.
    return float(max(0.0, doubt + ahead)) if abs(ahead) > _ROUNDING else doubt


@compiled_within
def update_weights(weights: FloatArray, trust: FloatArray, per_expert: FloatArray) -> None:
    """Apply Bayes' rule to the experts under each switching rate and to the rates, and set the row `WEIGHT`.

    None of the sums can vanish: every expert has received 1 / t or more of the weight.
    """
    m = per_expert.shape[1]
    total = 0.0
    _weighted_sums(weights, per_expert, int(LIKELIHOOD), per_expert, int(SPARE_1))
    for s in range(len(trust)):
        likelihood = per_expert[SPARE_1, s]
        scale = 1.0 / likelihood
        for e in range(m):
            weights[s, e] *= per_expert[LIKELIHOOD, e] * scale
        trust[s] *= likelihood
        total += trust[s]
    for s in range(len(trust)):
        trust[s] /= total
    _set_mean_weights(weights, trust, per_expert)


@compiled_within
def redistribute_weights(
    weights: FloatArray, trust: FloatArray, made: IntArray, t: int, per_expert: FloatArray
) -> None:
    """Allow for a change of the best expert, and of the best switching rate, after t rounds (fixed share).

    Half of the redistributed weight goes to the memories, many of which are alike, and half to the known mixes.
    """
    m = per_expert.shape[1]
    known = 1
    for r in range(RECALLED):
        known += made[r, 1] > 0
    for e in range(MEMORIES):
        per_expert[SPARE_1, e] = 0.5 / MEMORIES
    per_expert[SPARE_1, KNOWN] = 0.5 / known
    for r in range(RECALLED):
        per_expert[SPARE_1, FIRST_RECALLED + r] = 0.5 / known if made[r, 1] > 0 else 0.0
    rare = 1.0 / (t + 1.0)
    for s in range(len(trust)):
        part = SWITCHING_RATES[s] if SWITCHING_RATES[s] > 0.0 else rare
        for e in range(m):
            weights[s, e] = (1.0 - part) * weights[s, e] + part * per_expert[SPARE_1, e]
        trust[s] = (1.0 - rare) * trust[s] + rare / len(trust)


@compiled_within
def assign_samples(doubt: float, per_expert: FloatArray) -> None:
    """Set the row `COUNTED`: memories count every sample, recalled mixes their share of the known mixes' weight.

    While a new mix is suspected (``doubt > 0``), known mixes count nothing. The expert of the birth value never does.
    """
    known = 0.0
    for e in range(KNOWN, EXPERTS):
        known += per_expert[WEIGHT, e]
    known = 1.0 / known if doubt == 0.0 else 0.0
    for e in range(MEMORIES):
        per_expert[COUNTED, e] = 1.0
    per_expert[COUNTED, KNOWN] = 0.0
    for e in range(FIRST_RECALLED, EXPERTS):
        per_expert[COUNTED, e] = per_expert[WEIGHT, e] * known


@compiled_within
def add_counts(counts: FloatArray, per_expert: FloatArray, per_class: FloatArray) -> None:
    """Fade the counts of all experts by one round, and add the round's samples."""
    m = per_expert.shape[1]
    for c in range(len(counts)):
        found = per_class[COUNT, c]
        for e in range(m):
            counts[c, e] = _KEPT_BY_ALL[e] * counts[c, e] + per_expert[COUNTED, e] * found


@compiled_within
def learn_new_mix(
    counts: FloatArray, doubted: FloatArray, doubt: float, made: IntArray, since: int, t: int, per_class: FloatArray
) -> tuple[float, int]:
    """Count round t's samples towards a new mix while one is suspected, and make it a recalled mix when it is certain.

    A new mix takes the place, and the weight, of the least used one. Returns the doubt from now on, and the round since
    when there has been some.
    """
    k = len(doubted)
    if doubt == 0.0:
        for c in range(k):
            doubted[c] = 0.0  # a known mix explains the rounds so far
        return 0.0, t + 1
    for c in range(k):
        doubted[c] += per_class[COUNT, c]
    if doubt < NEW_MIX_THRESHOLD:
        return doubt, since
    place = _least_used(counts, made, t)
    made[place, 0], made[place, 1] = since, t
    e = FIRST_RECALLED + place
    for c in range(k):
        counts[c, e], doubted[c] = doubted[c], 0.0
    return 0.0, t + 1


@compiled_part
def _least_used(counts: FloatArray, made: IntArray, t: int) -> int:
    """Return a free place for a recalled mix, or else that of the mix with the fewest samples per round since."""
    place, fewest = 0, np.inf
    for r in range(RECALLED):
        if made[r, 1] == 0:
            return r
        used = 0.0
        for c in range(len(counts)):
            used += counts[c, FIRST_RECALLED + r]
        used /= t - made[r, 1] + 1
        if used < fewest:
            place, fewest = r, used
    return place
