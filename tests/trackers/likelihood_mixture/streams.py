"""Streams of honest probabilities, in rounds of unequal size."""

import math

import numpy as np

from baserate.protocols import Evidence


def draw(rng, q, n, sharp=4.0):
    """Honest probabilities under a uniform source of n samples of a class mix (rows of it: of several), and labels."""
    k = np.shape(q)[-1]
    y = rng.choice(k, size=n, p=q)
    signal = rng.normal(size=(n, k)) + math.sqrt(sharp) * np.eye(k)[y]
    odds = np.exp(math.sqrt(sharp) * signal)
    return odds / odds.sum(axis=1, keepdims=True), y


def rounds_of(seed, k, T, sizes=(0, 1, 2, 7, 40), labelled=True):
    """Evidence of rounds of unequal size, some with all labels, some with a few."""
    rng = np.random.default_rng(seed)
    source, q = rng.dirichlet(5 * np.ones(k)), rng.dirichlet(np.ones(k))
    for t in range(T):
        if t % 12 == 11:
            q = rng.dirichlet(np.ones(k))
        n = int(rng.choice(sizes))
        proba, y = draw(rng, q, n)
        known = rng.random(n) < rng.choice([0.0, 0.3, 1.0])
        yield Evidence(proba, source, np.where(known, y, -1) if labelled and t % 3 else None)


def run(tracker, rounds, k):
    played = [tracker.predict()]
    for evidence in rounds:
        tracker.update(np.full(k, 7.0), evidence)  # a sighting that would show if it were looked at
        played.append(tracker.predict())
    return np.array(played)
