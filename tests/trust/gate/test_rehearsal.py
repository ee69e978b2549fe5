"""A correction that is tried out on the holdout first."""

import numpy as np
import pytest

from baserate.trust.gate.rehearsal import HALF, WEIGHTS, belief, rehearse

EVEN, MORE = np.array([0.5, 0.5]), np.array([0.1, 0.9])


def rehearsed(row, per_class):
    """Rehearse a model that says the same of every sample, with so many samples of each class."""
    y = np.array([0, 1] * per_class)
    return rehearse(np.tile(row, (len(y), 1)), y, np.full(2, float(per_class)), EVEN, MORE)


def test_the_rehearsal_counts_samples_by_the_tracked_mix():
    """A class is better off with the correction only if it becomes more frequent."""
    assert rehearsed([0.55, 0.45], 1000) == 1.0
    # Leans to class 1 by mistake: moving on to 1 is right for a mix that has more of it.
    assert rehearsed([0.45, 0.55], 1000) == 1.0
    # Outputs that already are as sure of class 1 as the mix makes them: any correction is too much.
    assert rehearsed([0.1, 0.9], 1000) == 0.0
    half = np.sqrt(MORE) / np.sqrt(MORE).sum()
    assert rehearsed(half, 1000) == 0.5
    assert set(WEIGHTS) >= {0.0, 0.5, 1.0}


@pytest.mark.parametrize(("times", "part"), [(1, 0.75), (50, 0.1)])
def test_a_few_labels_speak_less_against_the_correction_than_many(times, part):
    """Three of ten samples of class 0 look as if they could be of class 1, and none of class 1 looks like them."""
    rows = [[0.95, 0.05]] * 7 + [[0.55, 0.45]] * 3 + [[0.05, 0.95]] * 10
    y = np.tile(np.repeat([0, 1], 10), times)
    assert rehearse(np.tile(rows, (times, 1)), y, np.full(2, 10.0 * times), EVEN, np.array([0.2, 0.8])) == part


def test_belief_is_half_at_thirty_effective_samples():
    assert belief(np.array([30.0, 100.0]), np.array([1.0, 0.0])) == 0.5
    assert belief(np.array([15.0, 15.0]), np.array([0.5, 0.5])) == 0.5
    assert belief(np.array([1000.0, 10.0]), np.array([1.0, 0.0])) < 0.001
    assert belief(np.array([1000.0, 10.0]), np.array([0.0, 1.0])) == pytest.approx(0.9)
    assert HALF == 30.0


@pytest.mark.parametrize("seed", range(12))
def test_it_is_as_the_formulas_have_it(seed):
    rng = np.random.default_rng(seed)
    k, n = 4, 80
    proba = rng.dirichlet(np.full(k, 0.5), n)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    counts, source = np.bincount(y).astype(float), np.full(k, 1 / k)
    tracked = rng.dirichlet(np.ones(k))
    effective = 1 / (tracked**2 / counts).sum()
    share = 1 / (1 + (effective / 30) ** 2)
    weights = (1 - share) * (np.eye(k)[y] / counts) + share * proba / proba.sum(axis=0)
    losses, errors = [], []
    for part in WEIGHTS:
        posterior = proba * (tracked / source) ** part
        posterior /= posterior.sum(axis=1, keepdims=True)
        wrong = 1 - np.eye(k)[posterior.argmax(axis=1)]
        losses.append((weights * -np.log(posterior)) @ tracked)
        errors.append((weights * wrong) @ tracked)
    losses, errors = np.sum(losses, axis=1), np.sum(errors, axis=1)
    expected = max(
        part
        for j, part in enumerate(WEIGHTS)
        if (losses[j] <= losses[:j] + 1e-6).all() and (errors[j] <= errors[:j] + 0.01).all()
    )
    assert rehearse(proba, y, counts, source, tracked) == expected


def test_a_class_that_the_model_never_names_counts_by_its_labels_alone():
    proba = np.tile([0.6, 0.4, 0.0], (30, 1))
    y = np.repeat(np.arange(3), 10)
    assert rehearse(proba, y, np.full(3, 10.0), np.full(3, 1 / 3), np.array([0.2, 0.7, 0.1])) in WEIGHTS
