"""The benchmark of accuracy with few labels."""

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate_lab.bench.trust.labelled_accuracy import looks


def test_labels_hold_where_the_model_has_broken(world):
    rng = np.random.default_rng(0)
    k = world.proba.shape[1]
    held, rows = rng.integers(len(world.y), size=600), rng.integers(len(world.y), size=3000)
    adapters = [RegressAndReweight().fit(world.proba[held], world.y[held]) for _ in range(2)]
    y = np.where(rng.random(3000) < 0.3, rng.integers(k, size=3000), world.y[rows])  # labels that nothing foretells
    told = np.where(rng.random(3000) < 0.1, y, -1)
    found = np.array(looks(world.proba[rows], y, adapters, told, 0.9))
    truth, _, low, high, other, _, other_low, other_high = found.T
    assert ((low <= truth) & (truth <= high)).mean() > ((other_low <= other) & (other <= other_high)).mean()
    assert np.abs(found[:, 1] - truth).max() < 0.12
    told[np.cumsum(told >= 0) > 8] = -1
    assert looks(world.proba[rows], y, adapters[:1], told, 0.9) == []
    few = np.array(looks(world.proba[rows], y, adapters[:1], told, 0.9, range(1, 20)))
    assert len(few) == 6
