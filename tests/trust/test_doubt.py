"""What is in doubt, and how wide limits get."""

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.trust.doubt import Signs, doubt, told_apart, widened

CALM = Signs("", alarm=False, evidence=1.0, needed=20.0, correlation=0.1, sigma_min=0.05, moved=0.05, unknown=0.0)


@pytest.mark.parametrize(
    ("change", "degree", "said"),
    [
        ({}, 0.0, ""),
        ({"alarm": True}, 1.0, "does not look like label shift"),
        ({"untested": "there are 400 classes."}, 1.0, "not tested: there are 400 classes."),
        ({"evidence": 20.0**0.75}, 0.75, "signs that more than the class mix"),
        ({"evidence": 20.0**0.25}, 0.0, ""),
        ({"correlation": 0.26666666666666666}, 0.5, "correlation 0.27"),
        ({"correlation": 0.9}, 1.0, "are alike"),
        ({"moved": 0.2}, 1.0, "hardly tells some classes apart"),
        ({"moved": 0.2, "sigma_min": 0.2}, 0.0, ""),
        ({"unknown": 1.22}, 1.0, "100 % of the samples fit no class"),
    ],
)
def test_each_sign(change, degree, said):
    found = doubt(CALM._replace(**change))
    assert found.degree == pytest.approx(degree)
    assert said in found.reason
    assert bool(found.reason) == (degree > 0.0)


def test_the_largest_counts_and_all_are_said():
    found = doubt(CALM._replace(unknown=0.1, alarm=True))
    assert found.degree == 1.0
    assert "label shift" in found.reason
    assert "10 % of the samples" in found.reason


def test_limits_widen_up_to_nothing():
    limits = np.array([[0.2, 0.3], [0.7, 0.8]])
    np.testing.assert_array_equal(widened(limits, 0.0), limits)
    np.testing.assert_allclose(widened(limits, 1.0), [[0.0, 1.0], [0.0, 1.0]])


def test_how_well_classes_are_told_apart():
    proba = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]])
    even = np.array([0.5, 0.5])
    assert told_apart(proba, np.array([0, 1, 1, 0]), even) == pytest.approx(1.0)
    assert told_apart(proba, np.array([0, 0, 1, 1]), even) == pytest.approx(0.0)


def test_a_rare_class_that_is_never_predicted_may_be_told_apart():
    proba = np.array([[0.99, 0.01], [0.95, 0.05], [0.7, 0.3], [0.6, 0.4]])
    assert told_apart(proba, np.array([0, 0, 1, 1]), np.array([0.9, 0.1])) == pytest.approx(1.0)


def test_limits_of_a_rare_class_that_grows_say_something():
    rng = np.random.default_rng(3)

    def outputs(n, share):
        y = (rng.random(n) < share).astype(int)
        odds = 1.5 * rng.normal(1.5 * y) - 1.125 + np.log(0.03 / 0.97)
        positive = 1.0 / (1.0 + np.exp(-odds))
        return np.column_stack([1.0 - positive, positive]), y

    adapter = RegressAndReweight().fit(*outputs(3000, 0.03))
    for _ in range(60):
        adapter.step(outputs(100, 0.2)[0])
    assert adapter.accuracy_in_doubt_ == ""
    low, high = adapter.prior_interval()[1]
    assert 0.03 < low < 0.2 < high < 0.5
