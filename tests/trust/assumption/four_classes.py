"""Outputs of four Gaussian classes, a check fitted on them, and streams to show it."""

import numpy as np

from baserate.trust.assumption.bets import Bets

K = 4


def outputs(rng, y, noise=1.0, move=0.0):
    """Softmax outputs of four Gaussian classes; `move` takes class 0 away from class 1."""
    logits = 3.0 * np.eye(K)[y] + noise * 1.2 * rng.standard_normal((len(y), K))
    logits[y == 0, 1] -= move
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def fitted(rng, n=800, **kwargs):
    y = np.arange(n) % K
    return Bets(**kwargs).fit(outputs(rng, y), y)


def run(check, rng, n_rounds, batch=10, path=None, **change):
    for t in range(n_rounds):
        q = np.full(K, 1.0 / K) if path is None else path(t)
        check.update(outputs(rng, rng.choice(K, size=batch, p=q), **change))
    return check


PATHS = {
    "even": lambda t: np.full(K, 1.0 / K),
    "one class": lambda t: np.eye(K)[2],
    "one class after the other": lambda t: np.eye(K)[t % K],
    "slow": lambda t: np.array([t, 60 - t, 30, 30]) / 120.0,
}


def unseen(rng, n, share):
    """A new class takes a share of the stream: mostly taken for class 1, with class 2 nearer than it is wont to be."""
    y = rng.integers(K, size=n)
    new = rng.random(n) < share
    logits = 3.0 * np.eye(K)[y] + 1.2 * rng.standard_normal((n, K))
    logits[new] = np.array([-1.5, 3.0, 1.0, -1.5]) + 1.2 * rng.standard_normal((int(new.sum()), K))
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)
