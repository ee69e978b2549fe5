"""What looks wrong is named: the region, the predicted class, and which way."""

import numpy as np

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
    assert "too high" in str(first)


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
