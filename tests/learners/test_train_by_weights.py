"""Algorithm 2: against a naive transcription, with an oracle, with weights in every way that estimators take them."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from baserate.learners import TrainByWeights
from baserate.state import dumps, loads
from baserate.trackers import FLHFTL, FollowTheHistory, LastSighting

from .stub_models import Fixed, rounds

K = 3


def _naive(stream):
    """The lines of Algorithm 2 with follow-the-history as ALG, and what it expected in each round."""
    sightings, expected, past, outputs = [], [], [], []
    for X, y in stream:
        q = np.mean(sightings, axis=0) if sightings else np.full(K, 1 / K)  # line 1
        if past:
            weights = [[q[label] / expected[i][label] for label in labels] for i, (_, labels) in enumerate(past)]
            model = LogisticRegression(max_iter=1000)
            model.fit(  # line 2
                np.concatenate([x for x, _ in past]),
                np.concatenate([labels for _, labels in past]),
                sample_weight=np.concatenate(weights),
            )
            outputs.append(model.predict_proba(X))  # line 3
        else:
            outputs.append(np.full((len(X), K), 1 / K))
        expected.append(q)
        past.append((X, y))
        sightings.append([np.mean(y == c) for c in range(K)])  # lines 5 and 6
    return outputs, expected


def test_agrees_with_a_naive_transcription():
    stream = list(rounds(12, 40, K))
    outputs, expected = _naive(stream)
    learner = TrainByWeights(K, LogisticRegression(max_iter=1000), FollowTheHistory(K), floor=1e-6)
    for (X, y), proba, q in zip(stream, outputs, expected, strict=True):
        np.testing.assert_allclose(learner.prior_, q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(learner.predict_proba(X), proba, rtol=0, atol=1e-9)
        learner.update(X, y)
    assert learner.gradient_steps_ > 11  # every training says how many iterations it took


def test_the_weighted_loss_is_the_class_wise_one():
    """The algebra of "Connection of CT-RS to weighted ERM", with losses at random."""
    rng = np.random.default_rng(1)
    stream = list(rounds(9, 20, K, seed=3))
    learner = TrainByWeights(K, GaussianNB(), FLHFTL(K), floor=0.01)
    mu = []
    for X, y in stream:
        mu.append(K * learner.prior_)
        learner.update(X, y)
    losses = [rng.random(len(y)) for _, y in stream]
    by_class = sum(
        K
        * learner.prior_[c]
        * sum((loss[y == c] / mu_i[c]).sum() for loss, mu_i, (_, y) in zip(losses, mu, stream, strict=True))
        for c in range(K)
    )
    weighted = learner._weights() @ np.concatenate(losses)
    assert weighted == pytest.approx(by_class, rel=1e-12)
    assert abs(weighted - sum(loss.sum() for loss in losses)) > 1  # and the weights do something


def test_later_rounds_do_not_reach_back():
    """From round 5 on all labels are poisoned: the predictions of rounds up to 5 have the same bits, round 6 not."""
    stream = list(rounds(8, 30, K))
    clean, poisoned = (TrainByWeights(K, LogisticRegression(), rng=0) for _ in range(2))
    for t, (X, y) in enumerate(stream):
        same = clean.predict_proba(X).tobytes() == poisoned.predict_proba(X).tobytes()
        assert same == (t <= 5)
        clean.update(X, y)
        poisoned.update(X, y if t < 5 else (y + 1) % K)


def test_the_oracle_plays_its_path_in_order():
    stream = list(rounds(5, 30, K))
    path = np.random.default_rng(0).dirichlet(np.full(K, 5.0), size=5)
    learner = TrainByWeights(K, LogisticRegression(), priors=path)
    seen = []
    for q, (X, y) in zip(path, stream, strict=True):
        np.testing.assert_array_equal(learner.prior_, q)
        if seen:
            weights = np.concatenate([q[labels] / q_i[labels] for q_i, _, labels in seen])
            np.testing.assert_allclose(learner._weights(), weights, rtol=1e-12)
            model = LogisticRegression().fit(
                np.concatenate([x for _, x, _ in seen]), np.concatenate([z for _, _, z in seen]), sample_weight=weights
            )
            np.testing.assert_allclose(learner.predict_proba(X), model.predict_proba(X), atol=1e-9)
        learner.update(X, y)
        seen.append((q, X, y))
    for call in (lambda: learner.prior_, lambda: learner.predict_proba(X), lambda: learner.update(X, y)):
        with pytest.raises(ValueError, match="priors has 5 rounds, and all of them are over"):
            call()
    assert learner.rounds_ == 5
    learner.reset()
    np.testing.assert_array_equal(learner.prior_, path[0])


def test_an_empty_round_advances_the_oracle_and_trains_for_the_next_mix():
    X, y = next(rounds(1, 60, 2))
    path = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1], [0.5, 0.5]])
    learner = TrainByWeights(2, LogisticRegression(), priors=path)
    learner.update(X, y)
    before = learner.predict_proba(X)
    learner.update(np.empty((0, 3)), [])
    assert learner.rounds_ == 2
    assert (learner.predict_proba(X)[:, 0] > before[:, 0]).all()


def test_an_empty_round_says_nothing_to_the_tracker():
    X, y = next(rounds(1, 60, K))
    learner = TrainByWeights(K, LogisticRegression(), LastSighting(K))
    learner.update(np.empty((0, 7)), [])  # before any sample there is no number of features to hold on to
    assert learner.rounds_ == 1
    learner.update(X, y)
    prior, model = learner.prior_, learner.model_
    learner.update(np.empty((0, 3)), [])
    np.testing.assert_array_equal(learner.prior_, prior)
    assert learner.rounds_ == 3
    assert learner.model_ is model


def test_the_floor_bounds_the_weights():
    """Class 1 is taken for gone, and comes back: without a floor its samples would weigh infinitely much."""
    X = np.random.default_rng(0).standard_normal((40, 2))
    one, both = np.zeros(40, dtype=int), np.arange(40) % 2
    for floor, least in ((None, 0.05), (0.01, 0.01)):
        learner = TrainByWeights(2, LogisticRegression(), LastSighting(2), floor=floor)
        for y in (both, one, both):
            learner.update(X, y)
        assert learner.prior_ == pytest.approx([0.5, 0.5])
        assert learner._weights().max() == pytest.approx(0.5 / least)
        assert np.isfinite(learner.predict_proba(X)).all()
        learner.update(X, one)
        np.testing.assert_allclose(learner.prior_, [1 - least, least])


def test_the_oracle_is_trusted_further_than_a_tracker():
    path = [[1.0, 0.0], [0.5, 0.5]]
    np.testing.assert_allclose(TrainByWeights(2, LogisticRegression(), priors=path).prior_, [0.9995, 0.0005])
    np.testing.assert_allclose(TrainByWeights(2, LogisticRegression(), priors=path, floor=0.2).prior_, [0.8, 0.2])


def test_before_the_first_round_the_prior_is_predicted():
    X = np.zeros((2, 5))
    np.testing.assert_allclose(TrainByWeights(4, LogisticRegression()).predict_proba(X), 0.25)
    told = TrainByWeights(2, LogisticRegression(), priors=[[0.3, 0.7]])
    np.testing.assert_allclose(told.predict_proba(X), [[0.3, 0.7]] * 2)


def test_classes_not_seen_yet_have_their_share_of_the_prior():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    learner = TrainByWeights(4, LogisticRegression(), priors=[[0.1, 0.2, 0.3, 0.4]] * 5)
    learner.update(X, np.full(30, 2))
    np.testing.assert_allclose(learner.predict_proba(X[:2]), [[0.1, 0.2, 0.3, 0.4]] * 2)  # only class 2 is known
    labels = np.where(X[:, 0] > 0, 2, 0)
    learner.update(X, labels)
    proba = learner.predict_proba(X)
    np.testing.assert_allclose(proba[:, [1, 3]], [[0.2, 0.4]] * 30)
    np.testing.assert_allclose(proba[:, [0, 2]], 0.4 * learner.model_.predict_proba(X))
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("routing", [False, True])
def test_pipelines_hand_the_weights_to_their_last_step(routing):
    with config_context(enable_metadata_routing=routing):
        last = LogisticRegression().set_fit_request(sample_weight=True) if routing else LogisticRegression()
        first = StandardScaler().set_fit_request(sample_weight=False) if routing else StandardScaler()
        pipeline = Pipeline([("scale", first), ("inner", make_pipeline(last))])
        learner = TrainByWeights(K, pipeline, LastSighting(K))
        for X, y in rounds(4, 50, K):
            learner.update(X, y)
    pool = learner._pool
    by_hand = LogisticRegression().fit(StandardScaler().fit_transform(pool.X), pool.y, sample_weight=learner._weights())
    np.testing.assert_allclose(learner.model_[-1][-1].coef_, by_hand.coef_, atol=1e-9)
    assert learner.gradient_steps_ > 0


def test_by_sampling_trains_for_the_same_mix_as_by_weights():
    """The share that a model gives to overlapping classes follows the expected mix, either way."""
    path = np.array([[0.5, 0.5]] * 3 + [[0.9, 0.1]])
    rng = np.random.default_rng(0)
    net = SGDClassifier(loss="log_loss", alpha=1e-3, learning_rate="constant", eta0=0.01)
    learners = [TrainByWeights(2, net, priors=path, by=by, rng=0) for by in ("weights", "sampling")]
    for _ in range(3):
        y = rng.permutation(np.arange(400) % 2)
        X = rng.normal(y - 0.5, 1.0)[:, np.newaxis]
        for learner in learners:
            learner.update(X, y)
    # At 0 both classes are as likely, but for the mix.
    for learner in learners:
        assert learner.predict_proba([[0.0]])[0, 0] == pytest.approx(0.9, abs=0.06)
    assert learners[1].gradient_steps_ >= 3 * 3 * 10


def test_by_sampling_draws_with_the_weights():
    path = np.array([[0.5, 0.5], [0.2, 0.8]])
    learner = TrainByWeights(2, Fixed((0.5, 0.5)), priors=path, by="sampling", batch_size=100, patience=20, rng=0)
    learner.update(np.zeros((1000, 1)), np.repeat([0, 1], 500))
    drawn = np.concatenate([y for _, y in learner.model_.batches])
    assert len(drawn) == 20 * 10 * 100
    ones = learner._pool.y[~learner._pool.held].mean()  # about half of the training samples, each of weight 0.8 / 0.5
    assert drawn.mean() == pytest.approx(0.8 * ones / (0.8 * ones + 0.2 * (1 - ones)), abs=0.01)
    assert learner.gradient_steps_ == 200
    learner.reset()
    assert learner.gradient_steps_ == 0


def test_the_seed_reaches_estimators_that_have_none():
    stream = list(rounds(3, 30, K))

    def outputs(rng, **params):
        learner = TrainByWeights(K, make_pipeline(RandomForestClassifier(5, **params)), rng=rng)
        for X, y in stream:
            learner.update(X, y)
        return learner.predict_proba(stream[0][0]).tobytes()

    assert outputs(0) == outputs(0) != outputs(1)
    assert outputs(0, random_state=7) == outputs(1, random_state=7)  # a seed of its own is left alone


def test_a_generator_is_not_moved():
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state
    learner = TrainByWeights(K, RandomForestClassifier(5), rng=rng)
    for X, y in rounds(2, 30, K):
        learner.update(X, y)
    assert rng.bit_generator.state == before


class Interrupted(GaussianNB):
    """Takes Ctrl-C for the end of the training, as scikit-learn's nets do."""

    def fit(self, X, y, sample_weight=None):
        warnings.warn("Training interrupted by user.", UserWarning, stacklevel=1)
        return super().fit(X, y, sample_weight)


def test_ctrl_c_gets_through_and_changes_nothing():
    learner = TrainByWeights(K, Interrupted())
    before = dumps(learner)
    with pytest.raises(KeyboardInterrupt):
        learner.update(*next(rounds(1, 30, K)))
    assert dumps(learner) == before


def test_a_model_of_more_classes_is_named_before_anything_changes():
    class Generous(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            self.classes_ = np.arange(5)
            return self

    learner = TrainByWeights(K, Generous())
    with pytest.raises(ValueError, match=r"of the classes \[0, 1, 2, 3, 4\]; there are 3, 0 to 2"):
        learner.update(*next(rounds(1, 30, K)))
    assert learner.rounds_ == 0


def test_an_error_of_the_estimator_changes_nothing():
    stream = list(rounds(3, 30, K))
    learner = TrainByWeights(K, LogisticRegression(), rng=0)
    learner.update(*stream[0])
    before = dumps(learner)
    learner.estimator.C = -1.0
    with pytest.raises(ValueError, match="'C' parameter"):
        learner.update(*stream[1])
    learner.estimator.C = 1.0
    assert dumps(learner) == before
    learner.update(*stream[1])
    assert learner.rounds_ == 2


def test_resumes_with_the_estimator_handed_over():
    """A model of another library is not in the file: it is trained again, to the same bits."""
    stream = list(rounds(8, 20, K))
    estimator = RandomForestClassifier(5)
    running = TrainByWeights(K, estimator, rng=0)
    for X, y in stream[:4]:
        running.update(X, y)
    running.update(np.empty((0, 3)), [])  # trains nothing, and must not change what is trained again
    data = dumps(running)
    resumed = loads(data, estimator=RandomForestClassifier(5))
    assert dumps(resumed) == data
    for X, y in stream[4:]:
        assert resumed.predict_proba(X).tobytes() == running.predict_proba(X).tobytes()
        running.update(X, y)
        resumed.update(X, y)
    with pytest.raises(ValueError, match=r"hand it over: load\(path, estimator=model\)"):
        loads(data)
    with pytest.raises(ValueError, match="another model"):
        loads(data, estimator=RandomForestClassifier(6))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": KNeighborsClassifier()}, "takes no sample_weight; .* by='sampling'"),
        ({"estimator": KNeighborsClassifier(), "by": "sampling"}, "estimator .* has no partial_fit"),
        ({"estimator": make_pipeline(StandardScaler(), KNeighborsClassifier())}, "takes no sample_weight"),
        ({"estimator": LinearSVC()}, "estimator .* has no predict_proba"),
        ({"estimator": LogisticRegression}, "estimator is the class LogisticRegression"),
        ({"estimator": 3}, "estimator is 3"),
        ({"n_classes": 1}, "n_classes"),
        ({"tracker": FLHFTL(4)}, "tracker follows 4 classes"),
        ({"tracker": int}, "tracker is"),
        ({"priors": [[0.5, 0.5]]}, "priors has 2 columns"),
        ({"priors": np.empty((0, 3))}, "priors has no rounds"),
        ({"priors": np.full((2, 3), 1 / 3), "tracker": FLHFTL(3)}, "priors and tracker"),
        ({"by": "magic"}, "by is 'magic'"),
        ({"floor": 0.0}, "floor is 0"),
        ({"floor": 0.5}, "floor is 0.5"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"patience": 0}, "patience"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"rng": "seed"}, "rng"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    good = TrainByWeights(K, LogisticRegression(), rng=0)
    before = dumps(good)
    with pytest.raises((ValueError, TypeError), match=message):
        TrainByWeights(**{"n_classes": K, "estimator": LogisticRegression(), **arguments})
    with pytest.raises((ValueError, TypeError), match=message):
        good.set_params(**arguments)
    assert dumps(good) == before
