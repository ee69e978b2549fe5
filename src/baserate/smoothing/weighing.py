"""Weights of the windows of each round, by how well they foretell rounds that they leave out (compiled).

Which window is best changes over the rounds: a hidden Markov model, solved forward and backward over all of them.
"""

import numpy as np

from baserate.compiled import compiled, compiled_within
from baserate.protocols import FloatArray, IntArray
from baserate.smoothing.windows import likeliest, log_likelihood

_TEMPER = 0.5  # where each of two rounds foretells the other, what they have in common is counted twice


@compiled_within
def _window(
    t: int,
    before: int,
    after: int,
    scores: FloatArray,
    path: FloatArray,
    sizes: FloatArray,
    score: FloatArray,
    mean: FloatArray,
    size: FloatArray,
) -> None:
    """Write the sums over a window of round t into `score`, `mean` and `size`."""
    first, last = max(0, t - before), min(len(sizes) - 1, t + 1 + after)
    for c in range(len(score)):
        score[c] = scores[last, c] - scores[first, c]
        mean[c] = path[last, c] - path[first, c]
    size[0], size[1] = sizes[last, 0] - sizes[first, 0], sizes[last, 1] - sizes[first, 1]


@compiled
def judge(
    first: int,
    logs: FloatArray,
    likelihoods: FloatArray,
    starts: IntArray,
    scores: FloatArray,
    path: FloatArray,
    sizes: FloatArray,
    half_scores: FloatArray,
    half_sizes: FloatArray,
    grid: IntArray,
    known: FloatArray,
    source_like: FloatArray,
    values: FloatArray,
    vectors: FloatArray,
    birth: FloatArray,
) -> None:
    """Write the tempered log-likelihoods of rounds under each window without them, and each known mix, into `logs`.

    A window of one round is judged on each half of its samples by the other half. Known mix 0 is the source prior;
    it is judged by `source_like`, the mean of the reference path where it is within the margin of it.
    """
    n_grid, k = len(grid), scores.shape[1]
    score, mean, size = np.empty(k), np.empty(k), np.empty(2)
    mix, work = np.empty(k), np.empty(k)
    for row in range(len(logs)):
        t = first + row
        start, stop = starts[t], starts[t + 1]
        for i in range(n_grid):
            for j in range(n_grid):
                _window(t, grid[i], grid[j], scores, path, sizes, score, mean, size)
                for c in range(k):
                    score[c] -= scores[t + 1, c] - scores[t, c]
                    mean[c] -= path[t + 1, c] - path[t, c]
                size[0] -= sizes[t + 1, 0] - sizes[t, 0]
                size[1] -= sizes[t + 1, 1] - sizes[t, 1]
                likeliest(score, mean, size[0], size[1], values, vectors, birth, work, mix)
                logs[row, i * n_grid + j] = _TEMPER * log_likelihood(likelihoods, start, stop, 1, mix)
        if stop - start > 1:
            log = 0.0
            for half in range(2):  # 0: the even samples foretell the odd ones
                for c in range(k):
                    own = scores[t + 1, c] - scores[t, c]
                    score[c] = half_scores[t, c] if half == 0 else own - half_scores[t, c]
                for j in range(2):
                    own = sizes[t + 1, j] - sizes[t, j]
                    size[j] = half_sizes[t, j] if half == 0 else own - half_sizes[t, j]
                for c in range(k):
                    mean[c] = (path[t + 1, c] - path[t, c]) * (size[0] + size[1]) / (stop - start)
                likeliest(score, mean, size[0], size[1], values, vectors, birth, work, mix)
                log += log_likelihood(likelihoods, start + 1 - half, stop, 2, mix)
            logs[row, 0] = _TEMPER * log
        for j in range(len(known)):
            for c in range(k):
                mix[c] = source_like[c] if j == 0 else known[j, c]
            logs[row, n_grid * n_grid + j] = _TEMPER * log_likelihood(likelihoods, start, stop, 1, mix)


@compiled
def forward(
    first: int,
    logs: FloatArray,
    rates: FloatArray,
    prior: FloatArray,
    sizes: FloatArray,
    weights: FloatArray,
    evidence: FloatArray,
    visits: FloatArray,
    out: FloatArray,
) -> None:
    """Move the weights, (m, e) for m rates of change, over rounds; add to each rate's log-evidence.

    To `visits`, (m, e, 2), are added the samples of each round, without and with a label, times its weights. Weights
    after each round, before a change, are written to `out`, (rounds, m, e), if it has room.
    """
    for t in range(len(logs)):
        top = logs[t].max()
        for r in range(len(rates)):
            total = 0.0
            for e in range(len(prior)):
                weights[r, e] *= np.exp(logs[t, e] - top)
                total += weights[r, e]
            evidence[r] += np.log(total) + top
            for e in range(len(prior)):
                weights[r, e] /= total
                for j in range(2):
                    visits[r, e, j] += weights[r, e] * (sizes[first + t + 1, j] - sizes[first + t, j])
                if len(out) > 0:
                    out[t, r, e] = weights[r, e]
                weights[r, e] += rates[r] * (prior[e] - weights[r, e])


@compiled
def backward(
    logs: FloatArray,
    rates: FloatArray,
    prior: FloatArray,
    trust: FloatArray,
    later: FloatArray,
    forwards: FloatArray,
    out: FloatArray,
) -> None:
    """Write the weights given all rounds, means over the rates by `trust`, to `out`; move `later` to before them."""
    for t in range(len(logs) - 1, -1, -1):
        top = logs[t].max()
        out[t] = 0.0
        for r in range(len(rates)):
            total = 0.0
            for e in range(len(prior)):
                total += forwards[t, r, e] * later[r, e]
            for e in range(len(prior)):
                out[t, e] += trust[r] * forwards[t, r, e] * later[r, e] / total
            mean, largest = 0.0, 0.0
            for e in range(len(prior)):
                later[r, e] *= np.exp(logs[t, e] - top)
                mean += prior[e] * later[r, e]
            for e in range(len(prior)):
                later[r, e] += rates[r] * (mean - later[r, e])
                largest = max(largest, later[r, e])
            for e in range(len(prior)):
                later[r, e] /= largest


@compiled
def collect(
    first: int,
    weights: FloatArray,
    scores: FloatArray,
    path: FloatArray,
    sizes: FloatArray,
    grid: IntArray,
    known: FloatArray,
    visits: FloatArray,
    values: FloatArray,
    vectors: FloatArray,
    birth: FloatArray,
    excess: FloatArray,
    unseen: float,
    least: float,
    spare: float,
    means: FloatArray,
    variances: FloatArray,
    used: FloatArray,
) -> None:
    """Average mixes, variances and sizes by weight, each window now with its own round.

    Windows of fewer than `least` samples are left out; all others get the weight `spare`, too. A window that does not
    have all samples has `unseen` times the variance of a mix that stands still. To the variance of each is added what a
    drift too slow to choose a shorter one would make it wrong by: twice the difference from the window of half its
    length, squared, as far as chance does not explain it. A known mix is no window: it is known by its `visits`, the
    samples (without and with a label) of rounds that had it.
    """
    n_grid, k = len(grid), scores.shape[1]
    score, mean, size = np.empty(k), np.empty(k), np.empty(2)
    mix, work, nearer, fewer = np.empty(k), np.empty(k), np.empty(k), np.empty(2)
    all_samples = sizes[-1, 0] + sizes[-1, 1]
    for row in range(len(weights)):
        t, total = first + row, 0.0
        for e in range(weights.shape[1]):
            weight = weights[row, e] + spare
            if weight < 1e-9:
                continue
            if e < n_grid * n_grid:
                _window(t, grid[e // n_grid], grid[e % n_grid], scores, path, sizes, score, mean, size)
                if size[0] + size[1] < least:
                    continue
                likeliest(score, mean, size[0], size[1], values, vectors, birth, work, mix)
                before, after = grid[max(e // n_grid - 1, 0)], grid[max(e % n_grid - 1, 0)]
                _window(t, before, after, scores, path, sizes, score, mean, fewer)
                likeliest(score, mean, fewer[0], fewer[1], values, vectors, birth, work, nearer)
            else:
                for j in range(2):
                    size[j] = fewer[j] = visits[e - n_grid * n_grid, j]
                for c in range(k):
                    mix[c] = nearer[c] = known[e - n_grid * n_grid, c]
            n = size[0] + size[1]
            more = unseen if n < all_samples else 1.0
            total += weight
            used[t] += weight * n
            for c in range(k):
                own = max(mix[c] * (1.0 - mix[c]), 1e-12)
                variance = 1.0 / max(size[1] / own + size[0] / (own + excess[t, c]), 1.0)
                of_half = 1.0 / max(fewer[1] / own + fewer[0] / (own + excess[t, c]), 1.0)
                drift = 4.0 * max((mix[c] - nearer[c]) ** 2 - (of_half - variance), 0.0)
                means[t, c] += weight * mix[c]
                variances[t, c] += weight * (mix[c] * mix[c] + more * variance + drift)
        used[t] /= total
        for c in range(k):
            means[t, c] /= total
            variances[t, c] = max(variances[t, c] / total - means[t, c] * means[t, c], 0.0)
