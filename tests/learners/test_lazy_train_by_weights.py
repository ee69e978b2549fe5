"""Algorithm 4: against a naive transcription, trainings only at switches, re-weighting from the mix trained for."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from baserate.checks import checks_for
from baserate.learners import TrainByWeights
from baserate.learners.lazy_train_by_weights import LazyTrainByWeights
from baserate.simplex import project
from baserate.state import dumps, loads
from baserate.trackers import FLHFTL, FollowTheHistory, LastSighting, LowSwitching

from .stub_models import Fixed, rounds

K = 3
FITS = []


class Counting(GaussianNB):
    """Keeps the labels and weights of every fit."""

    def fit(self, X, y, sample_weight=None):
        FITS.append((np.array(y), np.array(sample_weight)))
        return super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def _no_fits_yet():
    FITS.clear()


def _steady(n_rounds, n, k, seed=0):
    """Rounds of Gaussian classes whose mix stands still."""
    rng = np.random.default_rng(seed)
    for _ in range(n_rounds):
        y = rng.integers(k, size=n)
        yield np.eye(k)[y] + 0.5 * rng.standard_normal((n, k)), y


def _flipping(n_rounds, n, seed=0):
    """Two classes, as likely as each other or almost one alone, every ten rounds."""
    rng = np.random.default_rng(seed)
    for t in range(n_rounds):
        y = (rng.random(n) < (0.05 if t // 10 % 2 else 0.5)).astype(int)
        yield rng.normal(2.0 * y - 1.0, 1.0)[:, np.newaxis], y


def _frequencies(y, k):
    return np.bincount(y, minlength=k) / len(y)


def _naive(stream, k, floor, threshold):
    """The lines of Algorithm 4; LPA is tested on its own."""
    alg = LowSwitching(FLHFTL(k), threshold=threshold)
    expected, past, outputs, model, last, calls = [], [], [], None, None, []
    for t, (X, y) in enumerate(stream, start=1):
        q = project(alg.predict()[np.newaxis], np.full(k, floor), np.ones(k))[0]  # line 1
        if past and (last is None or (q != last).any()):  # lines 2 and 3
            weights = np.concatenate([q[labels] / q_i[labels] for q_i, (_, labels) in zip(expected, past, strict=True)])
            model = LogisticRegression().fit(  # line 5
                np.concatenate([x for x, _ in past]), np.concatenate([z for _, z in past]), sample_weight=weights
            )
            calls.append(t - 1)
        last = q if past else None
        outputs.append(np.tile(q, (len(X), 1)) if model is None else model.predict_proba(X))  # line 7
        past.append((X, y))  # line 8
        expected.append(q)
        alg.update(_frequencies(y, k))  # lines 9 and 10
    return outputs, calls


def test_without_reweighting_agrees_with_a_naive_transcription():
    stream = list(_flipping(60, 40))
    outputs, calls = _naive(stream, 2, 0.01, 0.2)
    tracker = LowSwitching(FLHFTL(2), threshold=0.2)
    learner = LazyTrainByWeights(2, LogisticRegression(), tracker, reweight=False, floor=0.01)
    for (X, y), proba in zip(stream, outputs, strict=True):
        np.testing.assert_allclose(learner.predict_proba(X), proba, rtol=0, atol=1e-9)
        learner.update(X, y)
    assert [t for t in learner.erm_rounds_ if t < 60] == calls
    assert learner.erm_calls_ == len(learner.erm_rounds_)
    assert 10 < len(calls) < 40  # it has met both alarms and quiet stretches


@pytest.mark.parametrize("reweight", [False, True])
def test_trains_only_when_the_tracker_switches(reweight):
    stream = list(_flipping(80, 40))
    beside = LowSwitching(FLHFTL(2))
    learner = LazyTrainByWeights(2, Counting(), reweight=reweight)
    switches = []
    for t, (X, y) in enumerate(stream, start=1):
        beside.update(_frequencies(y, 2))
        before, model = len(FITS), learner.model_
        learner.update(X, y)
        assert len(FITS) - before == learner.should_retrain_ == (learner.model_ is not model)
        if beside.switched_:
            switches.append(t)
    assert len(FITS) == learner.erm_calls_ == len(learner.erm_rounds_)
    if reweight:
        assert set(learner.erm_rounds_) < set(switches)
    else:
        assert learner.erm_rounds_ == switches


def test_passes_over_switches_until_there_are_a_tenth_more_of_the_classes_expected():
    learner = LazyTrainByWeights(2, GaussianNB())
    now, then, passed_over, otherwise = np.zeros(2), np.ones(2), 0, 0
    for t, (X, y) in enumerate(_flipping(160, 40)):
        learner.update(X, y)
        now += np.bincount(y, minlength=2)
        worth = t == 0 or (learner.tracker_.switched_ and learner.prior_ @ (now / then) >= 1.1)
        assert learner.should_retrain_ == worth
        passed_over += learner.tracker_.switched_ and not worth
        otherwise += learner.tracker_.switched_ and worth != (now.sum() >= 1.1 * then.sum())
        then = now.copy() if worth else then
    assert passed_over > 3
    assert otherwise > 0  # it is the classes expected that count, not all


@pytest.mark.parametrize("reweight", [False, True])
def test_a_stream_that_stands_still_costs_a_logarithm_of_trainings(reweight):
    learner = LazyTrainByWeights(K, GaussianNB(), reweight=reweight)
    for X, y in _steady(200, 30, K):
        learner.update(X, y)
    assert learner.erm_rounds_ == [1, 2, 4, 8, 16, 32, 64, 128]


def test_the_weights_make_the_samples_have_the_mix_trained_for():
    learner = LazyTrainByWeights(K, Counting())
    for X, y in rounds(30, 40, K):
        learner.update(X, y)
        if learner.should_retrain_:
            labels, weights = FITS[-1]
            expected = learner.prior_ / 2 + 1 / 6
            np.testing.assert_allclose(np.bincount(labels, weights) / weights.sum(), expected, rtol=1e-12)
            np.testing.assert_allclose(learner._mix, expected, rtol=1e-12)
            assert weights.mean() == pytest.approx(1)
    assert 4 < len(FITS) < 30
    assert np.ptp(FITS[-1][1]) > 0.1


def test_reweights_from_the_mix_trained_for_to_the_one_expected_now():
    """By hand, in every round; and for generative classes the result is that of the model trained for it."""
    learner = LazyTrainByWeights(K, GaussianNB(), floor=0.02)
    beside = LowSwitching(FLHFTL(K))
    mix, moved = None, 0
    for X, y in rounds(40, 40, K):
        q = project(beside.tracker_.predict()[np.newaxis], np.full(K, 0.02), np.ones(K))[0]
        np.testing.assert_array_equal(learner.prior_, q)
        if mix is not None:
            by_hand = learner.model_.predict_proba(X) * q / mix
            np.testing.assert_allclose(
                learner.predict_proba(X), by_hand / by_hand.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12
            )
            assert learner.model_.class_prior_ == pytest.approx(mix)
            moved += not learner.should_retrain_ and np.abs(q - mix).max() > 0.05
        beside.update(_frequencies(y, K))
        learner.update(X, y)
        if learner.should_retrain_:
            mix = learner.prior_ / 2 + 1 / 6
    assert moved > 10


def test_is_as_good_as_training_every_round():
    """Mixes that flip, too: the literal algorithm is the one that pays for its laziness."""
    stream = list(_flipping(120, 30, seed=1))
    learners = [
        TrainByWeights(2, LogisticRegression()),
        LazyTrainByWeights(2, LogisticRegression()),
        LazyTrainByWeights(2, LogisticRegression(), reweight=False),
    ]
    wrong = np.zeros(3)
    for X, y in stream:
        for i, learner in enumerate(learners):
            wrong[i] += (learner.predict_proba(X).argmax(axis=1) != y).mean() / len(stream)
            learner.update(X, y)
    assert wrong[1] < wrong[0] + 0.005 < wrong[2]
    assert learners[1].erm_calls_ <= 0.15 * 120


def test_later_rounds_do_not_reach_back():
    stream = list(rounds(8, 30, K))
    clean, poisoned = (LazyTrainByWeights(K, LogisticRegression(), rng=0) for _ in range(2))
    for t, (X, y) in enumerate(stream):
        same = clean.predict_proba(X).tobytes() == poisoned.predict_proba(X).tobytes()
        assert same == (t <= 5)
        clean.update(X, y)
        poisoned.update(X, y if t < 5 else (y + 1) % K)


def test_a_tracker_is_wrapped_unless_it_switches_seldom_already():
    assert isinstance(LazyTrainByWeights(K, GaussianNB()).tracker_.tracker_, FLHFTL)
    wrapped = LazyTrainByWeights(K, GaussianNB(), FollowTheHistory(K)).tracker_
    assert isinstance(wrapped, LowSwitching)
    assert isinstance(wrapped.tracker_, FollowTheHistory)
    own = LowSwitching(FLHFTL(K), threshold="theory")
    learner = LazyTrainByWeights(K, GaussianNB(), own)
    assert learner.tracker_.threshold == "theory"
    assert isinstance(learner.tracker_.tracker_, FLHFTL)
    learner.update(np.eye(K), np.arange(K))
    assert own.rounds_ == 0


def test_trains_as_soon_as_there_are_two_classes():
    X = np.random.default_rng(0).standard_normal((12, 2))
    for reweight in (False, True):
        learner = LazyTrainByWeights(K, GaussianNB(), reweight=reweight)
        learner.update(X, np.zeros(12, dtype=int))
        assert learner.should_retrain_
        assert learner.erm_calls_ == 0
        proba = learner.predict_proba(X)
        np.testing.assert_allclose(proba, np.tile(learner.prior_, (12, 1)))
        learner.update(X, np.zeros(12, dtype=int))
        learner.update(X, np.arange(12) % 2)
        assert learner.erm_rounds_ == [3]


def test_a_new_class_is_a_reason_to_train_and_before_has_its_share():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    lazy, literal = (LazyTrainByWeights(K, GaussianNB(), reweight=reweight) for reweight in (True, False))
    for learner in (lazy, literal):
        for _ in range(5):
            learner.update(X, np.arange(40) % 2)
        assert learner.erm_rounds_ == [1]  # the mix never moves
        proba = learner.predict_proba(X)
        np.testing.assert_allclose(proba[:, 2], learner.prior_[2])
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        learner.update(X, np.r_[np.arange(38) % 2, 2, 2])
        assert not learner.tracker_.switched_
    assert lazy.erm_rounds_ == [1, 6]
    assert list(lazy.model_.classes_) == [0, 1, 2]
    assert literal.erm_rounds_ == [1]  # as it is written
    np.testing.assert_allclose(literal.predict_proba(X)[:, 2], literal.prior_[2])


def test_by_sampling_what_was_never_trained_has_its_share_of_the_prior():
    """The net has a column for every class; that of a class without samples says nothing."""
    learner = LazyTrainByWeights(K, Fixed((0.1, 0.3, 0.6)), by="sampling", max_epochs=3, rng=0)
    learner.update(np.zeros((40, 1)), np.arange(40) % 2)
    y = learner._pool.y[~learner._pool.held]
    prior = learner.prior_
    mix = 0.25 + 0.5 * prior[:2] / prior[:2].sum()
    np.testing.assert_allclose(learner._mix, [*mix, 0])
    drawn = np.concatenate([labels for _, labels in learner.model_.batches])
    assert drawn.mean() == pytest.approx(mix[1], abs=0.03)
    assert learner._weights()[~learner._pool.held] @ y / len(y) == pytest.approx(mix[1])
    odds = np.array([0.1, 0.3]) * prior[:2] / mix
    expected = [*(1 - prior[2]) * odds / odds.sum(), prior[2]]
    np.testing.assert_allclose(learner.predict_proba(np.zeros((2, 1))), [expected] * 2)
    learner.model_.row = (0.0, 0.0, 1.0)  # all for a class that it has never seen
    np.testing.assert_allclose(learner.predict_proba(np.zeros((1, 1))), [prior])


def test_by_sampling_reweights_a_net():
    net = SGDClassifier(loss="log_loss", alpha=1e-3, learning_rate="constant", eta0=0.01)
    learner = LazyTrainByWeights(2, net, LastSighting(2), by="sampling", rng=0)
    rng = np.random.default_rng(0)
    for share in (0.5, 0.5, 0.5, 0.1):
        y = (np.arange(400) < 400 * share).astype(int)
        learner.update(rng.normal(y - 0.5, 1.0)[:, np.newaxis], y)
    assert learner.predict_proba([[0.0]])[0, 0] == pytest.approx(0.9, abs=0.06)
    assert learner.gradient_steps_ >= 30


@pytest.mark.parametrize("reweight", [False, True])
def test_an_empty_round_changes_nothing_but_the_count(reweight):
    X, y = next(rounds(1, 60, K))
    learner = LazyTrainByWeights(K, GaussianNB(), reweight=reweight)
    learner.update(np.empty((0, 7)), [])
    assert not learner.should_retrain_
    learner.update(X, y)
    prior, model = learner.prior_, learner.model_
    learner.update(np.empty((0, 3)), [])
    assert learner.rounds_ == 3
    assert not learner.should_retrain_
    assert learner.model_ is model
    np.testing.assert_array_equal(learner.prior_, prior)
    assert learner.erm_rounds_ == [2]
    assert learner.predict_proba(np.empty((0, 3))).shape == (0, K)


@pytest.mark.parametrize("reweight", [False, True])
def test_an_error_of_the_estimator_changes_nothing(reweight):
    stream = list(rounds(3, 30, K))
    learner = LazyTrainByWeights(K, LogisticRegression(), reweight=reweight, rng=0)
    learner.update(*stream[0])
    before = dumps(learner)
    learner.estimator.C = -1.0
    with pytest.raises(ValueError, match="'C' parameter"):
        learner.update(*stream[1])
    learner.estimator.C = 1.0
    assert dumps(learner) == before
    learner.update(*stream[1])
    assert learner.erm_rounds_ == [1, 2]


@pytest.mark.parametrize("reweight", [False, True])
@pytest.mark.parametrize("max_pool", [None, 40])
def test_resumes_with_the_models_handed_over(reweight, max_pool):
    """Saved between two trainings: the model is of an earlier pool."""
    stream = list(rounds(16, 20, K))
    running = LazyTrainByWeights(K, RandomForestClassifier(5), reweight=reweight, max_pool=max_pool, rng=0)
    for X, y in stream[:6]:
        running.update(X, y)
    assert not running.should_retrain_
    data = dumps(running)
    resumed = loads(data, estimator=RandomForestClassifier(5), model_=running.model_)
    for X, y in stream[6:]:
        assert resumed.predict_proba(X).tobytes() == running.predict_proba(X).tobytes()
        running.update(X, y)
        resumed.update(X, y)
    assert resumed.erm_rounds_ == running.erm_rounds_
    assert running.erm_rounds_[-1] > 6
    with pytest.raises(ValueError, match=r"hand it over: load\(path, model_=model\)"):
        loads(data, estimator=RandomForestClassifier(5))


def test_reset_forgets_the_trainings():
    learner = LazyTrainByWeights(K, GaussianNB(), rng=0)
    fresh = dumps(learner)
    for X, y in rounds(3, 20, K):
        learner.update(X, y)
    learner.reset()
    assert dumps(learner) == fresh


@pytest.mark.parametrize("example", LazyTrainByWeights.examples(), ids=repr)
def test_keeps_the_contract_of_learners(example):
    for check in checks_for(example):
        check(example)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reweight": 1}, "reweight is 1; choose one of True, False"),
        ({"reweight": "no"}, "reweight is 'no'"),
        ({"tracker": FLHFTL(4)}, "tracker follows 4 classes"),
        ({"tracker": int}, "tracker is"),
        ({"tracker": LowSwitching(FLHFTL(2))}, "tracker follows 2 classes"),
        ({"estimator": KNeighborsClassifier()}, "takes no sample_weight"),
        ({"by": "magic"}, "by is 'magic'"),
        ({"floor": 0.0}, "floor is 0"),
        ({"n_classes": 1}, "n_classes"),
        ({"max_pool": 2}, "max_pool"),
        ({"rng": "seed"}, "rng"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    good = LazyTrainByWeights(K, LogisticRegression(), rng=0)
    before = dumps(good)
    with pytest.raises((ValueError, TypeError), match=message):
        LazyTrainByWeights(**{"n_classes": K, "estimator": LogisticRegression(), **arguments})
    with pytest.raises((ValueError, TypeError), match=message):
        good.set_params(**arguments)
    assert dumps(good) == before


def test_nobody_tells_it_the_truth():
    with pytest.raises(TypeError, match="priors"):
        LazyTrainByWeights(2, LogisticRegression(), priors=[[0.5, 0.5]])
