"""CT: what is drawn, and what is held back for validation."""

import numpy as np
import pytest
from scipy.stats import chisquare

from baserate.learners import ContinualTraining

from .numbered_samples import NUMBERED, K, Y, batches_of
from .small_net import small_net
from .stub_models import Fixed, rounds


def test_plain_batches_have_the_mix_of_the_pool():
    learner, (X, y) = batches_of(ContinualTraining)
    train = ~learner._pool.held
    assert chisquare(np.bincount(y, minlength=K), len(y) * np.bincount(Y[train]) / train.sum()).pvalue > 0.01
    drawn = np.bincount(X[:, 0].astype(int), minlength=1000)
    assert (drawn[~train] == 0).all()
    assert chisquare(drawn[train]).pvalue > 0.01


@pytest.mark.parametrize("n", [1, 3, 7, 50])
@pytest.mark.parametrize("seed", range(5))
def test_one_sample_of_five_is_for_validation(n, seed):
    learner = ContinualTraining(K, Fixed(), patience=1, rng=seed)
    for t in range(1, 12):
        learner.update(np.zeros((n, 1)), np.zeros(n, dtype=int))
        held = int(learner._pool.held.sum())
        assert held in (n * t // 5, -(-n * t // 5))  # exactly a fifth where it can be
    if n == 1:
        assert not learner._pool.held[0]  # the first of all is to train on


def test_single_samples_in_a_rhythm_of_five_do_not_always_fall_on_the_same_place():
    learner = ContinualTraining(5, Fixed(np.full(5, 0.2)), patience=1, epoch_steps=1, rng=0)
    for t in range(300):
        learner.update(np.zeros((1, 1)), [t % 5])
        assert learner._pool.held.sum() in (t // 5, t // 5 + 1)
    counts = learner._pool.counts()
    assert (counts.sum(axis=0) == 60).all()
    assert counts[1].sum() == 60
    assert chisquare(counts[1]).pvalue > 0.01  # every place of the five is as likely


def test_rounds_have_random_numbers_of_their_own():
    learner = ContinualTraining(K, Fixed(), patience=1, rng=0)
    for _ in range(2):
        learner.update(NUMBERED[:50], Y[:50])
    pool = learner._pool
    assert pool.held[:50].tolist() != pool.held[50:].tolist()
    assert pool.key[:50].tolist() != pool.key[50:].tolist()
    (X, _), (Z, _) = learner.model_.batches[0], learner.model_.batches[10]
    assert X.tolist() != Z.tolist()


def test_validation_samples_are_chosen_at_random():
    pools = []
    for seed in (0, 1, 0):
        learner = ContinualTraining(K, Fixed(), patience=1, rng=seed)
        learner.update(NUMBERED[:50], Y[:50])
        pools.append(learner._pool.held.tolist())
    assert pools[0] == pools[2] != pools[1]


def test_single_precision_is_kept():
    learner = ContinualTraining(K, small_net(), max_epochs=2, rng=0)
    for t, (X, y) in enumerate(rounds(3, 30, K)):
        learner.update(X.astype(np.float32) if t != 1 else X, y)
        assert learner._pool.X.dtype == np.float32
        assert learner.predict_proba(X).dtype == np.float64
    assert learner.model_.coefs_[0].dtype == np.float32
    with pytest.raises(ValueError, match="X row 0 holds inf in column 1"):
        learner.predict_proba([[0.0, 1e300, 0.0]])
