"""How often Algorithm 4 trains, measured."""

import numpy as np
import pytest

from baserate_lab.paper.rates import slope
from baserate_lab.paper.supervised import calls, problems


@pytest.fixture(scope="module")
def trainings():
    return calls.run_calls(calls.LENGTHS[:6], n_seeds=2)


def test_calls_stay_within_the_theorem(trainings):
    """Up to a logarithm, which the bound hides; and the share of the bound that is used does not grow."""
    lengths = calls.LENGTHS[:6]
    for (path, threshold), counts in trainings.items():
        bound = np.array([calls.order(path, n) * np.log2(n) for n in lengths])
        used = counts.mean(axis=1) / bound
        assert used.max() < 0.7, (path, threshold)
        assert used[-1] < 1.3 * used[:-1].max(), (path, threshold)


def test_calls_on_a_step_are_two_runs_of_powers_of_two(trainings):
    for n, counts in zip(calls.LENGTHS, trainings["step", "calibrated"], strict=False):
        assert (counts <= 2 * np.log2(n) + 1).all()
        assert (counts > np.log2(n) + 1).all()  # the step was seen


def test_the_calibrated_threshold_sees_what_the_theory_is_too_slow_for(trainings):
    assert (trainings["steps", "calibrated"][2:5] > 4 * trainings["steps", "theory"][2:5]).all()


def test_calls_grow_like_their_bound(trainings):
    fitted = {path: slope(trainings[path, "calibrated"], calls.LENGTHS[:6]).value for path in problems.PATHS}
    assert fitted["step"] < 1 / 3
    assert fitted["ramp"] < 1 / 3 + 0.2
    assert 0.5 < fitted["steps"] < 1


def test_a_stream_that_stands_still_is_trained_on_a_logarithmic_number_of_times():
    found = calls.run_still(128, n_runs=40)
    assert len(found) == len(calls.STILL) * 2
    for threshold in calls.THRESHOLDS:
        counts = np.concatenate([found[mix, threshold] for mix in calls.STILL])
        assert len(counts) == 200
        assert calls.few(counts, 128) >= 1 - calls.DELTA
        assert np.median(counts) == 8  # after 1, 2, 4, ..., 128 rounds


def test_few_is_one_more_than_the_logarithm():
    assert calls.few(np.array([11, 12, 3, 11]), 1024) == 0.75


def test_the_thresholds_are_those_of_the_theorem_and_the_defaults():
    theory, calibrated = calls.tracker("theory", 100), calls.tracker("calibrated", 100)
    assert (theory.threshold, theory.horizon, theory.sigma2, theory.delta) == ("theory", 100, 1 / 50, 0.05)
    assert (calibrated.threshold, calibrated.horizon, calibrated.sigma2) == ("calibrated", None, None)


def test_a_call_is_a_switch():
    path = np.tile(np.eye(10)[0], (64, 1))  # no noise: after the first round the prediction never changes
    assert calls.count(path, "calibrated", np.random.default_rng(0)) == 1
