"""The result of a round of many keys."""

import numpy as np

from baserate import Bank, RegressAndReweight
from baserate.checks._roles import PROBA, Y


def test_what_a_step_was_made_with():
    bank = Bank(RegressAndReweight(calibrator=None).fit(PROBA, Y))
    keys = ["north", "south", "north", "west"]
    bank.update(keys, PROBA[:4])
    before = bank.prior(["north", "south", "west"])
    adapted = bank.predict_proba(keys, PROBA[4:8])
    step = bank.step(keys, PROBA[4:8])
    assert step.keys == ["north", "south", "west"]
    np.testing.assert_array_equal(step.prior, before)
    np.testing.assert_allclose(step.proba, adapted, atol=1e-12)
    np.testing.assert_array_equal(step.flags["fallback"], step.signs.fallback)
    np.testing.assert_array_equal(step.flags["alarm"], step.signs.alarm)
    assert step.flags["alarm"].shape == (3,)
    assert not np.array_equal(bank.prior(step.keys), before)
