"""The one loop, against the loop written out."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from baserate import evaluate
from baserate.adapters import Base, Oracle, RegressAndReweight
from baserate.calibrators import BCTS
from baserate.metrics import dynamic_regret
from baserate.protocols import Step
from baserate.shifts import Monotone, frequencies, sample_stream
from baserate.state import dumps
from baserate.trackers import FollowTheHistory

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.full(3, 0.5), size=900)
Y = (P.cumsum(axis=1) < RNG.random((900, 1))).sum(axis=1)
X = P + 0.1 * RNG.standard_normal(P.shape)
HOLDOUT = P[:300], Y[:300]


def stream():
    return list(sample_stream(P[300:], Y[300:], Monotone(), n_rounds=40, batch_size=7, features=X[300:], rng=1))


def test_records_what_the_loop_written_out_gives():
    adapter = RegressAndReweight(FollowTheHistory(3)).fit(*HOLDOUT)
    before = dumps(adapter)
    records = evaluate(adapter, stream())
    assert dumps(adapter) == before  # copied, not moved
    for t, batch in enumerate(stream()):
        prior = adapter.prior_
        proba = adapter.predict_proba(batch.proba)
        adapter.update(batch.proba)
        right = proba[np.arange(7), batch.y]
        assert records.n[t] == 7
        assert records.wrong[t] == (proba.argmax(axis=1) != batch.y).sum()
        assert records.sampled_wrong[t] == pytest.approx((1 - right).sum())
        assert records.log_loss[t] == pytest.approx(-np.log(right).sum())
        np.testing.assert_array_equal(records.prior[t], prior)
        np.testing.assert_array_equal(records.q[t], batch.q)
    np.testing.assert_array_equal(records.frequencies, frequencies(stream()))
    assert records.error_rate == records.wrong.sum() / 280
    assert records.mse == pytest.approx(((records.prior - records.q) ** 2).sum(axis=1).mean())
    assert records.mse_to_frequencies == pytest.approx(((records.prior - records.frequencies) ** 2).sum(axis=1).mean())
    assert records.sampled_error_rate == pytest.approx(records.sampled_wrong.sum() / 280)
    assert (records.seconds > 0).all()


def test_the_pool_is_predicted_as_the_method_stands_in_each_round():
    """With gate and calibrator: what is played, not what a prior and a pool would give."""
    adapter = RegressAndReweight(calibrator=BCTS()).fit(*HOLDOUT)
    records = evaluate(adapter, stream(), pool=(P, Y))
    np.testing.assert_array_equal(records.wrong, evaluate(adapter, stream()).wrong)
    for t, batch in enumerate(stream()):
        right = adapter.predict_proba(P)[np.arange(len(Y)), Y]
        np.testing.assert_allclose(records.class_losses[t], [1 - right[c == Y].mean() for c in range(3)], atol=1e-12)
        adapter.step(batch.proba)
    logs = evaluate(adapter, stream()[:1], pool=(P, Y), loss="log").class_losses[0]
    right = adapter.predict_proba(P)[np.arange(len(Y)), Y]
    np.testing.assert_allclose(logs, [-np.log(right[c == Y]).mean() for c in range(3)], atol=1e-12)
    assert np.isnan(evaluate(adapter, stream()[:2]).class_losses).all()
    regret = dynamic_regret(records.class_losses, records.class_losses - 0.1, records.q)
    np.testing.assert_allclose(regret, 0.1 * np.arange(1, 41))


def test_labels_are_revealed_only_if_asked():
    adapter = RegressAndReweight(FollowTheHistory(3)).fit(*HOLDOUT)
    blind, told = evaluate(adapter, stream()), evaluate(adapter, stream(), labels=True)
    means = np.cumsum(told.frequencies, axis=0) / np.arange(1, 41)[:, np.newaxis]
    np.testing.assert_allclose(told.prior[1:], means[:-1])
    assert np.abs(blind.prior - told.prior).max() > 0.01


def test_the_oracle_told_the_truth_is_better_than_doing_nothing():
    rounds = list(sample_stream(P[300:], Y[300:], Monotone(), n_rounds=300, rng=1))
    base = evaluate(Base().fit(*HOLDOUT), rounds)
    oracle = evaluate(Oracle([b.q for b in rounds]).fit(*HOLDOUT), rounds)
    assert oracle.mse == 0
    assert oracle.error_rate < base.error_rate
    assert oracle.log_loss.sum() < base.log_loss.sum()


class Online:
    """A learner in the structural sense: warm-started on what it has seen."""

    def __init__(self):
        self.model = SGDClassifier(loss="log_loss", random_state=0)
        self.model.partial_fit(np.zeros((1, 3)), [0], classes=[0, 1, 2])
        self.calls = []

    def predict_proba(self, X):
        self.calls.append("predict")
        return self.model.predict_proba(X)

    def update(self, X, y):
        self.calls.append("update")
        self.model.partial_fit(X, y)


def test_learners_run_in_the_same_loop():
    learner = Online()
    records = evaluate(learner, stream())
    assert learner.calls == []
    assert np.isnan(records.prior).all()
    twin = Online()
    for t, batch in enumerate(stream()):
        assert records.wrong[t] == (twin.predict_proba(batch.features).argmax(axis=1) != batch.y).sum()
        twin.update(batch.features, batch.y)
    assert isinstance(records.method, Online)
    assert records.method.calls == twin.calls != []


def test_bad_input():
    with pytest.raises(TypeError, match="method"):
        evaluate("adapter", stream())
    with pytest.raises(ValueError, match="no rounds"):
        evaluate(Base().fit(*HOLDOUT), [])
    without = list(sample_stream(P, Y, Monotone(), n_rounds=2, rng=0))
    with pytest.raises(ValueError, match="features"):
        evaluate(Online(), without)


class Counting:
    """A learner that tracks the class mix of what it has seen, in place."""

    def __init__(self):
        self.counts = np.ones(3)
        self.prior_ = self.counts / 3

    def predict_proba(self, X):
        return np.tile(self.prior_, (len(X), 1))

    def update(self, X, y):
        self.counts += np.bincount(y, minlength=3)
        self.prior_[:] = self.counts / self.counts.sum()


def test_the_prior_of_a_learner_is_the_one_it_predicted_with():
    records = evaluate(Counting(), stream())
    np.testing.assert_allclose(records.prior[0], 1 / 3)
    seen = 1 + np.cumsum(records.frequencies * 7, axis=0)
    np.testing.assert_allclose(records.prior[1:], (seen / seen.sum(axis=1, keepdims=True))[:-1])
    assert np.isnan(evaluate(Online(), stream()).mse)


class Structural:
    """An adapter in the structural sense, on probabilities or on features."""

    def fit(self, proba, y):
        return self

    def predict_proba(self, proba):
        self.saw = np.array(proba)
        return np.full((len(proba), 3), 1 / 3)

    def update(self, proba, y=None):
        np.testing.assert_array_equal(proba, self.wanted.pop(0))

    def step(self, proba, y=None):
        step = Step(self.predict_proba(proba), np.full(3, 1 / 3), {})
        self.update(proba)
        return step


def test_adapters_are_handed_what_they_work_on():
    on_proba, on_features = Structural(), Structural()
    on_features.input_kind = "features"
    on_proba.wanted = [batch.proba for batch in stream()]
    on_features.wanted = [batch.features for batch in stream()]
    evaluate(on_proba, stream())
    evaluate(on_features, stream())


def test_regret_is_of_what_was_played():
    """By a comparator's evaluation, with gate and calibrator, not by a prior and a pool."""
    batches = stream()
    adapter, oracle = RegressAndReweight(calibrator=BCTS()).fit(*HOLDOUT), Oracle([b.q for b in batches]).fit(*HOLDOUT)
    own, best = (evaluate(method, batches, pool=(P, Y)) for method in (adapter, oracle))
    expected = np.cumsum(((own.class_losses - best.class_losses) * best.q).sum(axis=1))
    np.testing.assert_allclose(own.dynamic_regret(best), expected)
    assert not best.dynamic_regret(best).any()
    for other, words in (
        (evaluate(oracle, batches), "the same pool"),
        (evaluate(oracle, batches[:9], pool=(P, Y)), "another stream"),
    ):
        with pytest.raises(ValueError, match=words):
            own.dynamic_regret(other)
