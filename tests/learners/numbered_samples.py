"""Samples that are their own numbers, with very uneven labels, and the batches that learners draw of them."""

import numpy as np

from .stub_models import Knowing

K = 3
# Ten rounds' worth of labels, very uneven.
Y = np.random.default_rng(0).permutation(np.repeat(np.arange(K), [700, 200, 100]))
NUMBERED = np.arange(1000.0)[:, np.newaxis]


def batches_of(cls, **params):
    learner = cls(K, Knowing(Y), batch_size=50, patience=30, epoch_steps=None, rng=0, **params)
    learner.update(NUMBERED, Y)
    assert learner.gradient_steps_ == len(learner.model_.batches) == 30 * 16  # of 800 samples
    return learner, [np.concatenate(part) for part in zip(*learner.model_.batches, strict=True)]
