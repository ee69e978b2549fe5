"""Models whose honesty is known: labels are drawn from the probabilities, which are distorted afterwards."""

import numpy as np


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def draw(rng, n, k=10):
    """Calibrated probabilities, from vague to sure, and labels drawn from them."""
    p = softmax(rng.choice([0.5, 1.5, 3.0], size=(n, 1)) * rng.standard_normal((n, k)))
    return p, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def distort(p, temperature=1.0, biases=0.0):
    return softmax(np.log(p) / temperature + biases)


def nats(p, y):
    """Mean log-likelihood."""
    with np.errstate(divide="ignore"):
        return float(np.log(p[np.arange(len(y)), y]).mean())


def ece(p, y, bins=15):
    """Expected calibration error of the most probable class, over bins of equal size."""
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    groups = np.array_split(np.argsort(confidence, kind="stable"), bins)
    return sum(len(g) * abs(confidence[g].mean() - right[g].mean()) for g in groups) / len(y)


def class_error(p, y):
    """Largest distance between a class's mean probability and its frequency."""
    return float(np.abs(p.mean(axis=0) - np.bincount(y, minlength=p.shape[1]) / len(y)).max())
