"""The bounded pool: which samples stay, what they weigh, and that every weighted sum is right in expectation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from baserate.learners import ContinualTraining, ContinualTrainingResampled, LazyTrainByWeights, TrainByWeights
from baserate.learners._pool import Pool, most_of_each
from baserate.state import dumps, loads
from baserate.trackers import Arrows, FollowTheHistory

from .stub_models import rounds

K = 3
NET = SGDClassifier(loss="log_loss", random_state=0)
LEARNERS = {
    "ct": lambda **more: ContinualTraining(K, NET, max_epochs=2, patience=1, rng=0, **more),
    "ct-rs": lambda **more: ContinualTrainingResampled(K, NET, FollowTheHistory(K), max_epochs=2, rng=0, **more),
    "weights": lambda **more: TrainByWeights(K, GaussianNB(), FollowTheHistory(K), rng=0, **more),
    "sampling": lambda **more: TrainByWeights(K, NET, Arrows(K), by="sampling", max_epochs=2, rng=0, **more),
    "lazy": lambda **more: LazyTrainByWeights(K, GaussianNB(), rng=0, **more),
    "lazy sampling": lambda **more: LazyTrainByWeights(K, NET, by="sampling", max_epochs=2, rng=0, **more),
}


def _filled(labels, max_pool, seed, per_round=7):
    """A pool that has seen these labels, seven a round; each sample's one feature is its place in the stream."""
    rng = np.random.default_rng(seed)
    pool = Pool.empty(K)
    for start in range(0, len(labels), per_round):
        y = labels[start : start + per_round]
        X = np.arange(start, start + len(y), dtype=float)[:, np.newaxis]
        pool = pool.joined(X, y, np.ones(len(y)), rng, max_pool)
    return pool


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(0, 100))
def test_as_many_of_each_class_as_fit(seen, places):
    most = most_of_each(np.array(seen), places)

    def taken(n):
        return sum(min(count, n) for count in seen)

    assert taken(most) <= places
    assert most == max(seen) or taken(most + 1) > places


def test_nothing_is_dropped_before_the_pool_is_full():
    labels = np.random.default_rng(0).integers(K, size=60)
    bounded, whole = _filled(labels, 60, seed=1), _filled(labels, None, seed=1)
    for one, other in zip(bounded, whole, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(bounded.multiplicity(), 1.0)
    assert len(_filled(np.append(labels, 0), 60, seed=1).y) <= 60


def test_rare_classes_stay_whole_and_the_others_share_the_rest():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(K), [300, 100, 12]))
    pool = _filled(labels, 100, seed=3)
    seen, counts = pool.seen, pool.counts()
    np.testing.assert_array_equal(seen.sum(axis=0), [300, 100, 12])
    assert seen[1].sum() in (82, 83)  # a fifth of 412
    for part, places in ((0, 80), (1, 20)):
        most = most_of_each(seen[part], places)
        np.testing.assert_array_equal(counts[part], np.minimum(seen[part], most))
        assert places - K < counts[part].sum() <= places
    assert (counts[:, 2] == seen[:, 2]).all()
    assert (np.diff(pool.X[:, 0]) > 0).all()  # in the order of the stream
    np.testing.assert_array_equal(labels[pool.X[:, 0].astype(int)], pool.y)
    weights = pool.multiplicity()
    for part in (0, 1):
        for c in range(K):
            rows = (pool.held == part) & (pool.y == c)
            np.testing.assert_allclose(weights[rows].sum(), seen[part, c])


@pytest.mark.parametrize("per_round", [1, 7, 200])
def test_weighted_sums_are_right_in_expectation(per_round):
    """Of arbitrary numbers, one for each sample, early and late: over many pools, within four standard errors."""
    rng = np.random.default_rng(5)
    labels = rng.permutation(np.repeat(np.arange(K), [90, 70, 60]))
    # A pool that favoured the early or the late would show it. (Places that three classes cannot share stay empty.)
    numbers = rng.normal(3.0, 1.0, len(labels)) * np.linspace(0.0, 2.0, len(labels))
    sums = []
    for seed in range(400):
        pool = _filled(labels, 40, seed, per_round)
        sums.append(pool.multiplicity() @ numbers[pool.X[:, 0].astype(int)])
    error = np.std(sums, ddof=1) / np.sqrt(len(sums))
    assert np.std(sums) > 1
    assert abs(np.mean(sums) - numbers.sum()) < 4 * error
    assert 4 * error < 0.05 * numbers.sum()


@pytest.mark.parametrize("per_round", [1, 7, 200])
def test_every_sample_of_a_class_is_as_likely_to_stay(per_round):
    labels = np.arange(72) % K
    stayed = np.zeros(72)
    for seed in range(600):
        stayed[_filled(labels, 20, seed, per_round).X[:, 0].astype(int)] += 1
    share = stayed / 600
    kept = share.mean()
    assert 15 / 72 < kept <= 20 / 72  # fewer than three places may stay empty in each part
    noise = np.sqrt(kept * (1 - kept) / 600)
    assert np.abs(share - kept).max() < 4.2 * noise
    assert abs(share[:36].mean() - share[36:].mean()) < 5 * noise / np.sqrt(36)
    assert abs(share[-3:].mean() - kept) < 4 * noise / np.sqrt(3)


def test_weights_of_alg_2_carry_what_the_samples_stand_for():
    learner = LEARNERS["weights"](max_pool=50, floor=0.01)
    for X, y in rounds(10, 40, K):
        learner.update(X, y)
    pool = learner._pool
    by_hand = learner.prior_[pool.y] / pool.propensity * pool.multiplicity()
    assert pool.multiplicity().max() > 2
    np.testing.assert_allclose(learner._weights(), by_hand)
    model = GaussianNB().fit(pool.X, pool.y, sample_weight=by_hand)
    np.testing.assert_allclose(learner.model_.theta_, model.theta_)
    np.testing.assert_allclose(learner.model_.class_prior_, model.class_prior_)


def test_resampled_batches_still_have_every_class_alike():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(K), [800, 150, 50]))
    learner = LEARNERS["ct-rs"](max_pool=60)
    learner.update(labels[:, np.newaxis].astype(float), labels)
    pool = learner._pool
    for part in (pool.held, ~pool.held):
        np.testing.assert_allclose([learner._weights()[part & (pool.y == c)].sum() for c in range(K)], 1.0)


@pytest.mark.parametrize("name", ["lazy", "lazy sampling"])
def test_the_lazy_one_trains_for_its_mix_and_goes_on_training(name):
    learner = LEARNERS[name](max_pool=50)
    for X, y in rounds(60, 30, K):
        before = learner.erm_calls_
        learner.update(X, y)
        if learner.erm_calls_ > before:
            pool = learner._pool
            rows = np.ones(len(pool.y), dtype=bool) if name == "lazy" else ~pool.held
            weights = learner._weights() * rows
            shares = np.bincount(pool.y, weights, minlength=K) / weights.sum()
            np.testing.assert_allclose(shares, learner._mix)
    assert learner.erm_rounds_[-1] > 30  # long after the pool was full


def test_plain_batches_still_have_the_mix_of_the_stream():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(K), [800, 150, 50]))
    learner = ContinualTraining(K, NET, max_pool=60, rng=0)
    learner.update(labels[:, np.newaxis].astype(float), labels)
    drawn = []
    learner._train_on = lambda model, weights, rng: drawn.append(weights) or 0
    learner._learn(n_new=1)
    train = ~learner._pool.held
    shares = [drawn[0][train & (learner._pool.y == c)].sum() for c in range(K)]
    np.testing.assert_allclose(shares, learner._pool.seen[0])


@pytest.mark.parametrize("name", LEARNERS)
def test_memory_is_flat(name):
    learner = LEARNERS[name](max_pool=40)
    sizes = []
    for X, y in rounds(40, 15, K):
        learner.update(X, y)
        sizes.append(sum(array.nbytes for array in learner._pool))
        assert len(learner._pool.y) <= 40
        # Nothing larger hides behind the arrays.
        assert all(array.base is None or array.base.nbytes <= array.nbytes for array in learner._pool)
    assert max(sizes[3:]) <= max(sizes[:3]) * 1.01
    assert learner._pool.n_seen == 600


@pytest.mark.parametrize("name", LEARNERS)
def test_a_pool_that_holds_everything_changes_nothing(name):
    stream = list(rounds(5, 20, K))
    bounded, whole = LEARNERS[name](max_pool=100), LEARNERS[name]()
    for X, y in stream:
        bounded.update(X, y)
        whole.update(X, y)
        assert bounded.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes()


@pytest.mark.parametrize("name", ["weights", "sampling"])
def test_resumes_to_the_same_bits_with_a_full_pool(name):
    stream = list(rounds(9, 20, K))
    running = LEARNERS[name](max_pool=30)
    for X, y in stream[:5]:
        running.update(X, y)
    resumed = loads(dumps(running), estimator=running.estimator)
    for X, y in stream[5:]:
        assert resumed.predict_proba(X).tobytes() == running.predict_proba(X).tobytes()
        running.update(X, y)
        resumed.update(X, y)


def test_a_class_that_was_gone_for_long_is_still_known():
    """Its samples make way for nobody but themselves."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    learner = ContinualTrainingResampled(K, NET, FollowTheHistory(K), floor=0.01, max_pool=60, rng=0)
    for t in range(30):
        y = rng.integers(K, size=20) if t < 2 else rng.integers(2, size=20)
        learner.update(centres[y] + rng.normal(0.0, 0.5, (20, 2)), y)
    counts = learner._pool.counts().sum(axis=0)
    assert counts[2] == learner._pool.seen[:, 2].sum() > 5
    assert learner.predict_proba(centres).argmax(axis=1).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("size", [14, 0, -1, 20.5, "all", True])
def test_a_pool_that_is_too_small_is_named(name, size):
    with pytest.raises((ValueError, TypeError), match="max_pool"):
        LEARNERS[name](max_pool=size)
