"""What a backtest says in one sentence."""

import re

import numpy as np
import pytest

from baserate import reweight
from baserate.backtesting import backtest
from baserate.backtesting.methods import DEFAULT
from baserate.backtesting.sentence import with_names

from .fraud import fraud_log, split
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


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_one_calibration_does_needs_no_tracker(seed):
    """A model that was trained on as many frauds as payments, on a log in which the share of fraud stays."""
    proba, y = fraud_log(20_000, seed, drift=False)
    even = reweight(proba, [0.99, 0.01], [0.5, 0.5])
    found = backtest(**split(even, y), costs=(1, 20), methods=[])
    assert found.verdict == "something simpler"
    assert re.match(r"(Calibrate the model|Move the threshold) once[^:]*: cost per 1,000 rows", found.sentence)
    assert "To follow the class mix as well" in found.sentence


def test_what_follows_the_mix_is_used_although_calibration_helps():
    proba, y = fraud_log(seed=0)
    even = reweight(proba, [0.99, 0.01], [0.5, 0.5])
    found = backtest(**split(even, y), costs=(1, 20), methods=[])
    assert found.verdict == "use"
    assert all(anchor.beyond.high < 0 for anchor in found.anchors)


def test_names_that_look_like_numbered_classes_are_left_alone():
    names = ["class 1", "class 0"]
    assert with_names("fewer than 10 samples of class 'class 1'", names) == "fewer than 10 samples of class 'class 1'"
    assert with_names("predictions of class 1", names) == "predictions of 'class 0'"
