"""A correction that is tried out on the holdout first."""

import numpy as np

from baserate.trust.gate.rehearsal import WEIGHTS, rehearse


def test_the_rehearsal_counts_samples_by_the_tracked_mix():
    """Ten rows of each class; a class is better off with the correction only if it becomes more frequent."""
    proba = np.array([[0.55, 0.45], [0.55, 0.45]] * 10)
    y = np.array([0, 1] * 10)
    counts, prior = np.array([10.0, 10.0]), np.array([0.5, 0.5])
    assert rehearse(proba, y, counts, prior, np.array([0.1, 0.9])) == 1.0
    wrong_way = 1.0 - proba  # leans to class 1 by mistake: moving on to 1 is right for a mix that has more of it
    assert rehearse(wrong_way, y, counts, prior, np.array([0.1, 0.9])) == 1.0
    # Outputs that already are as sure of class 1 as the mix makes them: any correction is too much.
    sure = np.array([[0.1, 0.9]] * 20)
    assert rehearse(sure, y, counts, prior, np.array([0.1, 0.9])) == 0.0
    half = np.sqrt([0.1, 0.9]) / np.sqrt([0.1, 0.9]).sum()
    assert rehearse(np.tile(half, (20, 1)), y, counts, prior, np.array([0.1, 0.9])) == 0.5
    assert set(WEIGHTS) >= {0.0, 0.5, 1.0}
