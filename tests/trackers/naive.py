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


def online_gradient_descent(sightings, birth, step):
    """Predictions of rounds 1..T+1; `step(t)` is the step size of round t."""
    x, plays = list(birth), [list(birth)]
    for t, z in enumerate(sightings, start=1):
        gradient = [2 * (a - b) for a, b in zip(x, z, strict=True)]
        x = [a - step(t) * g for a, g in zip(x, gradient, strict=True)]
        plays.append(x)
    return plays


def aligator(sightings, birth, rate):
    """Predictions of rounds 1..T+1: every interval of the cover is written down before the first round."""
    T = len(sightings) + 1
    cover = [(i * 2**j, (i + 1) * 2**j - 1) for j in range(T.bit_length() + 1) for i in range(1, T // 2**j + 1)]

    def average(interval, t, c):
        seen = [sightings[s - 1][c] for s in range(interval[0], t)]
        return sum(seen) / len(seen) if seen else birth[c]

    plays = [[0.0] * len(birth) for _ in range(T)]
    for c in range(len(birth)):  # one instance per class
        weight = {interval: 1 / len(cover) for interval in cover}
        for t in range(1, T + 1):
            awake = [interval for interval in cover if interval[0] <= t <= interval[1]]
            mass = sum(weight[a] for a in awake)
            plays[t - 1][c] = sum(weight[a] * average(a, t, c) for a in awake) / mass
            if t == T:
                break
            judged = {a: weight[a] * math.exp(-rate * (average(a, t, c) - sightings[t - 1][c]) ** 2) for a in awake}
            scale = mass / sum(judged.values())
            weight.update({a: judged[a] * scale for a in awake})
    return plays


def haar(values):
    """Orthonormal Haar coefficients of 2^L numbers: a list of (block size, block start, coefficient)."""
    found, size = [], 2
    while size <= len(values):
        for start in range(0, len(values), size):
            left = sum(values[start : start + size // 2])
            right = sum(values[start + size // 2 : start + size])
            found.append((size, start, (left - right) / math.sqrt(size)))
        size *= 2
    return found


def arrows(sightings, birth, sigma=None, beta=3.0, horizon=None):
    """Predictions of rounds 1..T+1, and the rounds after which each class left its bin."""
    plays = [[0.0] * len(birth) for _ in range(len(sightings) + 1)]
    restarts = []
    for c in range(len(birth)):
        y = [birth[c]] + [z[c] for z in sightings]  # y_0 is the birth value
        noise, threshold = {}, {}
        for t in range(1, len(y)):
            squares = [(y[s] - y[s - 1]) ** 2 for s in range(2, t + 1)]
            noise[t] = sigma if sigma is not None else math.sqrt(sum(squares) / len(squares) / 2) if squares else 0.0
            n = horizon if horizon is not None else max(64, 2 ** math.ceil(math.log2(t)))
            threshold[t] = noise[t] * math.sqrt(beta * math.log(n))
        t_h, new_bin = 1, True  # step 1
        for t in range(1, len(y) + 1):  # step 2
            plays[t - 1][c] = y[t - 1] if new_bin else sum(y[t_h:t]) / (t - t_h)  # steps 3 and 4
            if t == len(y):
                break
            new_bin = False  # step 5: y_t is seen
            values = y[t_h : t + 1]
            mean = sum(values) / len(values)
            padded = 1
            while padded < len(values):
                padded *= 2
            centred = [v - mean for v in values] + [0.0] * (padded - len(values))  # step 6
            statistic = 0.0
            for size, start, coefficient in haar(centred):  # step 7
                # A block that is full was judged in the round that filled it.
                judged = min(t, t_h + start + size - 1)
                shrunk = max(abs(coefficient) - threshold[judged], 0.0)
                level = math.log2(padded / size)
                statistic += 2 ** (level / 2) * shrunk
            if statistic / math.sqrt(padded) > noise[t] / math.sqrt(padded) + 1e-12 * abs(y[t]):  # step 8
                new_bin, t_h = True, t + 1
                restarts.append((t, c))
    return plays, sorted(restarts)


def lpa(sightings, birth, make, limit, *, born_at_sightings=True):
    """Predictions of rounds 1..T+1 by Algorithm "LPA", its lines in order, and the rounds with a change.

    `make(birth)` is a new ALG; `limit(t, b, sightings)` the threshold of line 5 in round t.
    """
    z = {t + 1: list(s) for t, s in enumerate(sightings)}
    prev, b = list(birth), 1  # line 1
    alg, estimate, plays, changes = make(birth), {}, [], []
    for t in range(1, len(sightings) + 1):
        estimate[t] = list(alg.predict())  # line 2
        plays.append(prev)  # line 3
        if t == 1 and born_at_sightings:
            alg = make(z[1])
        statistic = sum(_squared_distance(prev, estimate[j]) for j in range(b + 1, t + 1))
        if statistic > limit(t, b, z):  # line 5
            changes.append(t)
            b, prev = t + 1, z[t]  # line 6
            alg = make(z[t] if born_at_sightings else birth)  # line 7
        elif math.log2(t - b + 1).is_integer():  # line 8
            prev = _mean([z[j] for j in range(b, t + 1)])  # line 9
        alg.update(z[t])  # line 11
    return [*plays, prev], changes
