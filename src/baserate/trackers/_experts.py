"""Compiled work of the likelihood mixture on its experts: what they play, how they are weighed, what they remember.

The experts are the last, contiguous axis of every array, so that the inner loops run over several of them at a time.
First come those that forget at different speeds; then those that play a mix known from before: the birth value, and
mixes that lasted for a while, which may come back.
"""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray

LONGEST = 21
MEMORIES = LONGEST + 2
"""Memories of 1, 2, 4, ..., 2^21 rounds, and of everything ever seen."""
RECALLED = 8
"""How many mixes from before are kept."""
KNOWN = MEMORIES
"""Where the known mixes begin: the birth value is the first of them."""
FIRST_RECALLED = KNOWN + 1
EXPERTS = FIRST_RECALLED + RECALLED
SHARES = np.array([0.2, 0.02, 0.0])
"""How often the best expert may change, as rates per round; zero stands for 1 / t."""
ENOUGH = 5.0
"""How many times likelier, as a logarithm, the memories have made the latest rounds than all known mixes did before
those rounds become a known mix themselves: some 150 times."""

_DEALT = 10_000  # rounds without samples whose shares are dealt out one by one

KEPT = np.append(1.0 - 0.5 ** np.arange(LONGEST + 1), 1.0)
"""What is left after a round of what each memory holds."""

_FLOOR = 1e-6  # a class that the birth value rules out may come all the same


@compiled
def plays(birth: FloatArray, counts: FloatArray) -> FloatArray:
    """(k, m) what each expert plays: its counts and one sample's worth of the birth value, or the birth value."""
    k, m = counts.shape
    total = 0.0
    for c in range(k):
        total += max(birth[c], _FLOOR)
    sizes = np.ones(m)
    for c in range(k):
        for e in range(m):
            sizes[e] += counts[c, e]
    mixes = np.empty((k, m))
    for c in range(k):
        pseudo = max(birth[c], _FLOOR) / total
        for e in range(m):
            mixes[c, e] = (counts[c, e] + pseudo) / sizes[e]
        mixes[c, KNOWN] = pseudo
    return mixes


@compiled
def say(weights: FloatArray, trust: FloatArray) -> FloatArray:
    """(m,) the weight of each expert, whatever the share."""
    m = weights.shape[1]
    total = np.zeros(m)
    for s in range(len(trust)):
        for e in range(m):
            total[e] += trust[s] * weights[s, e]
    return total


@compiled
def excused(
    mixes: FloatArray, counts: FloatArray, weight: FloatArray, slack: FloatArray, batch: FloatArray
) -> FloatArray:
    """(k, m) what each expert is judged by: what it plays, but for the birth value.

    A model that is slightly wrong makes the source look like another mix. So the birth value is judged by what the
    memories and the `batch` itself have found, as far as that is within `slack` of it, and played as it is: only a mix
    that is further away speaks against it. The holdout is worth as many samples as would make a mean of labels as sure
    as `slack`. The batch is looked at beforehand, because the memories had to learn the mix first, which would speak
    for the birth value if the model were right.
    """
    judged = mixes.copy()
    k = len(slack)
    worth, unsure, trusted, size, total = 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(k):
        worth += mixes[c, KNOWN] * (1.0 - mixes[c, KNOWN])
        unsure += slack[c] * slack[c]
    if unsure == 0.0:
        return judged
    worth /= unsure
    found = np.zeros(k)
    for e in range(MEMORIES):
        trusted += weight[e]
    for c in range(k):
        for e in range(MEMORIES):
            found[c] += weight[e] * counts[c, e]
        found[c] = found[c] / trusted + batch[c]
        size += found[c]
    for c in range(k):
        birth = mixes[c, KNOWN]
        mix = (found[c] + worth * birth) / (size + worth)
        judged[c, KNOWN] = max(min(mix, birth + slack[c]), birth - slack[c])
        total += judged[c, KNOWN]
    for c in range(k):
        judged[c, KNOWN] /= total
    return judged


@compiled
def mean(mixes: FloatArray, weight: FloatArray, out: FloatArray) -> None:
    """The class mix that the experts play together."""
    k, m = mixes.shape
    total = 0.0
    for c in range(k):
        out[c] = 0.0
        for e in range(m):
            out[c] += weight[e] * mixes[c, e]
        total += out[c]
    for c in range(k):
        out[c] /= total


@compiled
def _log_mean(weight: FloatArray, logs: FloatArray, first: int, end: int) -> float:
    """Log of the mean of some experts' likelihoods by their weights."""
    top = logs[first:end].max()
    likely, total = 0.0, 0.0
    for e in range(first, end):
        likely += weight[e] * np.exp(logs[e] - top)
        total += weight[e]
    return float(top + np.log(likely / total))


@compiled
def doubted_more(doubt: float, weight: FloatArray, logs: FloatArray) -> float:
    """How much more the latest rounds speak for a mix that is not known, if they do, by Page's cumulative sum.

    Both sides have weight, because a share of it was dealt out to each. A likelihood that vanishes beside that of the
    likeliest mix of its side does not matter.
    """
    new = _log_mean(weight, logs, 0, KNOWN)
    known = _log_mean(weight, logs, KNOWN, EXPERTS)
    return max(0.0, doubt + new - known)


@compiled
def judge(weights: FloatArray, trust: FloatArray, logs: FloatArray) -> None:
    """Bayes' rule for experts, and for shares; `logs` are log-likelihoods up to a constant.

    None of the sums can vanish: a share of each weight, 1 / t or more, was dealt out to all.
    """
    m = len(logs)
    likely = np.exp(logs - logs.max())
    total = 0.0
    for s in range(len(trust)):
        evidence = 0.0
        for e in range(m):
            weights[s, e] *= likely[e]
            evidence += weights[s, e]
        for e in range(m):
            weights[s, e] /= evidence
        trust[s] *= evidence
        total += trust[s]
    for s in range(len(trust)):
        trust[s] /= total


@compiled
def share(weights: FloatArray, trust: FloatArray, made: IntArray, t: int) -> None:
    """Another expert, or another share, may be the best one from now on; t rounds were seen.

    Half of what is dealt out goes to memories, many of which are alike, and half to known mixes: there are fewer.
    """
    known = 1
    for r in range(RECALLED):
        known += made[r, 1] > 0
    rare = 1.0 / (t + 1.0)
    for s in range(len(trust)):
        part = SHARES[s] if SHARES[s] > 0.0 else rare
        for e in range(MEMORIES):
            weights[s, e] = (1.0 - part) * weights[s, e] + 0.5 * part / MEMORIES
        for e in range(KNOWN, EXPERTS):
            weights[s, e] *= 1.0 - part
            if e == KNOWN or made[e - FIRST_RECALLED, 1] > 0:
                weights[s, e] += 0.5 * part / known
        trust[s] = (1.0 - rare) * trust[s] + rare / len(trust)


@compiled
def belongs(weight: FloatArray) -> FloatArray:
    """(RECALLED,) which part of a round belongs to each recalled mix; the rest is the birth value's."""
    part: FloatArray = weight[FIRST_RECALLED:] / weight[KNOWN:].sum()
    return part


@compiled
def remember(counts: FloatArray, found: FloatArray) -> None:
    """Count a round's samples in every memory."""
    for c in range(counts.shape[0]):
        for e in range(MEMORIES):
            counts[c, e] = KEPT[e] * counts[c, e] + found[c]


@compiled
def recognise(
    counts: FloatArray,
    weight: FloatArray,
    doubted: FloatArray,
    doubt: float,
    made: IntArray,
    since: int,
    t: int,
    found: FloatArray,
) -> tuple[float, int]:
    """Count round t's samples in the known mixes they belong to, or as a mix that is not known yet.

    A new mix takes over the weight of the one whose place it takes. Returns how much doubt there is from now on, and
    since which round.
    """
    k = len(found)
    if doubt == 0.0:
        # Nothing new, and the rounds in doubt before this one are of no mix for certain.
        part = belongs(weight)
        for c in range(k):
            doubted[c] = 0.0
            for r in range(RECALLED):
                counts[c, FIRST_RECALLED + r] += part[r] * found[c]
        return 0.0, t + 1
    for c in range(k):
        doubted[c] += found[c]
    if doubt < ENOUGH:
        return doubt, since
    place = _least_used(counts, made, t)
    made[place, 0], made[place, 1] = since, t
    e = FIRST_RECALLED + place
    for c in range(k):
        counts[c, e], doubted[c] = doubted[c], 0.0
    return 0.0, t + 1


@compiled
def _least_used(counts: FloatArray, made: IntArray, t: int) -> int:
    """The place for one more mix: a free one, or that of the mix with the fewest samples for every round since."""
    place, fewest = 0, np.inf
    for r in range(RECALLED):
        if made[r, 1] == 0:
            return r
        used = counts[:, FIRST_RECALLED + r].sum() / (t - made[r, 1] + 1)
        if used < fewest:
            place, fewest = r, used
    return place


@compiled
def pass_by(
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    made: IntArray,
    rounds: IntArray,
    rows: IntArray,
    gone: IntArray,
) -> None:
    """Let rounds without samples go by for some keys: memories fade, and another expert may have become the best one.

    After `_DEALT` rounds all weights are as they will be, but for shares of 1 / t.
    """
    for j in range(len(rows)):
        row, n = rows[j], gone[j]
        if rounds[row, 0] == 0:
            continue  # nothing is known that could fade
        for _ in range(min(n, _DEALT)):
            rounds[row, 0] += 1
            share(weights[row], trust[row], made[row], rounds[row, 0])
        rounds[row, 0] += max(n - _DEALT, 0)
        for c in range(counts.shape[1]):
            for e in range(MEMORIES):
                counts[row, c, e] *= KEPT[e] ** n
