"""Mixes between even and one class alone, which paths run to and fro between."""

import numpy as np

T, K = 1000, 4
UNIFORM, ONE = np.full(K, 1 / K), np.eye(K)[0]


def mix(alpha):
    return (1 - alpha) * UNIFORM + alpha * ONE
