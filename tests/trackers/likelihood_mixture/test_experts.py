"""The arithmetic on experts, where the whole mixture would not show a mistake."""

import math

import numpy as np

from baserate.compiled import compiled
from baserate.trackers.likelihood_mixture import experts
from baserate.trackers.likelihood_mixture.experts import EXPERTS


@compiled
def scale_likelihoods(logs, per_expert):
    return experts.scale_likelihoods(logs, per_expert)


@compiled
def average_experts(mixes, per_expert, per_class):
    experts.average_experts(mixes, per_expert, per_class)


def test_an_expert_without_weight_is_no_measure_for_the_others():
    per_expert = experts.make_tables(3)[1]
    per_expert[experts.WEIGHT], logs = 0.5, np.full(EXPERTS, -2000.0)
    per_expert[experts.WEIGHT, -1], logs[-1], logs[3] = 0.0, 0.0, -2001.0
    scale_likelihoods(logs, per_expert)
    np.testing.assert_allclose(per_expert[experts.LIKELIHOOD, :5], [1, 1, 1, math.exp(-1), 1])
    assert np.isfinite(per_expert[experts.LIKELIHOOD]).all()


def test_sums_over_experts_take_every_expert():
    assert EXPERTS % 4 == 0
    rng = np.random.default_rng(0)
    mixes, per_expert, per_class = experts.make_tables(5)
    mixes[:], per_expert[experts.WEIGHT] = rng.random((5, EXPERTS)), rng.random(EXPERTS)
    average_experts(mixes, per_expert, per_class)
    expected = mixes @ per_expert[experts.WEIGHT]
    np.testing.assert_allclose(per_class[experts.MIXTURE], expected / expected.sum(), rtol=1e-14)
