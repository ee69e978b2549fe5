"""Logs of a model whose stream drifts away from its holdout."""

import numpy as np


def labels_of(mix, rng):
    """A label for each row of a path of class mixes."""
    return (rng.random((len(mix), 1)) > np.cumsum(mix, axis=1)).sum(axis=1)


def model_outputs(y, k, rng, distance=1.5):
    """Probabilities of a model that is right on a balanced mix."""
    x = rng.normal(size=(len(y), k))
    x[np.arange(len(y)), y] += distance
    proba = np.exp(distance * x)
    return proba / proba.sum(axis=1, keepdims=True)


def drifting(n=6000, seed=0, last=0.9):
    """Three classes; after a balanced holdout of 1,000 rows the last one grows."""
    rng = np.random.default_rng(seed)
    share = np.where(np.arange(n) < 1000, 1 / 3, np.linspace(1 / 3, last, n))
    y = labels_of(np.column_stack([(1 - share) / 2, (1 - share) / 2, share]), rng)
    return model_outputs(y, 3, rng), y


SHARE = 1000 / 6000
