"""The class mix from labels alone, measured."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from baserate.learners import TrainByWeights
from baserate.trackers import FLHFTL, LastSighting
from baserate_lab.paper.supervised import marginals, problems

K = problems.N_CLASSES


@pytest.fixture(scope="module")
def errors():
    return marginals.run_marginals((marginals.PAPER_LENGTH,), n_seeds=20)


@pytest.mark.parametrize(("tracker", "most"), [("FLH-FTL", 0.85), ("FLH-FTL (window)", 0.75)])
def test_flh_ftl_knows_the_mix_better_than_the_history(errors, tracker, most):
    shares = marginals.ratios(errors)[0, list(marginals.TRACKERS).index(tracker)]
    assert (shares <= most).all()
    assert (shares > 0.5).all()  # a tracker that looked ahead would be far better


def test_the_frequencies_are_noisier_than_the_truth(errors):
    # The noise of a round is not known before it: it adds its variance, about half of that of the uniform mix.
    added = errors[0, :, :, 0] - errors[0, :, :, 1]
    assert added.mean() == pytest.approx(0.5 * 0.9 / marginals.BATCH_SIZE, rel=0.15)


def test_predictions_come_before_sightings():
    sightings = np.eye(3)[[0, 1, 2]]
    tracker = marginals.bound(LastSighting(3), 3)
    np.testing.assert_allclose(marginals.played(tracker, sightings), [[1 / 3] * 3, [1, 0, 0], [0, 1, 0]])


def test_trackers_are_as_in_a_learner():
    rng = np.random.default_rng(0)
    learner = TrainByWeights(K, LogisticRegression(), FLHFTL(K, experts="window"), floor=1e-9)
    y = rng.integers(K, size=(6, 20))
    sightings = np.array([np.bincount(labels, minlength=K) / 20 for labels in y])
    predictions = marginals.played(marginals.bound(FLHFTL(K, experts="window"), K), sightings)
    for labels, prediction in zip(y, predictions, strict=True):
        np.testing.assert_allclose(learner.prior_, prediction, atol=1e-8)
        learner.update(rng.standard_normal((20, 2)), labels)
