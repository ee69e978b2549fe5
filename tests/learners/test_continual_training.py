"""CT and CT-RS: what is drawn, when training stops, how outputs are re-weighted."""

import copy

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from baserate import evaluate
from baserate.learners import ContinualTraining, ContinualTrainingResampled
from baserate.learners._epochs import stopped_rising, train_in_epochs
from baserate.learners._pool import Pool
from baserate.shifts import Bernoulli, sample_stream
from baserate.state import dumps, loads
from baserate.trackers import FollowTheHistory

from .stub_models import Fixed, Hopeless, Interrupted, Knowing, Mute, Scripted, Tired, rounds

K = 3
BOTH = [ContinualTraining, ContinualTrainingResampled]
# Ten rounds' worth of labels, very uneven.
Y = np.random.default_rng(0).permutation(np.repeat(np.arange(K), [700, 200, 100]))
NUMBERED = np.arange(1000.0)[:, np.newaxis]


def _batches(cls, **params):
    learner = cls(K, Knowing(Y), batch_size=50, patience=30, epoch_steps=None, rng=0, **params)
    learner.update(NUMBERED, Y)
    assert learner.gradient_steps_ == len(learner.model_.batches) == 30 * 16  # of 800 samples
    return learner, [np.concatenate(part) for part in zip(*learner.model_.batches, strict=True)]


def small_net():
    """A network whose batches are larger than the pool."""
    return MLPClassifier(
        (5,),
        solver="sgd",
        learning_rate_init=0.1,
        nesterovs_momentum=False,
        alpha=0.02,
        batch_size=200,
        max_iter=1,
        random_state=0,
    )


def test_resampled_batches_have_a_uniform_class_mix():
    learner, (X, y) = _batches(ContinualTrainingResampled)
    assert chisquare(np.bincount(y, minlength=K)).pvalue > 0.01
    # Within a class every sample is as likely: of class 2, with 80 of them, all are drawn about as often.
    drawn = np.bincount(X[y == 2, 0].astype(int), minlength=1000)[(Y == 2) & ~learner._pool.held]
    assert chisquare(drawn).pvalue > 0.01
    assert (X[:, 0].astype(int)[:, np.newaxis] != np.flatnonzero(learner._pool.held)).all()


def test_plain_batches_have_the_mix_of_the_pool():
    learner, (X, y) = _batches(ContinualTraining)
    train = ~learner._pool.held
    assert chisquare(np.bincount(y, minlength=K), len(y) * np.bincount(Y[train]) / train.sum()).pvalue > 0.01
    drawn = np.bincount(X[:, 0].astype(int), minlength=1000)
    assert (drawn[~train] == 0).all()
    assert chisquare(drawn[train]).pvalue > 0.01


@pytest.mark.parametrize(("n", "steps", "size"), [(50, 10, 40), (1000, 10, 100), (2000, 16, 100)])
def test_an_epoch_is_as_many_samples_as_there_are_and_ten_batches_at_least(n, steps, size):
    learner = ContinualTraining(K, Fixed(), patience=1, batch_size=100, epoch_steps=None, rng=0)
    learner.update(np.zeros((n, 1)), np.arange(n) % K)
    assert [len(y) for _, y in learner.model_.batches] == steps * [size]


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(("epoch", "steps"), [({}, 30), ({"epoch_steps": 1}, 3), ({"epoch_steps": 7}, 21)])
def test_an_epoch_may_be_any_number_of_batches(cls, epoch, steps):
    """Whatever the size of the pool; after an epoch validation decides, for which three of them are the least."""
    learner = cls(K, Fixed(), batch_size=100, rng=0, **epoch)
    learner.update(np.zeros((5000, 1)), np.arange(5000) % K)
    assert [len(y) for _, y in learner.model_.batches] == steps * [100]


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


def test_the_resampled_counts_every_class_the_same_in_training_and_in_validation():
    learner = ContinualTrainingResampled(K, Fixed(), rng=0)
    learner.update(NUMBERED, Y)
    pool, weights = learner._pool, learner._weights()
    for part in (pool.held, ~pool.held):
        shares = np.bincount(pool.y[part], weights=weights[part])
        np.testing.assert_allclose(shares, 1.0)


def test_outputs_are_reweighted_from_uniform_to_the_expected_mix():
    y = np.repeat([0, 1, 2], [5, 10, 35])  # a mix of 0.1, 0.2, 0.7
    learner = ContinualTrainingResampled(K, Fixed((0.5, 0.3, 0.2)), FollowTheHistory(K), rng=0)
    learner.update(NUMBERED[:50], y)
    # (0.5 * 0.1, 0.3 * 0.2, 0.2 * 0.7) * 3, over their sum
    np.testing.assert_allclose(learner.prior_, [0.1, 0.2, 0.7])
    np.testing.assert_allclose(learner.predict_proba([[0.0]]), [[0.2, 0.24, 0.56]])
    plain = ContinualTraining(K, Fixed((0.5, 0.3, 0.2)), rng=0)
    plain.update(NUMBERED[:50], y)
    np.testing.assert_allclose(plain.predict_proba([[0.0]]), [[0.5, 0.3, 0.2]])


def test_floor_and_priors_of_the_resampled():
    y = np.zeros(10, dtype=int)
    learner = ContinualTrainingResampled(K, Fixed(), FollowTheHistory(K), rng=0)
    learner.update(NUMBERED[:10], y)
    np.testing.assert_array_equal(learner.predict_proba([[0.0]]), [[1.0, 0.0, 0.0]])
    learner.set_params(floor=0.1)
    assert learner.rounds_ == 0
    learner.update(NUMBERED[:10], y)
    np.testing.assert_allclose(learner.prior_, [0.8, 0.1, 0.1])
    path = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    told = ContinualTrainingResampled(K, Fixed((0.5, 0.25, 0.25)), priors=path, rng=0)
    np.testing.assert_allclose(told.predict_proba([[0.0]]), path[:1])
    told.update(NUMBERED[:10], y)
    np.testing.assert_allclose(told.predict_proba([[0.0]]), [[0.75, 0.25, 0.0]])


@pytest.mark.parametrize("cls", BOTH)
def test_later_rounds_do_not_reach_back(cls):
    stream = list(rounds(6, 30, K))
    clean, poisoned = (cls(K, SGDClassifier(loss="log_loss"), rng=0) for _ in range(2))
    for t, (X, y) in enumerate(stream):
        same = clean.predict_proba(X).tobytes() == poisoned.predict_proba(X).tobytes()
        assert same == (t <= 3)
        clean.update(X, y)
        poisoned.update(X, y if t < 3 else (y + 1) % K)


@pytest.mark.parametrize("cls", BOTH)
def test_training_goes_on_from_the_model_of_the_round_before(cls):
    learner = cls(K, Knowing(Y), batch_size=2, patience=1, epoch_steps=None, rng=0)
    for t in range(3):
        learner.update(NUMBERED[:20], Y[:20])
        assert len(learner.model_.batches) == learner.gradient_steps_ == sum([10, 16, 24][: t + 1])
    assert learner.estimator.batches == []


@pytest.mark.parametrize("cls", BOTH)
def test_a_model_that_has_come_to_nothing_gives_way_to_a_fresh_one(cls):
    learner = cls(K, Hopeless(Y, per_round=10), patience=1, rng=0)
    learner.update(NUMBERED[:200], Y[:200])
    assert learner.gradient_steps_ == len(learner.model_.batches) == 10
    learner.update(NUMBERED[200:400], Y[200:400])
    assert learner.gradient_steps_ == 30  # trained on, found to be no better than a guess, and trained anew
    assert len(learner.model_.batches) == 10
    assert {int(x) for X, _ in learner.model_.batches for x in X[:, 0]} & set(range(200))  # on all samples so far
    # One that is no better either does not take its place.
    learner = cls(K, Fixed(), patience=1, rng=0)
    for t in (1, 2):
        learner.update(NUMBERED[:200], Y[:200])
        assert (learner.gradient_steps_, len(learner.model_.batches)) == (20 * t, 10 * t)
    # Where there is only one class, one label for all is all there is to know.
    learner = cls(K, Fixed((1.0, 0.0, 0.0)), patience=1, rng=0)
    learner.update(NUMBERED[:200], np.zeros(200, dtype=int))
    assert learner.gradient_steps_ == 10


@pytest.mark.parametrize("cls", BOTH)
def test_an_empty_round_advances_and_trains_nothing(cls):
    learner = cls(K, Fixed(), rng=0)
    np.testing.assert_allclose(learner.predict_proba(NUMBERED[:2]), 1 / K)
    learner.update(NUMBERED[:20], Y[:20])
    before = learner.gradient_steps_, learner.model_
    learner.update(np.empty((0, 1)), [])
    assert learner.rounds_ == 2
    assert (learner.gradient_steps_, learner.model_) == before
    assert learner.predict_proba(np.empty((0, 1))).shape == (0, K)


@pytest.mark.parametrize("cls", BOTH)
def test_ctrl_c_gets_through_and_changes_nothing(cls):
    learner = cls(K, Interrupted(), rng=0)
    with pytest.raises(KeyboardInterrupt):
        learner.update(NUMBERED[:20], Y[:20])
    assert learner.rounds_ == 0
    assert learner.model_ is None


@pytest.mark.parametrize("cls", BOTH)
def test_a_training_that_fails_half_way_leaves_the_model_as_it_was(cls):
    learner = cls(K, Tired(15), patience=1, rng=0)
    learner.update(NUMBERED[:20], Y[:20])
    model, before = learner.model_, learner.predict_proba([[0.0]])
    with pytest.raises(RuntimeError, match="no more"):
        learner.update(NUMBERED[:20], Y[:20])
    assert learner.model_ is model
    assert len(model.batches) == learner.gradient_steps_ == 10
    assert learner.rounds_ == 1
    np.testing.assert_array_equal(learner.predict_proba([[0.0]]), before)


@pytest.mark.parametrize("cls", BOTH)
def test_a_net_resumes_with_its_model_handed_over(cls):
    stream = list(rounds(6, 30, K))
    net = small_net()  # no warning says that its batches are too large
    running = cls(K, net, max_epochs=5, rng=0)
    for X, y in stream[:3]:
        running.update(X, y)
    data, kept = dumps(running), copy.deepcopy(running.model_)
    resumed = loads(data, estimator=small_net(), model_=kept)
    for X, y in stream[3:]:
        assert resumed.predict_proba(X).tobytes() == running.predict_proba(X).tobytes()
        running.update(X, y)
        resumed.update(X, y)
    with pytest.raises(ValueError, match="model_=model"):
        loads(data, estimator=small_net())


def test_single_precision_is_kept():
    learner = ContinualTraining(K, small_net(), max_epochs=2, rng=0)
    for t, (X, y) in enumerate(rounds(3, 30, K)):
        learner.update(X.astype(np.float32) if t != 1 else X, y)
        assert learner._pool.X.dtype == np.float32
        assert learner.predict_proba(X).dtype == np.float64
    assert learner.model_.coefs_[0].dtype == np.float32
    with pytest.raises(ValueError, match="X row 0 holds inf in column 1"):
        learner.predict_proba([[0.0, 1e300, 0.0]])


@pytest.mark.parametrize("cls", BOTH)
def test_a_model_gone_astray_is_named(cls):
    learner = cls(K, Fixed((np.nan, 0.5, 0.5)), rng=0)
    learner.update(NUMBERED[:20], Y[:20])
    with pytest.raises(ValueError, match="the estimator's output row 0 holds NaN"):
        learner.predict_proba([[0.0]])


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": LogisticRegression()}, "estimator .* has no partial_fit"),
        ({"estimator": SGDClassifier(loss="hinge")}, "estimator .* has no predict_proba"),
        ({"estimator": SGDClassifier}, "estimator is the class SGDClassifier"),
        (
            {"estimator": Mute()},
            "expected a classifier with partial_fit and predict and predict_proba. It has no predict",
        ),
        ({"n_classes": 1}, "n_classes"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"patience": 0}, "patience"),
        ({"batch_size": 0}, "batch_size"),
        ({"epoch_steps": 0}, "epoch_steps"),
        ({"rng": -1}, "rng"),
    ],
)
def test_bad_parameters_are_named(cls, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        cls(**{"n_classes": K, "estimator": SGDClassifier(loss="log_loss"), **arguments})


def test_learning_pays_in_the_one_loop():
    """On a stream whose mix flips, CT-RS is better than chance by far, and better than CT."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(K), 500))
    X = 1.2 * np.eye(K)[y] + rng.normal(0, 0.6, size=(1500, K))
    stream = list(sample_stream(np.eye(K)[y], y, Bernoulli(), n_rounds=60, batch_size=20, features=X, rng=3))
    plain = evaluate(ContinualTraining(K, GaussianNB(), patience=1, rng=0), stream)
    resampled = evaluate(ContinualTrainingResampled(K, GaussianNB(), patience=1, rng=0), stream)
    assert resampled.error_rate < plain.error_rate < 0.3
    assert np.isnan(plain.mse)
    assert resampled.mse < 0.3
