"""Sequences of sightings, and what a tracker predicts on them."""

import numpy as np

KINDS = ["noise", "constant", "ties", "step", "wild"]


def play(tracker, sightings):
    """Predictions of rounds 1..T+1."""
    out = [tracker.predict()]
    for z in sightings:
        tracker.update(z)
        out.append(tracker.predict())
    return np.array(out)


def sequence(kind, k, T, rng):
    if kind == "noise":
        return rng.dirichlet(np.ones(k), size=T)
    if kind == "constant":
        return np.tile(rng.dirichlet(np.ones(k)), (T, 1))
    if kind == "ties":  # few distinct values, so that many experts have the same loss
        return np.eye(k)[rng.integers(2, size=T)]
    if kind == "step":
        return np.where(np.arange(T)[:, None] < T // 2, np.eye(k)[0], np.eye(k)[1]) + 0.01 * rng.standard_normal((T, k))
    return rng.standard_normal((T, k))  # off the simplex, as unclipped sightings are
