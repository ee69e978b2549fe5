"""Class mix by EM on a sliding window of rows, as one would write it oneself, and QuaPy's EMQ on the same windows."""

import warnings

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.bench.trust.quapy_bands import quapy_modules

WINDOWS = (500, 1_000, 2_000)
"""Rows of the windows."""

EVERY = 5
"""QuaPy's estimate is renewed every so many rounds, to save time; our own in every round."""


def sliding_window_em(proba: FloatArray, source: FloatArray, window: int, n: int) -> FloatArray:
    """Class mix to predict each round of n rows with, (rounds, k), by EM on the last rows before it.

    EM starts between the mix of the round before and that of the source, because it hardly leaves a share near zero,
    and runs until it hardly moves.
    """
    likelihoods = np.ascontiguousarray((proba / source).T)
    q, used = source, []
    for end in range(n, len(proba) + n, n):
        used.append(q)
        rows = likelihoods[:, max(0, end - window) : end]
        q = (q + source) / 2
        for _ in range(1000):
            posteriors = rows * q[:, np.newaxis]
            posteriors /= posteriors.sum(axis=0)
            previous, q = q, posteriors.mean(axis=1)
            if abs(q - previous).sum() < 1e-6:
                break
    return np.array(used)


def quapy_emq(proba: FloatArray, source: FloatArray, window: int, n: int) -> FloatArray:
    """The same by QuaPy's EMQ with its defaults, every `EVERY` rounds."""
    methods, _ = quapy_modules()
    q, used = source, []
    for t, end in enumerate(range(n, len(proba) + n, n)):
        used.append(q)
        if t % EVERY == 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it has not converged
                q, _ = methods.EMQ.EM(source, proba[max(0, end - window) : end])
    return np.array(used)
