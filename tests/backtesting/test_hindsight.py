"""The class mix in hindsight: of the rounds around, without the round itself."""

import numpy as np
import pytest

from baserate.backtesting.hindsight import around_rounds, hindsight


def test_hindsight_leaves_a_round_itself_out():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(10, [0.2, 0.8], size=50)
    source = np.array([0.5, 0.5])
    before = hindsight(counts, source)
    assert before.width >= 16  # nothing drifts: all rounds tell
    changed = counts.copy()
    changed[20] += [1, -1]
    after = hindsight(changed, source)
    assert after.width == before.width
    assert np.array_equal(before.path[20], after.path[20])
    assert not np.allclose(before.path[21], after.path[21])


def test_hindsight_looks_as_far_as_the_mix_stands_still():
    jumps = np.repeat([[90, 10], [10, 90], [90, 10], [10, 90]], 5, axis=0)
    found = hindsight(jumps, np.array([0.5, 0.5]))
    assert found.width == 1
    assert found.path[2] == pytest.approx([(180 + 0.5) / 201, (20 + 0.5) / 201])
    assert around_rounds(jumps, 100).tolist() == [[1000, 1000]] * 20
