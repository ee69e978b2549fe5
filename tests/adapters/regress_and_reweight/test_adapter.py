"""Algorithm 1: against a transcription, and its switches one by one."""

import functools

import numpy as np
import pandas as pd
import pytest

from baserate.adapters import Base, RegressAndReweight
from baserate.marginals import BBSE
from baserate.protocols import Evidence
from baserate.state import Component, dumps, loads
from baserate.trackers import FLHFTL, FollowTheHistory, LastSighting, LikelihoodMixture
from baserate.trust import HoldoutWarning

# So that what comes out can be computed by hand.
Uncalibrated = functools.partial(RegressAndReweight, calibrator=None, gate=False)
RNG = np.random.default_rng(0)
K = 4
Y = np.r_[np.arange(K), RNG.choice(K, p=[0.4, 0.3, 0.2, 0.1], size=400)]
P = 0.5 * np.eye(K)[Y] + 0.5 * RNG.dirichlet(np.ones(K), size=len(Y))
HOLDOUT = P[:200], Y[:200]
BATCHES = [P[i : i + 10] for i in range(200, 400, 10)]
LABELS = [Y[i : i + 10] for i in range(200, 400, 10)]


def transcription(batches, tracker, clip):
    """Algorithm 1 line by line, with matrices and no library but the tracker."""
    holdout, y = HOLDOUT
    q0 = np.bincount(y) / len(y)
    c = np.array([[holdout[y == j][:, i].mean() for j in range(K)] for i in range(K)])
    out = []
    for batch in batches:
        q = tracker.predict()  # line 2; D is the simplex
        weighted = np.array([[q[i] / q0[i] * f[i] for i in range(K)] for f in batch])  # line 3
        out.append(weighted / weighted.sum(axis=1, keepdims=True))
        s = np.linalg.inv(c) @ batch.mean(axis=0)  # line 4
        if clip:
            s = np.maximum(s, 0) / np.maximum(s, 0).sum()
        tracker.update(s)  # line 5
    return out


@pytest.mark.parametrize("experts", ["start", "window"])
def test_agrees_with_a_transcription_of_algorithm_1(experts):
    q0 = np.bincount(HOLDOUT[1]) / 200
    expected = transcription(BATCHES, FLHFTL(K, experts=experts, prior=q0), clip=True)
    adapter = Uncalibrated(FLHFTL(K, experts=experts)).fit(*HOLDOUT)
    for batch, rows in zip(BATCHES, expected, strict=True):
        np.testing.assert_allclose(adapter.step(batch).proba, rows, rtol=0, atol=1e-12)


def test_before_the_first_round_nothing_is_changed():
    adapter = Uncalibrated().fit(*HOLDOUT)
    np.testing.assert_allclose(adapter.predict_proba(P), P, atol=1e-15)
    np.testing.assert_allclose(adapter.log_offsets(), 0, atol=1e-15)
    np.testing.assert_array_equal(adapter.source_prior_, np.bincount(HOLDOUT[1]) / 200)


def test_unclipped_sightings_reach_the_tracker_and_priors_stay_on_the_simplex():
    adapter = Uncalibrated(LastSighting(K), BBSE(clip=False)).fit(*HOLDOUT)
    left = 0
    for batch in BATCHES:
        adapter.update(batch[:1])
        left += adapter.tracker_.predict().min() < 0
        assert adapter.prior_.min() >= 0
        assert adapter.prior_.sum() == pytest.approx(1)
    assert left > 3


def test_log_offsets_are_the_whole_correction():
    adapter = Uncalibrated().fit(*HOLDOUT)
    for batch in BATCHES:
        adapter.update(batch)
    logits = np.log(P) + adapter.log_offsets()
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(adapter.predict_proba(P), softmax, atol=1e-12)
    np.testing.assert_allclose(adapter.log_offsets(), np.log(adapter.prior_ / adapter.source_prior_), atol=1e-12)


def test_the_tracker_passed_in_is_not_moved():
    tracker = FollowTheHistory(K)
    before = dumps(tracker)
    Uncalibrated(tracker).fit(*HOLDOUT).update(BATCHES[0])
    assert dumps(tracker) == before


def test_the_default_tracker_is_the_likelihood_mixture_born_at_the_source_prior():
    adapter = Uncalibrated().fit(*HOLDOUT)
    assert isinstance(adapter.tracker_, LikelihoodMixture)
    np.testing.assert_array_equal(adapter.tracker_.predict(), adapter.source_prior_)


def test_a_given_source_prior_is_used():
    p = [0.25, 0.25, 0.25, 0.25]
    adapter = Uncalibrated(LastSighting(K), source_prior=p).fit(*HOLDOUT)
    np.testing.assert_array_equal(adapter.source_prior_, p)
    adapter.set_prior([0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(np.exp(adapter.log_offsets()), [1.6, 1.2, 0.8, 0.4])


def test_transductive_uses_the_batch_before_predicting_it():
    causal = Uncalibrated(LastSighting(K)).fit(*HOLDOUT)
    ahead = Uncalibrated(LastSighting(K), transductive=True).fit(*HOLDOUT)
    for batch in BATCHES:
        predicted, step = ahead.predict_proba(batch), ahead.step(batch)
        causal.update(batch)
        np.testing.assert_array_equal(step.prior, causal.prior_)
        np.testing.assert_array_equal(step.proba, causal.predict_proba(batch))
        np.testing.assert_array_equal(predicted, step.proba)


def test_transductive_does_not_look_at_labels():
    """Labels given with the batch may move the state, never the prediction of that batch."""
    blind, told = (Uncalibrated(FollowTheHistory(K), transductive=True).fit(*HOLDOUT) for _ in range(2))
    np.testing.assert_array_equal(blind.step(BATCHES[0]).proba, told.step(BATCHES[0], LABELS[0]).proba)
    assert np.abs(blind.prior_ - told.prior_).max() > 1e-3


def test_floor_and_bounds_hold_and_are_projections():
    free = Uncalibrated(LastSighting(K)).fit(*HOLDOUT)
    held = Uncalibrated(LastSighting(K), floor=0.05, bounds=(0.0, [0.5, 1, 1, 1])).fit(*HOLDOUT)
    touched = 0
    for batch in BATCHES:
        free.update(batch)
        held.update(batch)
        prior = held.prior_
        assert prior.min() >= 0.05 - 1e-15
        assert prior[0] <= 0.5 + 1e-15
        assert prior.sum() == pytest.approx(1)
        inside = free.prior_.min() >= 0.05 and free.prior_[0] <= 0.5
        touched += not inside
        if inside:
            np.testing.assert_allclose(prior, free.prior_, atol=1e-12)
    assert touched > 3


def test_shadow_mode_tracks_and_does_not_correct():
    on, off = Uncalibrated().fit(*HOLDOUT), Uncalibrated(enabled=False).fit(*HOLDOUT)
    for batch in BATCHES:
        on.step(batch)
        step = off.step(batch)
        np.testing.assert_array_equal(step.proba, batch)
        assert step.flags["enabled"] is False
    np.testing.assert_array_equal(off.prior_, on.prior_)
    np.testing.assert_array_equal(off.log_offsets(), 0)
    off.enabled = True
    np.testing.assert_array_equal(off.predict_proba(P), on.predict_proba(P))


def test_set_prior_restarts_from_what_a_person_knows():
    adapter = Uncalibrated(FLHFTL(K)).fit(*HOLDOUT)
    adapter.update(BATCHES[0])
    adapter.set_prior([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(adapter.prior_, [0.1, 0.2, 0.3, 0.4])
    adapter.update(BATCHES[1])
    assert np.abs(adapter.prior_ - [0.1, 0.2, 0.3, 0.4]).max() > 1e-3
    adapter.reset()
    np.testing.assert_allclose(adapter.prior_, adapter.source_prior_)
    assert adapter.rounds_ == 0


def test_refit_takes_the_new_model_and_keeps_the_mix():
    adapter = Uncalibrated(FollowTheHistory(K)).fit(*HOLDOUT)
    for batch in BATCHES:
        adapter.update(batch)
    before = adapter.prior_
    other = 0.8 * np.eye(K)[Y] + 0.05
    adapter.refit(other[:100], Y[:100])
    np.testing.assert_array_equal(adapter.prior_, before)
    np.testing.assert_array_equal(adapter.source_prior_, np.bincount(Y[:100]) / 100)
    np.testing.assert_allclose(adapter.marginals_.confusion_, 0.8 * np.eye(K) + 0.05)
    assert adapter.rounds_ == len(BATCHES)
    with pytest.raises(ValueError, match="call fit"):
        adapter.refit(np.eye(3), [0, 1, 2])
    np.testing.assert_array_equal(adapter.prior_, before)


def test_labels_are_counted_and_the_rest_is_estimated():
    adapter = Uncalibrated(LastSighting(K)).fit(*HOLDOUT)
    batch, labels = BATCHES[0], LABELS[0].copy()
    adapter.update(batch, labels)
    np.testing.assert_allclose(adapter.tracker_.predict(), np.bincount(labels, minlength=K) / 10)
    labels[3:] = -1
    adapter.update(batch, labels)
    expected = 0.3 * np.bincount(labels[:3], minlength=K) / 3 + 0.7 * adapter.marginals_.estimate(batch[3:])
    np.testing.assert_allclose(adapter.tracker_.predict(), expected)
    adapter.update(batch, np.full(10, -1))
    np.testing.assert_allclose(adapter.tracker_.predict(), adapter.marginals_.estimate(batch))


class Recorder(Component):
    """A tracker that keeps the evidence it was given."""

    def __init__(self):
        self.seen = []

    def predict(self):
        return np.full(K, 1 / K)

    def update(self, z, evidence=None):
        self.seen.append((z, evidence))

    def reset(self):
        pass


def test_the_tracker_is_handed_the_evidence():
    adapter = Uncalibrated(Recorder()).fit(*HOLDOUT)
    adapter.update(BATCHES[0])
    labels = LABELS[1].copy()
    labels[::2] = -1
    adapter.update(BATCHES[1], labels)
    (z, first), (_, second) = adapter.tracker_.seen
    np.testing.assert_array_equal(z, adapter.marginals_.estimate(BATCHES[0]))
    assert isinstance(first, Evidence)
    assert first.n == 10
    np.testing.assert_allclose(first.likelihoods, BATCHES[0] / adapter.source_prior_)
    np.testing.assert_allclose(second.likelihoods[::2], BATCHES[1][::2] / adapter.source_prior_)
    np.testing.assert_array_equal(second.likelihoods[1::2], np.eye(K)[labels[1::2]])
    with pytest.raises(TypeError, match="restart"):
        adapter.set_prior([0.25] * 4)


class MeanOutput(Component):
    """A marginal estimator that needs no labels: the mean output itself."""

    needs_labels = False

    def fit(self, proba, y):
        return self

    def estimate(self, proba):
        return np.asarray(proba).mean(axis=0)


def test_works_without_a_labelled_holdout():
    p = [0.4, 0.3, 0.2, 0.1]
    adapter = Uncalibrated(FollowTheHistory(K), MeanOutput(), source_prior=p).fit()
    adapter.step(BATCHES[0])
    np.testing.assert_allclose(adapter.prior_, BATCHES[0].mean(axis=0))
    unlabelled = Uncalibrated(FollowTheHistory(K), MeanOutput(), source_prior=p).fit(P)
    unlabelled.step(BATCHES[0])
    np.testing.assert_array_equal(adapter.prior_, unlabelled.prior_)
    with pytest.raises(ValueError, match="source_prior"):
        Uncalibrated(marginals=MeanOutput()).fit()
    with pytest.raises(ValueError, match="y is missing"):
        Uncalibrated(marginals=MeanOutput()).fit(P)
    with pytest.raises(ValueError, match="BBSE needs a labelled holdout"):
        Uncalibrated(FollowTheHistory(K), source_prior=p).fit()
    default = Uncalibrated(source_prior=p).fit()  # whose tracker asks for no estimator
    assert default.marginals_ is None
    for batch in BATCHES:
        default.step(batch)
    assert np.abs(default.prior_ - p).max() > 0.05


class Square(Component):
    """A calibrator with an effect that is easy to compute."""

    def fit(self, proba, y):
        self.fitted_on_ = len(proba)
        return self

    def transform(self, proba):
        return proba**2 / (proba**2).sum(axis=1, keepdims=True)


def test_the_calibrator_comes_first_everywhere():
    plain = Uncalibrated(FollowTheHistory(K)).fit(Square().transform(HOLDOUT[0]), HOLDOUT[1])
    calibrated = Uncalibrated(FollowTheHistory(K), calibrator=Square()).fit(*HOLDOUT)
    assert calibrated.calibrator_.fitted_on_ == 200
    assert not hasattr(calibrated.calibrator, "fitted_on_")
    for batch in BATCHES:
        expected = plain.step(Square().transform(batch))
        np.testing.assert_allclose(calibrated.step(batch).proba, expected.proba, atol=1e-12)
    np.testing.assert_allclose(calibrated.prior_, plain.prior_, atol=1e-12)
    assert dumps(loads(dumps(calibrated))) == dumps(calibrated)
    base = Base(calibrator=Square()).fit(*HOLDOUT)
    np.testing.assert_array_equal(base.predict_proba(P), Square().transform(P))
    with pytest.raises(ValueError, match="calibrator needs a labelled holdout"):
        Uncalibrated(marginals=MeanOutput(), calibrator=Square(), source_prior=[0.25] * 4).fit()


def test_unfitted_says_so():
    for adapter in (Uncalibrated(), Base()):
        for call in (lambda a: a.predict_proba(P), lambda a: a.step(P), lambda a: a.update(P), lambda a: a.reset()):
            with pytest.raises(ValueError, match="not fitted yet"):
                call(adapter)
        assert not hasattr(adapter, "prior_")


def test_a_failed_fit_leaves_the_old_fit():
    adapter = Uncalibrated(marginals=BBSE()).fit(*HOLDOUT)
    adapter.update(BATCHES[0])
    before = dumps(adapter)
    with pytest.raises(ValueError, match="singular"):
        adapter.fit(np.full((8, K), 1 / K), [0, 1, 2, 3] * 2)
    assert dumps(adapter) == before


def test_where_nobody_reads_sightings_a_model_that_tells_nothing_is_left_alone():
    flat = np.full((80, K), 1 / K)
    with pytest.warns(HoldoutWarning, match="hardly tells classes"):
        adapter = RegressAndReweight(calibrator=None).fit(flat, np.arange(80) % K)
    np.testing.assert_allclose(adapter.step(flat[:20]).proba, 1 / K)
    np.testing.assert_allclose(adapter.prior_, 1 / K)


def test_the_drift_is_followed_and_the_error_falls():
    """The whole point, end to end, with honest outputs: labels drawn from the probabilities themselves."""
    rng = np.random.default_rng(3)
    proba = rng.dirichlet(np.full(K, 0.3), size=4000)
    y = (proba.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
    mix = np.array([0.05, 0.05, 0.1, 0.8])
    holdout = proba[:2000], y[:2000]
    adapter, base = Uncalibrated().fit(*holdout), Base().fit(*holdout)
    wrong = np.zeros(2)
    for t in range(150):
        labels = rng.choice(K, p=mix, size=20)
        rows = np.array([rng.choice(np.flatnonzero(y == c)) for c in labels])
        for i, method in enumerate((adapter, base)):
            predicted = method.step(proba[rows]).labels
            wrong[i] += (predicted != labels).sum() * (t >= 50)
    assert np.abs(adapter.prior_ - mix).max() < 0.1
    assert wrong[0] < 0.6 * wrong[1]


def test_after_a_refit_predictions_use_the_new_source_prior():
    adapter = Uncalibrated(FLHFTL(K, learning_rate="theory")).fit(*HOLDOUT)
    for batch in BATCHES:
        adapter.update(batch)
    before, rate = adapter.prior_, adapter.tracker_.rate_
    other, labels = 0.8 * np.eye(K)[Y] + 0.05, Y
    adapter.refit(other, labels)
    source = np.bincount(labels) / len(labels)
    np.testing.assert_allclose(adapter.log_offsets(), np.log(before / source), atol=1e-12)
    expected = other[:9] * before / source
    np.testing.assert_allclose(adapter.predict_proba(other[:9]), expected / expected.sum(axis=1, keepdims=True))
    assert adapter.tracker_.rate_ == pytest.approx(adapter.marginals_.sigma_min_**2 / (8 * K))
    assert adapter.tracker_.rate_ != rate
    adapter.reset()
    np.testing.assert_allclose(adapter.prior_, source)


def test_transductive_with_labels_says_which_prior_it_used():
    adapter = Uncalibrated(LastSighting(K), transductive=True).fit(*HOLDOUT)
    step = adapter.step(BATCHES[0], LABELS[0])
    np.testing.assert_allclose(step.prior, adapter.marginals_.estimate(BATCHES[0]))
    np.testing.assert_allclose(adapter.prior_, np.bincount(LABELS[0], minlength=K) / 10)


def test_the_stricter_of_floor_and_bounds_holds():
    adapter = Uncalibrated(LastSighting(K), floor=0.02, bounds=([0.1, 0, 0, 0], 1.0)).fit(*HOLDOUT)
    adapter.set_prior([0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(adapter.prior_, [0.1, 0.02, 0.02, 0.86])


@pytest.mark.parametrize("k", [6, 7, 20, 21, 45, 58])
def test_limits_that_leave_one_mix_only(k):
    holdout = np.full((k, k), 0.1 / k) + 0.9 * np.eye(k)
    for limits in ({"floor": 1 / k}, {"bounds": (0.0, 1 / k)}, {"bounds": (-3.0, [5.0] * k)}):
        adapter = Uncalibrated(LastSighting(k), **limits).fit(holdout, np.arange(k))
        adapter.update(holdout[:1])
        assert adapter.prior_.min() >= 0
        assert adapter.prior_.sum() == pytest.approx(1)
        if "bounds" not in limits or limits["bounds"][0] == 0:
            np.testing.assert_allclose(adapter.prior_, 1 / k)


def test_a_prior_that_is_rounded_is_not_a_shift():
    adapter = Uncalibrated(source_prior=[0.0012, 0.0013, 0.497, 0.5]).fit(*HOLDOUT)
    np.testing.assert_allclose(adapter.log_offsets(), 0, atol=1e-12)
    assert adapter.source_prior_.sum() == pytest.approx(1, abs=1e-15)
    adapter.set_prior([0.0012, 0.0013, 0.497, 0.5])
    np.testing.assert_allclose(adapter.log_offsets(), 0, atol=1e-12)


class NeedsThePrior(MeanOutput):
    """An estimator that works without labels, but must be told the source prior: as maximum likelihood does."""

    def bind(self, *, source_prior):
        self.source_prior_ = source_prior

    def fit(self, proba, y):
        self.saw_ = len(proba), y
        return self

    def estimate(self, proba):
        weighted = np.asarray(proba) / self.source_prior_
        return (weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0)


def test_an_estimator_without_labels_is_told_the_source_prior():
    p = [0.4, 0.3, 0.2, 0.1]
    without = Uncalibrated(LastSighting(K), NeedsThePrior(), source_prior=p).fit()
    np.testing.assert_array_equal(without.marginals_.source_prior_, p)
    unlabelled = Uncalibrated(LastSighting(K), NeedsThePrior(), source_prior=p).fit(P)
    assert unlabelled.marginals_.saw_ == (len(P), None)
    without.update(BATCHES[0])
    unlabelled.update(BATCHES[0])
    np.testing.assert_array_equal(without.prior_, unlabelled.prior_)


class OnlyRestarts(Recorder):
    def restart(self, birth):
        self.birth = np.asarray(birth)

    def predict(self):
        return getattr(self, "birth", np.full(K, 1 / K))


def test_restart_does_not_need_bind():
    adapter = Uncalibrated(OnlyRestarts()).fit(*HOLDOUT)
    adapter.set_prior([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_array_equal(adapter.prior_, [0.1, 0.2, 0.3, 0.4])


class Broken(Component):
    """A plug-in whose output is nonsense."""

    def fit(self, proba, y):
        return self

    def transform(self, proba):
        return proba * np.nan

    estimate = transform


def test_nonsense_from_plug_ins_is_noticed():
    with pytest.raises(ValueError, match="calibrator's output"):
        RegressAndReweight(calibrator=Broken()).fit(*HOLDOUT)


def test_warnings_point_at_the_caller():
    columns = np.array([[0.48, 0.46, 0.06], [0.46, 0.48, 0.06], [0.1, 0.1, 0.8]])
    with pytest.warns(UserWarning, match="nearly singular") as caught:
        Uncalibrated(LastSighting(3)).fit(np.repeat(columns, 3, axis=0), np.repeat(np.arange(3), 3))
    assert caught[0].filename == __file__


def test_columns_from_a_data_frame_can_be_saved():
    adapter = Uncalibrated(source_prior=pd.Series([0.4, 0.3, 0.2, 0.1])).fit(*HOLDOUT)
    np.testing.assert_array_equal(loads(dumps(adapter)).source_prior_, adapter.source_prior_)


def test_sightings_are_not_worked_out_for_a_tracker_that_does_not_read_them(monkeypatch):
    reading, not_reading = Uncalibrated(LastSighting(K)).fit(*HOLDOUT), Uncalibrated().fit(*HOLDOUT)

    def estimate_groups(*_):
        raise AssertionError("asked for sightings")

    monkeypatch.setattr(BBSE, "estimate_groups", estimate_groups)
    not_reading.update(BATCHES[0])
    with pytest.raises(AssertionError, match="asked"):
        reading.update(BATCHES[0])


class OnlyEstimates:
    """A tracker that was written without the second argument of `update`."""

    def predict(self):
        return np.full(K, 1 / K)

    def update(self, z):
        raise AssertionError("never called")

    def reset(self):
        pass


def test_a_tracker_whose_update_takes_no_evidence_is_refused_by_fit():
    adapter = RegressAndReweight(OnlyEstimates())
    with pytest.raises(TypeError, match=r"OnlyEstimates.*update\(z\).*write it as update\(self, z, evidence=None\)"):
        adapter.fit(*HOLDOUT)
    assert not hasattr(adapter, "source_prior_")


def test_falling_back_is_dated_by_the_streams_own_rounds_after_a_refit_with_other_classes():
    adapter = RegressAndReweight().fit(*HOLDOUT)
    for batch in BATCHES:
        adapter.update(batch)
    holdout = np.column_stack([0.9 * P[:200], np.full(200, 0.1)])
    labels = Y[:200].copy()
    labels[:20] = K  # a new class, which the model does not know at all
    adapter.refit(holdout, labels, previous=[0, 1, 2, 3, None])
    rounds = adapter.rounds_
    assert rounds == len(BATCHES)
    for i in range(0, 200, 10):  # where the correction leads away from the model, labels say that the model was right
        batch = holdout[i : i + 10]
        adapter.set_prior([0.96, 0.01, 0.01, 0.01, 0.01])
        adapter.update(batch, batch.argmax(axis=1))
    assert adapter.fallback_active_
    assert rounds < adapter.fallback_since_ <= adapter.rounds_
