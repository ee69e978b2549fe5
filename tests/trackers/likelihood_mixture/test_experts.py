"""The arithmetic on experts, where the whole mixture would not show a mistake."""

import math

import numpy as np

from baserate.trackers.likelihood_mixture import experts
from baserate.trackers.likelihood_mixture.experts import EXPERTS


def test_an_expert_without_weight_is_no_measure_for_the_others():
    room = experts.make_room(3)[1]
    room[experts.WEIGHT], logs = 0.5, np.full(EXPERTS, -2000.0)
    room[experts.WEIGHT, -1], logs[-1], logs[3] = 0.0, 0.0, -2001.0
    experts.compare(logs, room)
    np.testing.assert_allclose(room[experts.LIKELY, :5], [1, 1, 1, math.exp(-1), 1])
    assert np.isfinite(room[experts.LIKELY]).all()


def test_sums_over_experts_take_every_expert():
    assert EXPERTS % 4 == 0
    rng = np.random.default_rng(0)
    mixes, room, classes = experts.make_room(5)
    mixes[:], room[experts.WEIGHT] = rng.random((5, EXPERTS)), rng.random(EXPERTS)
    experts.mean(mixes, room, classes)
    expected = mixes @ room[experts.WEIGHT]
    np.testing.assert_allclose(classes[experts.TOGETHER], expected / expected.sum(), rtol=1e-14)
