"""A small last layer, its labelled holdout, and batches of another class mix."""

import numpy as np

from baserate.marginals import BBSE

RNG = np.random.default_rng(5)
K, D = 3, 4
Y = np.concatenate([np.arange(K), RNG.choice(K, p=[0.5, 0.3, 0.2], size=40)])
CENTRES = 1.5 * RNG.standard_normal((K, D))
X = CENTRES[Y] + RNG.standard_normal((len(Y), D))
W = 0.5 * CENTRES
B = np.array([0.3, -0.1, 0.0])
UNCLIPPED = BBSE(clip=False)
RADIUS = float(np.linalg.norm(W))
ONES = np.column_stack([X, np.ones(len(X))])
WB = np.column_stack([W, B])


def batches(n_rounds, seed=0, shares=(0.1, 0.1, 0.8)):
    rng = np.random.default_rng(seed)
    labels = rng.choice(K, p=shares, size=(n_rounds, 6))
    return [CENTRES[y] + rng.standard_normal((6, D)) for y in labels]
