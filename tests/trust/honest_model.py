"""A model that is honest at equal shares, its holdout, and streams of other class mixes."""

import numpy as np

K = 3
CENTRES = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [1.4, 1.4]])  # the last is of no class


def outputs(y, rng, noise=1.0):
    """A model's honest probabilities, for equal shares: two features, normal about the centre of the class."""
    x = CENTRES[y] + 0.8 * noise * rng.standard_normal((len(y), 2))
    logits = -((x[:, np.newaxis] - CENTRES[:K]) ** 2).sum(axis=2) / (2 * 0.8**2)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def holdout(n=900, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    return outputs(y, rng), y


def stream(mixes, rng, n=10, noise=1.0):
    for mix in mixes:
        y = rng.choice(len(mix), p=mix, size=n)
        yield outputs(y, rng, noise), y


DRIFT = np.linspace([1 / 3, 1 / 3, 1 / 3], [0.8, 0.1, 0.1], 150)
