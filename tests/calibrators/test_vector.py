"""A scale for each class: found again, with its spread."""

import numpy as np

from baserate.calibrators import VectorScaling

from .honest import draw


def test_distorting_scales_are_recovered():
    p, y = draw(np.random.default_rng(3), 100_000, 5)
    scales = np.array([0.6, 0.8, 1.0, 1.2, 1.4])
    logs = np.log(p)  # softmax(scales * shown) must be p: divide, and add what makes it a row of probabilities
    shown = logs / scales
    for _ in range(200):
        shown -= (np.log(np.exp(shown).sum(axis=1)) / (1 / scales).mean())[:, np.newaxis] / scales
    vector = VectorScaling().fit(np.exp(shown) / np.exp(shown).sum(axis=1, keepdims=True), y)
    np.testing.assert_allclose(vector.scales_, scales, atol=0.05)
    np.testing.assert_allclose(vector.biases_, 0.0, atol=0.1)
    assert 0.16 <= vector.scale_sd_ <= 0.64  # the scales' own spread is 0.28
    assert VectorScaling().fit(p[:10_000], y[:10_000]).scale_sd_ <= 0.02
