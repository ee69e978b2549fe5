"""One method over a log."""

import numpy as np
import pytest

from baserate.backtesting.methods import NOTHING, chosen
from baserate.backtesting.played import SMALLEST, Log
from baserate.backtesting.replay import replay
from baserate.decisions import decision_rule


def test_a_probability_of_zero_does_not_outweigh_all():
    log = Log(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 0]), np.array([0, 2]))
    adapter, _ = chosen(np.full((1, 2), 0.5), [])
    fitted = adapter[NOTHING].fit([[0.9, 0.1], [0.1, 0.9]], [0, 1])
    played, _ = replay(fitted, log, rule=decision_rule(["a", "b"]), nothing=np.array([0, 0]))
    assert played.log_loss[0] == pytest.approx(-np.log(SMALLEST) - np.log(0.5))
