"""Epochs: how long they are, and when training stops."""

import numpy as np
import pytest

from baserate.learners import ContinualTraining
from baserate.learners._epochs import stopped_rising, train_in_epochs
from baserate.learners._pool import Pool

from .numbered_samples import K
from .stub_models import Fixed, Scripted


@pytest.mark.parametrize(("n", "steps", "size"), [(50, 10, 40), (1000, 10, 100), (2000, 16, 100)])
def test_an_epoch_is_as_many_samples_as_there_are_and_ten_batches_at_least(n, steps, size):
    learner = ContinualTraining(K, Fixed(), patience=1, batch_size=100, epoch_steps=None, rng=0)
    learner.update(np.zeros((n, 1)), np.arange(n) % K)
    assert [len(y) for _, y in learner.model_.batches] == steps * [size]


@pytest.mark.parametrize(
    ("accuracies", "stopped"),
    [([3, 2], False), ([3, 2, 1], True), ([1, 2, 3], False), ([1, 3, 2], False), ([1, 3, 2, 2], True),
     ([2, 2, 2], True), ([9, 1, 2, 3], False)],
)  # fmt: skip
def test_training_stops_when_the_best_of_the_last_three_is_the_oldest(accuracies, stopped):
    assert stopped_rising(accuracies, 3) == stopped


@pytest.mark.parametrize(
    ("right", "patience", "max_epochs", "epochs"),
    [
        ([5, 6, 7, 6, 6, 9, 9], 3, 100, 5),  # of 7, 6, 6 the oldest is the best
        ([5, 6, 7, 6, 6, 9, 9], 2, 100, 4),
        ([5, 6, 7, 6, 8, 9, 9], 3, 4, 4),
        ([5, 6, 7, 8, 9, 9, 9, 9], 3, 100, 7),
        ([5, 6, 7, 8, 9, 9, 9], 1, 100, 1),
    ],
)
def test_epochs_of_a_round(right, patience, max_epochs, epochs):
    y = np.arange(50) % K
    learner = ContinualTraining(K, Scripted(right), patience=patience, max_epochs=max_epochs, rng=0)
    learner.update(y[:, np.newaxis].astype(float), y)
    assert learner.gradient_steps_ == 10 * epochs


def test_validation_samples_weigh_what_they_are_drawn_with():
    """Right about the heavy sample in the second epoch, then about the light one: unweighted, nothing ever changes."""

    class Seesaw(Fixed):
        def predict(self, X):
            epoch = len(self.batches) // 10
            return np.array([0, 1]) if epoch == 2 else np.array([1, 0])  # of the labels 0, 0

    pool = Pool.empty(3)._replace(
        X=np.zeros((3, 1)), y=np.zeros(3, dtype=int), held=np.array([False, True, True]), propensity=np.ones(3)
    )
    for weights, epochs in (([1.0, 9.0, 1.0], 4), ([1.0, 1.0, 9.0], 3), ([1.0, 1.0, 1.0], 3)):
        steps = train_in_epochs(
            Seesaw(),
            pool,
            K,
            np.array(weights),
            max_epochs=9,
            patience=3,
            batch_size=5,
            epoch_steps=None,
            rng=np.random.default_rng(0),
        )
        assert steps == 10 * epochs
