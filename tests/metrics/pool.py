"""A pool of outputs and labels, class mixes to play, and the true ones."""

import numpy as np

RNG = np.random.default_rng(0)
K, M, T = 3, 60, 7
Y = np.r_[np.arange(K), RNG.integers(K, size=M - K)]
P = 0.3 * np.eye(K)[Y] + 0.7 * RNG.dirichlet(np.ones(K), size=M)
SOURCE = np.array([0.5, 0.3, 0.2])
PATH = RNG.dirichlet(np.ones(K), size=T)
PLAYED = RNG.dirichlet(np.ones(K), size=T)
