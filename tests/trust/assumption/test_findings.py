"""What looks wrong is named: the region, the predicted class, and which way."""

import numpy as np
import pytest

from baserate.trust.assumption.findings import Finding

from .four_classes import fitted, run


def test_noise_is_found_and_named():
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        check = run(fitted(rng), rng, 100, noise=1.6)
        found += check.alarm_
    assert found >= 18
    first = check.explain()[0]
    assert first.share > first.expected + 3 * first.error
    assert first.too_many
    assert first.evidence <= check.evidence_
    assert "too many" in str(first)


def test_a_moved_class_is_found_and_named():
    """Class 0 moves away from class 1, which makes it strange and no other class."""
    named, found = 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        check = run(fitted(rng, 2000), rng, 300, move=2.0)
        found += check.alarm_
        named += any(finding.predicted == 0 for finding in check.explain())
    assert found >= 18
    assert named >= 18


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (
            Finding(None, "doubt", 0.0003, True, 0.996, 0.551, 0.029, 30.0),
            "too many uncertain predictions: 99.6 % have no probability above 0.9997, label shift would give 55.1 % "
            "+- 2.9",
        ),
        (
            Finding(1, "strangeness", 2.08, False, 0.0599, 0.12, 0.0043, 30.0),
            "too few unusual predictions among predictions of class 1: 5.99 % are at least 2.08 away from all of the "
            "holdout, label shift would give 12 % +- 0.43",
        ),
        (
            Finding(7, "log-probability of class 3", None, False, -0.2452, -0.165, 0.0252, 30.0),
            "the mean log-probability of class 3 among predictions of class 7 is too low: -0.2452, label shift would "
            "give -0.165 +- 0.025",
        ),
    ],
)
def test_in_words(finding, said):
    assert str(finding) == said
