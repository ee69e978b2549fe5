"""Compiled work of the likelihood mixture on its experts: what they play, how they are weighed, what they remember.

The experts are the last, contiguous axis of every array, so that the inner loops run over several of them at a time.
First come those that forget at different speeds; then those that play a mix known from before: the birth value, and
mixes that lasted for a while, which may come back.
"""

import numpy as np

from baserate.compiled import compiled, compiled_within
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
_KEPT_BY_ALL = np.append(KEPT, np.ones(EXPERTS - MEMORIES))  # only memories fade

_FLOOR = 1e-6  # a class that the birth value rules out may come all the same
_ROUNDING = 1e-12  # of log-likelihoods


# A round of one key is worked out in three tables that are made once for many keys, as making arrays takes longer than
# filling them: `mixes`, (k, m), is what each expert plays or is judged by; `room`, a row of m numbers for each of:
WEIGHT, LIKELY, HELD, ONE, OTHER = range(5)
"""The weight of each expert whatever the share; the likelihood of the batch under it, up to a factor; which part of a
sample it counts; what lasts no longer than a call, twice."""
# and `classes`, a row of k numbers for each of:
BIRTH, TOGETHER, FOUND, SPARE = range(4)
"""What the birth value's expert plays; what all play together; how many samples of each class there are; what lasts no
longer than a call."""
# They are handed from function to function as they are, because a part of an array, or a tuple of arrays, would be
# counted by numba wherever it is named. Loops go over `m`, read from a table, and not over the constant `EXPERTS`: one
# of few turns, known beforehand, is written out turn by turn, and not for several experts at a time.


@compiled
def make_room(k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Room to work in: the tables `mixes`, `room` and `classes`."""
    return np.empty((k, EXPERTS)), np.empty((5, EXPERTS)), np.empty((4, k))


@compiled_within
def _play(birth: FloatArray, counts: FloatArray, mixes: FloatArray, room: FloatArray, classes: FloatArray) -> None:
    """What each expert plays: its counts and one sample's worth of the birth value, or the birth value."""
    m = room.shape[1]
    k = len(birth)
    total = 0.0
    for c in range(k):
        classes[BIRTH, c] = max(birth[c], _FLOOR)
        total += classes[BIRTH, c]
    total = 1.0 / total
    for e in range(m):
        room[ONE, e] = 1.0
    for c in range(k):
        classes[BIRTH, c] *= total
        for e in range(m):
            room[ONE, e] += counts[c, e]
    for e in range(m):
        room[ONE, e] = 1.0 / room[ONE, e]
    # The birth value's expert counts nothing, so that this is the birth value for it.
    for c in range(k):
        pseudo = classes[BIRTH, c]
        for e in range(m):
            mixes[c, e] = (counts[c, e] + pseudo) * room[ONE, e]


@compiled_within
def _say(weights: FloatArray, trust: FloatArray, room: FloatArray) -> None:
    """The weight of each expert, whatever the share."""
    m = room.shape[1]
    a, b, c = trust[0], trust[1], trust[2]
    for e in range(m):
        room[WEIGHT, e] = a * weights[0, e] + b * weights[1, e] + c * weights[2, e]


@compiled
def plays(birth: FloatArray, counts: FloatArray) -> FloatArray:
    """(k, m) what each expert plays."""
    mixes, room, classes = make_room(len(birth))
    _play(birth, counts, mixes, room, classes)
    return mixes


@compiled
def say(weights: FloatArray, trust: FloatArray) -> FloatArray:
    """(m,) the weight of each expert, whatever the share."""
    room = np.empty((1, EXPERTS))
    _say(weights, trust, room)
    weight: FloatArray = room[WEIGHT]
    return weight


@compiled_within
def begin(
    birth: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    mixes: FloatArray,
    room: FloatArray,
    classes: FloatArray,
) -> None:
    """What the experts of a key play, and their weights."""
    _play(birth, counts, mixes, room, classes)
    _say(weights, trust, room)


@compiled_within
def _sums(table: FloatArray, room: FloatArray, by: int, out: FloatArray, to: int) -> None:
    """Sum the rows of a table over experts, by a row of `room`; the sums become a row of `out`.

    One term after the other would wait for each addition. Here the same additions are made on every machine, and
    neighbouring ones at the same time where it can do so.
    """
    n = room.shape[1] // 4
    for row in range(len(table)):
        for i in range(n):
            room[OTHER, i] = (room[by, i] * table[row, i] + room[by, n + i] * table[row, n + i]) + (
                room[by, 2 * n + i] * table[row, 2 * n + i] + room[by, 3 * n + i] * table[row, 3 * n + i]
            )
        total = 0.0
        for i in range(n):
            total += room[OTHER, i]
        out[to, row] = total


@compiled_within
def mean(mixes: FloatArray, room: FloatArray, classes: FloatArray) -> None:
    """The class mix that the experts play together."""
    k = len(mixes)
    _sums(mixes, room, WEIGHT, classes, TOGETHER)
    total = 0.0
    for c in range(k):
        total += classes[TOGETHER, c]
    total = 1.0 / total
    for c in range(k):
        classes[TOGETHER, c] *= total


@compiled_within
def tolerate(counts: FloatArray, margin: FloatArray, mixes: FloatArray, room: FloatArray, classes: FloatArray) -> None:
    """Judge each expert by what it plays, but for the birth value.

    A model that is slightly wrong makes the source look like another mix. So the birth value is judged by what the
    memories and the batch itself have found, as far as that is within `margin` of it, and played as it is: only a mix
    that is further away speaks against it. The holdout is worth as many samples as would make a mean of labels as sure
    as `margin`. The batch is looked at beforehand, because the memories had to learn the mix first, which would speak
    for the birth value if the model were right.
    """
    m = room.shape[1]
    k = len(margin)
    worth, unsure, trusted, size, total = 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(k):
        worth += classes[BIRTH, c] * (1.0 - classes[BIRTH, c])
        unsure += margin[c] * margin[c]
    if unsure == 0.0:
        return
    worth /= unsure
    for e in range(m):
        room[ONE, e] = room[WEIGHT, e] if e < MEMORIES else 0.0
    for e in range(MEMORIES):
        trusted += room[WEIGHT, e]
    _sums(counts, room, ONE, classes, SPARE)
    trusted = 1.0 / trusted
    for c in range(k):
        classes[SPARE, c] = classes[SPARE, c] * trusted + classes[FOUND, c]
        size += classes[SPARE, c]
    size = 1.0 / (size + worth)
    for c in range(k):
        birth = classes[BIRTH, c]
        mix = (classes[SPARE, c] + worth * birth) * size
        classes[SPARE, c] = max(min(mix, birth + margin[c]), birth - margin[c])
        total += classes[SPARE, c]
    total = 1.0 / total
    for c in range(k):
        mixes[c, KNOWN] = classes[SPARE, c] * total


@compiled_within
def end_tolerance(mixes: FloatArray, classes: FloatArray) -> None:
    """Let the birth value's expert play it again."""
    for c in range(len(mixes)):
        mixes[c, KNOWN] = classes[BIRTH, c]


@compiled_within
def compare(logs: FloatArray, room: FloatArray) -> None:
    """Likelihoods from their logarithms, as parts of the greatest that counts: who has no weight may have any."""
    m = room.shape[1]
    top = -np.inf
    for e in range(m):
        if room[WEIGHT, e] > 0.0:
            top = max(top, logs[e])
    for e in range(m):
        room[LIKELY, e] = np.exp(min(logs[e] - top, 0.0))


@compiled_within
def doubted_more(doubt: float, room: FloatArray) -> float:
    """How much more the latest rounds speak for a mix that is not known, if they do, by Page's cumulative sum.

    Both sides have weight, because a share of it was dealt out to each. One side's likelihoods may all vanish beside
    the other's: then there is no doubt, or more than enough.
    """
    new, known, new_weight, known_weight = 0.0, 0.0, 0.0, 0.0
    for e in range(KNOWN):
        new += room[WEIGHT, e] * room[LIKELY, e]
        new_weight += room[WEIGHT, e]
    for e in range(KNOWN, EXPERTS):
        known += room[WEIGHT, e] * room[LIKELY, e]
        known_weight += room[WEIGHT, e]
    ahead = np.log((new / new_weight) / (known / known_weight))
    # Experts that play the same, as all do in the first round, may differ by rounding: that is no doubt.
    return float(max(0.0, doubt + ahead)) if abs(ahead) > _ROUNDING else doubt


@compiled_within
def judge(weights: FloatArray, trust: FloatArray, room: FloatArray) -> None:
    """Bayes' rule for experts, and for shares; gives the experts' weights whatever the share, too.

    None of the sums can vanish: a share of each weight, 1 / t or more, was dealt out to all.
    """
    m = room.shape[1]
    total = 0.0
    _sums(weights, room, LIKELY, room, ONE)
    for s in range(len(trust)):
        evidence = room[ONE, s]
        scale = 1.0 / evidence
        for e in range(m):
            weights[s, e] *= room[LIKELY, e] * scale
        trust[s] *= evidence
        total += trust[s]
    for s in range(len(trust)):
        trust[s] /= total
    _say(weights, trust, room)


@compiled_within
def share(weights: FloatArray, trust: FloatArray, made: IntArray, t: int, room: FloatArray) -> None:
    """Another expert, or another share, may be the best one from now on; t rounds were seen.

    Half of what is dealt out goes to memories, many of which are alike, and half to known mixes: there are fewer.
    """
    m = room.shape[1]
    known = 1
    for r in range(RECALLED):
        known += made[r, 1] > 0
    for e in range(MEMORIES):
        room[ONE, e] = 0.5 / MEMORIES
    room[ONE, KNOWN] = 0.5 / known
    for r in range(RECALLED):
        room[ONE, FIRST_RECALLED + r] = 0.5 / known if made[r, 1] > 0 else 0.0
    rare = 1.0 / (t + 1.0)
    for s in range(len(trust)):
        part = SHARES[s] if SHARES[s] > 0.0 else rare
        for e in range(m):
            weights[s, e] = (1.0 - part) * weights[s, e] + part * room[ONE, e]
        trust[s] = (1.0 - rare) * trust[s] + rare / len(trust)


@compiled_within
def belongs(doubt: float, room: FloatArray) -> None:
    """Which part of a round's samples each expert counts: memories all, known mixes theirs, if there is no doubt.

    The birth value's own part is counted by nobody.
    """
    known = 0.0
    for e in range(KNOWN, EXPERTS):
        known += room[WEIGHT, e]
    known = 1.0 / known if doubt == 0.0 else 0.0
    for e in range(MEMORIES):
        room[HELD, e] = 1.0
    room[HELD, KNOWN] = 0.0
    for e in range(FIRST_RECALLED, EXPERTS):
        room[HELD, e] = room[WEIGHT, e] * known


@compiled_within
def remember(counts: FloatArray, room: FloatArray, classes: FloatArray) -> None:
    """Count a round's samples, as far as each expert does."""
    m = room.shape[1]
    for c in range(len(counts)):
        found = classes[FOUND, c]
        for e in range(m):
            counts[c, e] = _KEPT_BY_ALL[e] * counts[c, e] + room[HELD, e] * found


@compiled_within
def recognise(
    counts: FloatArray, doubted: FloatArray, doubt: float, made: IntArray, since: int, t: int, classes: FloatArray
) -> tuple[float, int]:
    """Count round t's samples as a mix that is not known yet, if they may be; if that is certain, it becomes known.

    A new mix takes over the weight of the one whose place it takes. Returns how much doubt there is from now on, and
    since which round.
    """
    k = len(doubted)
    if doubt == 0.0:
        for c in range(k):
            doubted[c] = 0.0  # the rounds in doubt before this one are of no mix for certain
        return 0.0, t + 1
    for c in range(k):
        doubted[c] += classes[FOUND, c]
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
        used = 0.0
        for c in range(len(counts)):
            used += counts[c, FIRST_RECALLED + r]
        used /= t - made[r, 1] + 1
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
    room = make_room(counts.shape[1])[1]
    for j in range(len(rows)):
        row, n = rows[j], gone[j]
        if rounds[row, 0] == 0:
            continue  # nothing is known that could fade
        for _ in range(min(n, _DEALT)):
            rounds[row, 0] += 1
            share(weights[row], trust[row], made[row], rounds[row, 0], room)
        rounds[row, 0] += max(n - _DEALT, 0)
        for c in range(counts.shape[1]):
            for e in range(MEMORIES):
                counts[row, c, e] *= KEPT[e] ** n
