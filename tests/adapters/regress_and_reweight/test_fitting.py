"""Warnings about a holdout: which of them a tracker gets."""

import warnings

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.marginals import RLLS
from baserate.trackers import LastSighting


def rare_fraud(distance, n=20_000, seed=0):
    """A holdout with 2 % of fraud, and calibrated probabilities: means of the two classes that far apart."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.02).astype(int)
    log_odds = np.log(0.02 / 0.98) + distance * rng.normal(distance * y) - distance**2 / 2
    p = 1 / (1 + np.exp(-log_odds))
    return np.column_stack([1 - p, p]), y


def told_of(adapter, *holdout):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        adapter.fit(*holdout)
    return " ".join(str(warning.message) for warning in caught)


def test_a_rare_class_is_no_confusion_for_a_tracker_that_reads_samples():
    """An AUC of 0.8: the mean probabilities are alike, because fraud is rare; single samples tell it all the same."""
    assert told_of(RegressAndReweight(calibrator=None), *rare_fraud(1.19)) == ""
    # An AUC of 0.56: here samples hardly do.
    told = told_of(RegressAndReweight(calibrator=None), *rare_fraud(0.2))
    assert "the model hardly tells classes 0, 1 apart: even if both were equally common" in told
    assert "merge" not in told


def test_a_rare_class_is_confusion_for_estimates():
    holdout = rare_fraud(1.19)
    told = told_of(RegressAndReweight(LastSighting(2), calibrator=None), *holdout)
    assert "the confusion matrix is nearly singular" in told
    assert "merge" not in told
    told = told_of(RegressAndReweight(LastSighting(2), RLLS(), calibrator=None), *holdout)
    assert "mean probabilities hardly tell classes 0, 1 apart" in told
    assert "or the default tracker" in told
    assert "merge" not in told
