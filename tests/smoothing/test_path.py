"""The weights of windows, beside a second transcription in plain numpy."""

import numpy as np
from scipy.special import logsumexp

from baserate.smoothing.path import Rows, constant_mix, smoothed_path, window_grid
from baserate.smoothing.windows import told


def window_mix(likelihoods, labelled, reference, values, vectors, birth):
    """A Newton step from the mean of the reference, by matrices."""
    n, k = likelihoods.shape
    if n == 0:
        return birth
    guess = reference * likelihoods
    guess /= guess.sum(axis=1, keepdims=True)
    score = ((guess - reference) / np.sqrt(reference)).sum(axis=0)
    told_labels, unlabelled = labelled.sum(), n - labelled.sum()
    known = unlabelled / (unlabelled + 20.0)
    information = vectors @ np.diag(unlabelled * (known * values + 1 - known) + told_labels + k / 2) @ vectors.T
    q = reference.mean(axis=0)
    step = np.sqrt(q) * np.linalg.solve(information, score)
    q_new = q + np.minimum(step, q + 2 * np.maximum(np.sqrt(q) * score / n, 0))
    q_new = np.maximum(np.maximum(q_new, q / 10), 0.5 * birth / (n + 1))
    return q_new / q_new.sum()


def naive(rows, reference, known, birth, excess):
    """Every round and window by itself; the hidden Markov model by its matrix."""
    likelihoods, labelled, starts = rows
    n_rounds, k = reference.shape
    grid = window_grid(n_rounds)
    values, vectors = told(likelihoods, labelled, starts, reference)
    rounds = np.repeat(np.arange(n_rounds), np.diff(starts))
    paths = reference[rounds]
    pairs = [(a, b) for a in grid for b in grid]
    logs = np.empty((n_rounds, len(pairs) + len(known)))
    mixes = np.empty((*logs.shape, k))
    variances = np.empty_like(mixes)

    def mix_of(chosen):
        return window_mix(likelihoods[chosen], labelled[chosen], paths[chosen], values, vectors, birth)

    def log(chosen, mix):
        return 0.5 * np.log(likelihoods[chosen] @ mix).sum()

    def variance(mix, counts):
        own = np.maximum(mix * (1 - mix), 1e-12)
        return 1.0 / np.maximum(counts[1] / own + counts[0] / (own + excess[t]), 1.0)

    def counted(chosen):
        return (1 - labelled[chosen]).sum(), labelled[chosen].sum()

    def shorter(side):
        return grid[max(int(np.flatnonzero(grid == side)[0]) - 1, 0)]

    def drift(mix, inside, a, b):
        """A linear drift makes a window wrong by twice its difference from that of half its length."""
        half = (rounds >= t - shorter(a)) & (rounds <= t + shorter(b))
        by_chance = variance(mix, counted(half)) - variance(mix, counted(inside))
        return 4.0 * np.maximum((mix - mix_of(half)) ** 2 - by_chance, 0.0)

    for t in range(n_rounds):
        own = rounds == t
        for e, (a, b) in enumerate(pairs):
            inside = (rounds >= t - a) & (rounds <= t + b)
            logs[t, e] = log(own, mix_of(inside & ~own))
            mixes[t, e] = mix_of(inside)
            factor = 1.0 if inside.all() else 2.5
            variances[t, e] = factor * variance(mixes[t, e], counted(inside)) + drift(mixes[t, e], inside, a, b)
        if own.sum() > 1:
            even = np.zeros_like(own)
            even[np.flatnonzero(own)[::2]] = True
            logs[t, 0] = log(own & ~even, mix_of(even)) + log(even, mix_of(own & ~even))
        for j, mix in enumerate(known):
            e = len(pairs) + j
            logs[t, e], mixes[t, e] = log(own, mix), mix
    prior = np.r_[np.full(len(pairs), 0.5 / len(pairs)), np.full(len(known), 0.5 / len(known))]
    weights, evidence, visits = [], [], []
    sizes = np.array([counted(rounds == t) for t in range(n_rounds)])
    for rate in (0.2, 0.02, 1.0 / n_rounds):
        change = np.log((1 - rate) * np.eye(len(prior)) + rate * prior)
        ahead, back = [np.log(prior) + logs[0]], [np.zeros(len(prior))]
        for t in range(1, n_rounds):
            ahead.append(logsumexp(ahead[-1][:, None] + change, axis=0) + logs[t])
            back.append(logsumexp(change + logs[n_rounds - t] + back[-1], axis=1))
        both = np.array(ahead) + np.array(back[::-1])
        weights.append(np.exp(both - logsumexp(both, axis=1, keepdims=True)))
        evidence.append(logsumexp(ahead[-1]))
        until_now = np.exp(np.array(ahead) - logsumexp(ahead, axis=1, keepdims=True))
        visits.append(until_now[:, len(pairs) :].T @ sizes)
    trust = np.exp(evidence - logsumexp(evidence))
    weight = np.tensordot(trust, weights, axes=1)[:, :, None]
    for j, counts in enumerate(np.tensordot(trust, visits, axes=1)):
        for t in range(n_rounds):
            variances[t, len(pairs) + j] = (2.5 if counts.sum() < len(rounds) else 1.0) * variance(known[j], counts)
    mean = (weight * mixes).sum(axis=1)
    return mean, (weight * (mixes**2 + variances)).sum(axis=1) - mean**2


def test_it_is_what_a_plain_transcription_gives():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 6, size=13)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    k = 3
    likelihoods = rng.random((starts[-1], k)) ** 3 + 1e-3
    labelled = (rng.random(starts[-1]) < 0.3).astype(np.int64)
    for i in np.flatnonzero(labelled):
        likelihoods[i] = np.eye(k)[rng.integers(k)]
    likelihoods /= likelihoods.max(axis=1, keepdims=True)
    rows, birth = Rows(likelihoods, labelled, starts), np.array([0.5, 0.3, 0.2])
    reference = rng.dirichlet(5 * birth, size=len(sizes))
    known, excess = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), rng.random((len(sizes), k))
    found = smoothed_path(rows, reference, known, np.zeros(k), birth, excess)
    mean, variance = naive(rows, reference, known, birth, excess)
    np.testing.assert_allclose(found.mixes, mean, atol=1e-8)
    np.testing.assert_allclose(found.variances, variance, atol=1e-8)


def test_the_grid_reaches_over_all_rounds():
    assert window_grid(1).tolist() == [0, 1]
    assert window_grid(2).tolist() == [0, 1, 2]
    assert window_grid(9).tolist() == [0, 1, 2, 4, 8, 9]


def test_the_constant_mix_is_the_likeliest():
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.2).astype(int)
    rows = Rows(np.eye(2)[y], np.zeros(2000, dtype=np.int64), np.array([0, 2000]))
    np.testing.assert_allclose(constant_mix(rows, np.array([0.5, 0.5])), np.bincount(y) / 2000, atol=1e-3)
