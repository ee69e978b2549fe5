"""What a backtest says in one sentence."""

import numpy as np

from baserate.backtesting import backtest
from baserate.backtesting.methods import DEFAULT

from .logs import SHARE, drifting, model_outputs


def test_no_drift_is_no_difference():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 6000)
    found = backtest(model_outputs(y, 3, rng), y, holdout=SHARE, methods=[])
    assert found.verdict == "no difference"
    assert found.sentence.startswith("No clear difference: error ")
    assert found.sentence.endswith("knowing the class mix would not have helped either; leave the model alone.")


def test_another_concept_is_not_to_be_used():
    """The model's outputs say that the last class grows, and what looks like it is the first."""
    proba, y = drifting()
    changed = np.where(np.arange(6000) < 1000, y, np.array([2, 1, 0])[y])
    found = backtest(proba, changed, holdout=SHARE, methods=[])
    assert found.verdict == "do not use"
    assert found.sentence.startswith("Do not use it: error ")
    assert found.score(DEFAULT).error_change.low > 0


def test_an_alarm_is_said_with_what_looks_wrong():
    """From the middle on, the outputs are blurred: no class mix explains that."""
    proba, y = drifting()
    blurred = np.where(np.arange(6000)[:, None] < 2500, proba, 0.5 * proba + 0.5 / 3)
    found = backtest(blurred, y, holdout=SHARE, methods=[], names=["cat", "dog", "eel"])
    assert found.trust.since is not None
    assert found.trust.since >= (2500 - 1000) // 25
    assert found.trust.alarm[: found.trust.since + 1].sum() == 0
    assert found.trust.alarm[found.trust.since + 1]
    assert f"from round {found.trust.since + 1} on the stream does not look like label shift (" in found.sentence
    assert "class 0" not in found.sentence
    assert found.sentence.count(".") >= 1
    assert found.sentence.endswith(".")
