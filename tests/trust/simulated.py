"""Outputs of a model of known honesty, of three classes that overlap."""

import numpy as np

EVEN = np.full(3, 1 / 3)
MIX = np.array([0.6, 0.3, 0.1])
CENTRES = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.8]])


def labels(rng, n, q):
    return rng.choice(len(q), size=n, p=q)


def outputs(rng, y, sharpness=1.0):
    """Probabilities under an even mix; too sure of themselves with a sharpness above one."""
    x = CENTRES[y] + rng.normal(size=(len(y), 2))
    logits = -0.5 * sharpness * ((x[:, np.newaxis, :] - CENTRES) ** 2).sum(axis=2)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def holdout(rng, n, sharpness=1.0):
    """As many of each class, so that the source prior is even."""
    y = np.arange(n) % 3
    return outputs(rng, y, sharpness), y
