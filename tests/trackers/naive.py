"""Plain transcriptions of the trackers, straight from the text, one Python statement per line of pseudo-code.

They recompute everything from the list of sightings, so that they share no idea with the library's kernels.
"""

import math


def _mean(vectors):
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def _mix(weights, vectors):
    return [sum(w * v[c] for w, v in zip(weights, vectors, strict=True)) for c in range(len(vectors[0]))]


def _squared_distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def follow_the_history(sightings, birth):
    """Predictions of rounds 1..T+1."""
    return [_mean(sightings[:t]) if t else list(birth) for t in range(len(sightings) + 1)]


def follow_the_fixed_window(sightings, birth, window):
    """Predictions of rounds 1..T+1."""
    return [_mean(sightings[max(0, t - window) : t]) if t else list(birth) for t in range(len(sightings) + 1)]


def last_sighting(sightings, birth):
    """Predictions of rounds 1..T+1."""
    return [list(sightings[t - 1]) if t else list(birth) for t in range(len(sightings) + 1)]


def flhftl_start(sightings, birth, rate):
    """Predictions of rounds 1..T+1 by Algorithm "FLH-FTL", its lines in order."""
    z = {t + 1: list(s) for t, s in enumerate(sightings)}  # z_1 .. z_T
    v = {1: 1.0}  # line 3
    plays = []

    def expert(j, t):  # line 4
        return _mean([z[i] for i in range(j, t)]) if t > j else list(birth)

    for t in range(1, len(sightings) + 2):
        x = {j: expert(j, t) for j in range(1, t + 1)}  # line 5
        plays.append(_mix([v[j] for j in x], [x[j] for j in x]))
        if t > len(sightings):
            break
        raw = {j: v[j] * math.exp(-rate * _squared_distance(x[j], z[t])) for j in x}  # line 6
        total = sum(raw.values())
        v = {j: (1 - 1 / (t + 1)) * raw[j] / total for j in raw}  # line 7
        v[t + 1] = 1 / (t + 1)
    return plays


def flhftl_window(sightings, birth, rate):
    """Predictions of rounds 1..T+1 by the variant whose weights belong to window lengths."""
    plays = [list(birth)]
    weights = []  # weights[i] is that of the mean of the last i + 1 sightings
    for t, s in enumerate(sightings):
        seen = sightings[:t]
        for i in range(t - 1):  # all but the longest of the t windows
            weights[i] *= math.exp(-rate * _squared_distance(_mean(seen[t - i - 1 :]), s))
        total = sum(weights)
        weights = [w / total * t / (t + 1) for w in weights] + [1 / (t + 1)]
        seen = sightings[: t + 1]
        plays.append(_mix(weights, [_mean(seen[t - i :]) for i in range(t + 1)]))
    return plays
