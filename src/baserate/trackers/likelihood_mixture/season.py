"""Seasons of the likelihood mixture: class mixes that come back after a fixed number of rounds (compiled).

Where rounds are hours or days, the class mix has its weekdays and its nights. The number of rounds after which it comes
back, the *period*, is found by comparing each round with those before it, and the mean class mix of each of its rounds
is kept, the *profile*. Three arms are then weighted by likelihood: the forecast without a season, the profile, and the
forecast moved by what the profile changes from one round to the next.
"""

import functools

import numpy as np

from baserate.compiled import compiled, compiled_part, compiled_within
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trackers.likelihood_mixture.experts import COUNT, MIXTURE, SPARE
from baserate.trackers.likelihood_mixture.runs import FULL

SPAN = 64
"""Longest period, in rounds."""
PLAIN, LEVEL, MOVED = range(3)
"""The arms: the forecast without a season, the profile, and the forecast moved as the profile moves."""
START = np.array([0.98, 0.01, 0.01])
"""Weights of the arms at first."""
MISSING = 9.0
"""Stands in the place of a round without samples."""

_DIRECTIONS = 4  # in which rounds are compared, or two for five classes
_GOLDEN_ANGLE = 2.399963229728653
_CHANGES = 0.0001  # probability per round that another arm becomes the best one
_PERIODIC = 0.5  # rounds that are a period apart differ by at most this part of what neighbours within it differ by
_BETTER = 0.9  # a period replaces another one if they differ by at most this part of what they do there
_MULTIPLE = 1.5  # a part of a period is the period, if they differ by at most so many times as much there
_SEEN = 2.5  # periods that must have passed
_EARLIEST = 20  # rounds that must have passed
_ALIKE = 1e-12  # squared distance of rounds that are the same; zero stands for none that were compared
_COMPARED = 0.01  # weight of the newest comparison, at least
_NEWEST = 0.02  # weight of the newest round in the profile, at least
_DOUBT = 0.5  # samples' worth of the forecast without a season in the profile, in visits
_CLEAR = 4.0  # the profile moves the forecast if its change is so many times what chance makes of it, squared
_LEAST = 0.02  # least share of a class after a move, divided by the number of classes
_FAR = 1e100


@functools.lru_cache
def directions(k: int) -> FloatArray:
    """Return directions in the simplex, orthonormal, (d, k): rounds are compared by what they contain of these.

    There are fewer than classes, because what every round contains of them is kept.
    """
    found: list[FloatArray] = []
    for j in range(1, 1 + min(max(_DIRECTIONS, 2 * k // 5), k - 1) if k <= FULL else 2):
        new = np.cos(np.arange(1, k + 1) * _GOLDEN_ANGLE * j)
        new -= new.mean()
        for other in found:
            new -= (new * other).sum() * other
        found.append(new / np.sqrt((new * new).sum()))
    out = np.array(found)
    out.setflags(write=False)
    return out


@compiled_within
def visits(season: IntArray, t: int) -> tuple[float, float]:
    """Return how often the profile has seen the place of round t in the period, t not included, and that before it."""
    period, since = season[0], season[1]
    most = 1.0 / _NEWEST
    return min(1.0 + (t - 1 - since) // period, most), min(1.0 + (t - 2 - since + period) // period, most)


@compiled_part
def forecast(
    seasons: FloatArray, season: IntArray, across: FloatArray, t: int, per_class: FloatArray, plays: FloatArray
) -> bool:
    """Set the class mixes that the arms predict for round t; returns whether the profile moves the forecast.

    The row `MIXTURE` holds the forecast without a season.
    """
    k, period = plays.shape[1], season[0]
    now, before = t % period, (t - 1) % period
    seen, seen_before = visits(season, t)
    change, total = 0.0, 0.0
    for d in range(len(across)):
        part = 0.0
        for c in range(k):
            part += across[d, c] * (seasons[now, c] - seasons[before, c])
        change += part * part
    by_chance = 0.5 * seasons[period - 1, k + len(across)] * (1.0 / seen + 1.0 / seen_before)
    moves: bool = change > _CLEAR * by_chance
    level = 0.0
    for c in range(k):
        q = per_class[MIXTURE, c]
        plays[PLAIN, c] = q
        plays[LEVEL, c] = max((seen * seasons[now, c] + _DOUBT * q) / (seen + _DOUBT), 1e-6 / k)
        plays[MOVED, c] = max(q + seasons[now, c] - seasons[before, c], _LEAST / k) if moves else q
        level += plays[LEVEL, c]
        total += plays[MOVED, c]
    for c in range(k):
        plays[LEVEL, c] /= level
        plays[MOVED, c] /= total
    return moves


@compiled_within
def blend(arms: FloatArray, plays: FloatArray, per_class: FloatArray) -> None:
    """Replace the row `MIXTURE` by the mean of the arms."""
    for c in range(plays.shape[1]):
        per_class[MIXTURE, c] = (
            arms[PLAIN] * plays[PLAIN, c] + arms[LEVEL] * plays[LEVEL, c] + arms[MOVED] * plays[MOVED, c]
        )


@compiled_within
def _judge(
    arms: FloatArray,
    known: FloatArray,
    together: float,
    plays: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    moves: bool,
    per_class: FloatArray,
) -> None:
    """Weigh the arms by the likelihood of the samples `first` to `end`; the row `SPARE` counts them by the profile.

    `together` is the log-likelihood of all samples under the experts without a season, each judged by all of them. The
    weights `known` compare the other arms with it: they are for samples that have been seen, from which the experts
    have learned.
    """
    k = plays.shape[1]
    alone, level, moved, by_plain, by_level, by_moved = 0.0, 0.0, 0.0, 1.0, 1.0, 1.0
    for c in range(k):
        per_class[SPARE, c] = 0.0
    for i in range(first, end):
        if len(labels) == 0 or labels[i] == UNLABELLED:
            plain, share, other = 0.0, 0.0, 0.0
            for c in range(k):
                likelihood = proba[i, c] * inverse[c]
                plain += plays[PLAIN, c] * likelihood
                share += plays[LEVEL, c] * likelihood
                if moves:
                    other += plays[MOVED, c] * likelihood
            part = 1.0 / share
            for c in range(k):
                per_class[SPARE, c] += plays[LEVEL, c] * (proba[i, c] * inverse[c]) * part
        else:
            y = labels[i]
            plain, share, other = plays[PLAIN, y], plays[LEVEL, y], plays[MOVED, y]
            per_class[SPARE, y] += 1.0
        by_plain *= plain
        by_level *= share / plain
        if moves:
            by_moved *= other / plain
        if not 1.0 / _FAR < by_plain < _FAR:
            alone += np.log(by_plain)
            by_plain = 1.0
        if not (1.0 / _FAR < by_level < _FAR and 1.0 / _FAR < by_moved < _FAR):
            level += np.log(by_level)
            moved += np.log(by_moved)
            by_level = by_moved = 1.0
    level, moved, learned = level + np.log(by_level), moved + np.log(by_moved), together - alone - np.log(by_plain)
    _weigh(arms, level, moved)
    _weigh(known, level - learned, moved - learned)


@compiled_within
def _weigh(arms: FloatArray, level: float, moved: float) -> None:
    """Apply Bayes' rule to log-likelihoods beside that of the first arm, and allow for a change of the best one."""
    top = max(0.0, level, moved)
    a, b, c = arms[0] * np.exp(-top), arms[1] * np.exp(level - top), arms[2] * np.exp(moved - top)
    total = a + b + c
    for e, weight in enumerate((a, b, c)):
        arms[e] = (1.0 - _CHANGES) * weight / total + _CHANGES * START[e]


@compiled_part
def observe(
    seasons: FloatArray,
    season: IntArray,
    arms: FloatArray,
    known: FloatArray,
    together: float,
    across: FloatArray,
    t: int,
    plays: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    moves: bool,
    per_class: FloatArray,
) -> None:
    """Learn from round t, whose counts without a season are in the row `COUNT`."""
    if season[0] > 0:
        _judge(arms, known, together, plays, proba, inverse, labels, first, end, moves, per_class)
        for c in range(plays.shape[1]):
            per_class[COUNT, c] += arms[LEVEL] * (per_class[SPARE, c] - per_class[COUNT, c])
    remember(seasons, season, across, t, 1.0 / (end - first), per_class)


@compiled_part
def observe_frequencies(
    seasons: FloatArray,
    season: IntArray,
    arms: FloatArray,
    known: FloatArray,
    together: float,
    across: FloatArray,
    t: int,
    plays: FloatArray,
    per_class: FloatArray,
) -> None:
    """Learn from round t, whose class frequencies are in the row `COUNT`."""
    if season[0] > 0:
        level, moved, learned = 0.0, 0.0, together
        for c in range(plays.shape[1]):
            level += per_class[COUNT, c] * np.log(plays[LEVEL, c] / plays[PLAIN, c])
            moved += per_class[COUNT, c] * np.log(plays[MOVED, c] / plays[PLAIN, c])
            learned -= per_class[COUNT, c] * np.log(plays[PLAIN, c])
        _weigh(arms, level, moved)
        _weigh(known, level - learned, moved - learned)
    remember(seasons, season, across, t, 1.0, per_class)


@compiled_within
def remember(
    seasons: FloatArray, season: IntArray, across: FloatArray, t: int, scale: float, per_class: FloatArray
) -> None:
    """Compare round t with those before it, and add its class shares, the row `COUNT` times `scale`, to the profile."""
    k, m, span = per_class.shape[1], len(across), len(seasons)
    apart, slot = k + m, t % span
    shares, relative = np.empty(m), np.ones(span + 1)
    for d in range(m):
        shares[d] = 0.0
        for c in range(k):
            shares[d] += across[d, c] * per_class[COUNT, c] * scale
    period, best, total, compared = season[0], 0, 0.0, t - season[2]
    for lag in range(1, min(span, compared - 1) + 1):
        other = (t - lag) % span
        if seasons[other, k] != MISSING:
            distance = _ALIKE
            for d in range(m):
                distance += (shares[d] - seasons[other, k + d]) ** 2
            newest = max(_COMPARED, 1.0 / (compared - lag)) if seasons[lag - 1, apart] > 0.0 else 1.0
            seasons[lag - 1, apart] += newest * (distance - seasons[lag - 1, apart])
        total += seasons[lag - 1, apart]
        if seasons[lag - 1, apart] > 0.0:
            relative[lag] = seasons[lag - 1, apart] * lag / total
        if lag > 1 and compared >= max(_SEEN * lag, _EARLIEST) and (best == 0 or relative[lag] < relative[best]):
            best = lag
    for parts in range(2, best // 2 + 1):
        if best % parts == 0 and relative[best // parts] <= _MULTIPLE * relative[best]:
            best //= parts
            break
    for d in range(m):
        seasons[slot, k + d] = shares[d]
    newest, within = (max(_NEWEST, 1.0 / (1.0 + visits(season, t)[0])), period) if period > 0 else (1.0, span)
    for c in range(k):
        seasons[t % within, c] += newest * (per_class[COUNT, c] * scale - seasons[t % within, c])
    if best == period or relative[best] >= _PERIODIC:
        return
    if period == 0 or period % best == 0 or relative[best] < _BETTER * relative[period]:
        _adopt(seasons, season, t, best, k)


@compiled_within
def _adopt(seasons: FloatArray, season: IntArray, t: int, period: int, k: int) -> None:
    """Begin a profile of another period with the latest round at each of its places."""
    within = season[0] if season[0] > 0 else len(seasons)
    profile = np.empty((period, k))
    for lag in range(period):
        for c in range(k):
            profile[(t - lag) % period, c] = seasons[(t - lag) % within, c]
    for place in range(period):
        for c in range(k):
            seasons[place, c] = profile[place, c]
    season[0], season[1] = period, t


@compiled_part
def skip(seasons: FloatArray, season: IntArray, k: int, t: int) -> None:
    """Let round t pass without samples; after a span of them, comparisons begin anew."""
    span, missing = len(seasons), 0
    seasons[t % span, k] = MISSING
    if season[0] == 0:
        for c in range(k):
            seasons[t % span, c] = seasons[(t - 1) % span, c]
    for place in range(span):
        missing += seasons[place, k] == MISSING
    if missing == span:
        season[2] = t
        for lag in range(1, span + 1):
            if lag != season[0]:  # of which the forecast makes use
                seasons[lag - 1, -1] = 0.0
    if season[0] > 0:
        season[1] += 1  # nothing was seen of the profile


@compiled
def plays_of(
    seasons: FloatArray, season: IntArray, across: FloatArray, t: int, plain: FloatArray
) -> tuple[FloatArray, bool, float]:
    """Return the class mixes that the arms predict for round t, (3, k), whether the profile moves it, and its visits.

    `plain` is the forecast without a season, and there is one.
    """
    per_class, plays = np.empty((MIXTURE + 1, len(plain))), np.empty((3, len(plain)))
    for c in range(len(plain)):
        per_class[MIXTURE, c] = plain[c]
    moves = forecast(seasons, season, across, t, per_class, plays)
    return plays, moves, visits(season, t)[0]


@compiled
def settled(
    seasons: FloatArray,
    seasonal: IntArray,
    known: FloatArray,
    rounds: IntArray,
    keys: IntArray,
    moved: FloatArray,
    moves: bool,
    mixes: FloatArray,
) -> FloatArray:
    """Return the class mix of the round that some keys have just seen, one row for each.

    `mixes` are those without a season now, and `moved` is what the profile made of the forecast of the round.
    """
    out = np.empty_like(mixes)
    for j in range(len(keys)):
        row = keys[j]
        t = rounds[row, 0]
        place, seen = t % seasonal[row, 0], min(visits(seasonal[row], t)[0] + 1.0, 1.0 / _NEWEST)
        for c in range(mixes.shape[1]):
            plain = mixes[j, c]
            level = (seen * seasons[row, place, c] + _DOUBT * plain) / (seen + _DOUBT)
            out[j, c] = (
                known[row, PLAIN] * plain
                + known[row, LEVEL] * level
                + known[row, MOVED] * (moved[c] if moves else plain)
            )
    return out
