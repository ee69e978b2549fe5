"""What an adapter says about itself: its band, its accuracy, its alarm, and what it holds back."""

import warnings

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.marginals import MLLS
from baserate.protocols import UNLABELLED
from baserate.state import dumps
from baserate.trackers import FLHFTL
from baserate.trust import (
    HoldoutWarning,
    PriorBand,
)
from baserate.trust.gate import gate as gates

from ...trust.honest_model import DRIFT, K, holdout, stream


def test_a_small_holdout_widens_the_band_and_is_warned_of():
    widths = []
    for size in (60, 6000):
        adapter = RegressAndReweight(calibrator=None).fit(*holdout(size))
        for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (300, 1)), np.random.default_rng(3)):
            adapter.update(batch)
        widths.append(np.diff(adapter.prior_interval()).mean())
    assert widths[0] > 1.4 * widths[1]
    proba, y = holdout(60)
    few = (y != 2) | (np.cumsum(y == 2) <= 4)
    with pytest.warns(HoldoutWarning, match="fewer than 10 samples of class 2"):
        RegressAndReweight().fit(proba[few], y[few])


def test_an_alarm_holds_half_of_the_correction_back_and_ends():
    adapter = RegressAndReweight().fit(*holdout())
    rng = np.random.default_rng(4)
    for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (100, 1)), rng):
        adapter.update(batch)
    assert not adapter.assumption_alarm_
    assert adapter.assumption_evidence_ < 20
    assert (adapter.fallback_reason_, adapter.fallback_since_) == ("", None)
    for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (100, 1)), rng, noise=2.0):
        adapter.update(batch)
    assert adapter.assumption_alarm_
    assert adapter.assumption_evidence_ >= 20
    assert "label shift would give" in str(adapter.assumption_findings_[0])
    assert adapter.fallback_active_
    assert adapter.correction_weight_ <= 0.5
    assert adapter.fallback_reason_ == "the stream does not look like label shift"
    assert 100 < adapter.fallback_since_ <= 200
    full = np.log(adapter.prior_ / adapter.source_prior_)
    np.testing.assert_allclose(adapter.log_offsets(), adapter.correction_weight_ * full, rtol=1e-9)
    assert adapter.step(batch).flags == {"enabled": True, "transductive": False, "fallback": True, "alarm": True}
    for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (2000, 1)), rng):
        adapter.update(batch)
    assert not adapter.assumption_alarm_
    assert adapter.assumption_evidence_ < 20
    assert not adapter.fallback_active_


def test_without_a_gate_it_says_the_same_and_corrects_all_the_same():
    gated, open_ = (RegressAndReweight(gate=gate).fit(*holdout()) for gate in (True, False))
    for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (150, 1)), np.random.default_rng(4), noise=2.0):
        gated.update(batch)
        open_.update(batch)
    assert open_.assumption_alarm_
    assert open_.assumption_evidence_ == gated.assumption_evidence_
    assert gated.fallback_active_
    assert not open_.fallback_active_
    assert open_.fallback_reason_ == ""
    assert open_.correction_weight_ == 1.0
    np.testing.assert_allclose(open_.log_offsets(), np.log(open_.prior_ / open_.source_prior_), rtol=1e-12)
    np.testing.assert_array_equal(open_.prior_, gated.prior_)


@pytest.mark.parametrize("late", [False, True])
def test_labels_that_speak_against_the_correction_switch_it_off(late):
    adapter = RegressAndReweight().fit(*holdout())
    rng = np.random.default_rng(5)
    told = 0
    for t, (batch, _) in enumerate(stream(np.tile([0.9, 0.05, 0.05], (200, 1)), rng)):
        corrected, plain = adapter.predict_proba(batch).argmax(axis=1), adapter.calibrate(batch).argmax(axis=1)
        labels = np.where(corrected != plain, plain, UNLABELLED)  # only those that the correction has spoilt
        if adapter.fallback_active_:
            break
        told += (labels >= 0).sum()
        if late:
            adapter.update(batch, ids=[f"{t}-{i}" for i in range(10)])
            adapter.update_labels([f"{t}-{i}" for i in range(10)], labels)
        else:
            adapter.update(batch, labels)
    assert 2 < told < 60
    assert adapter.correction_weight_ < 0.5
    assert adapter.fallback_reason_ == "labels are predicted better with less of the tracked class mix"
    assert np.abs(adapter.log_offsets()).max() < np.abs(np.log(adapter.prior_ / adapter.source_prior_)).max()


def test_labels_compare_with_the_model_itself_and_lead_back_to_it():
    """A model made for nine in ten, with an even holdout: calibrated on that, it is worse than it was by itself."""
    rng = np.random.default_rng(0)

    def at(share, n, noise=1.0):
        y = (rng.random(n) < share).astype(int)
        odds = 9.0 * np.exp(1.5 * rng.normal(2.0 * y - 1.0, noise))
        return np.column_stack([np.ones(n), odds]) / (1 + odds)[:, np.newaxis], y

    adapter = RegressAndReweight().fit(*at(0.5, 1000))
    wrong = np.zeros(2)
    for _ in range(300):  # the model as it is is right for this mix, and noise confuses the tracker
        proba, y = at(0.9, 10, noise=3.0)
        step = adapter.step(proba, y)
        wrong += (step.labels != y).mean(), (proba.argmax(axis=1) != y).mean()
    assert adapter.calibrator_.degrees_of_freedom_ > 0
    assert wrong[0] < wrong[1] + 0.02 * 300


def test_samples_that_repeat_each_other_leave_the_model_alone():
    adapter = RegressAndReweight().fit(*holdout())
    rng = np.random.default_rng(0)
    for batch, _ in stream(np.tile([0.7, 0.2, 0.1], (60, 1)), rng):
        adapter.update(batch)
    assert not adapter.fallback_active_
    for batch, _ in stream(np.tile([0.7, 0.2, 0.1], (200, 1)), rng, n=3):
        adapter.update(batch.repeat(5, axis=0))
    assert adapter.serial_correlation_ > 0.5
    assert adapter.fallback_active_
    assert "repeat each other" in adapter.fallback_reason_
    assert 60 < adapter.fallback_since_ < 160
    np.testing.assert_array_equal(adapter.predict_proba(batch), batch)
    assert RegressAndReweight(gate=False).fit(*holdout()).step(batch).proba.shape == batch.shape


def test_rounds_without_samples_and_before_a_refit_count_in_since():
    adapter = RegressAndReweight().fit(*holdout())
    rng = np.random.default_rng(4)
    for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (50, 1)), rng):
        adapter.update(batch)
    adapter.idle(1000)
    for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (50, 1)), rng):
        adapter.update(batch)
    adapter.refit(*holdout())
    for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (100, 1)), rng, noise=2.0):
        adapter.update(batch)
    assert adapter.rounds_ == 1200
    assert 1100 < adapter.fallback_since_ <= 1200


def test_what_a_person_says_of_the_mix_is_rehearsed_before_it_is_used():
    proba, y = holdout(900)
    few = (y != 2) | (np.cumsum(y == 2) <= 3)
    adapter = RegressAndReweight(calibrator=None).fit(proba[few], y[few])
    adapter.set_prior([0.05, 0.05, 0.9])
    assert adapter.correction_weight_ <= 0.25
    full = np.log(adapter.prior_ / adapter.source_prior_)
    np.testing.assert_allclose(adapter.log_offsets(), adapter.correction_weight_ * full, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning")
def test_a_holdout_with_which_nothing_can_be_tested_is_warned_of():
    proba, y = holdout(900)
    with pytest.warns(HoldoutWarning, match=r"cannot be tested: the holdout has 45 samples"):
        adapter = RegressAndReweight().fit(proba[:45], y[:45])
    assert "45 samples" in adapter.assumption_untested_
    few = (y != 2) | (np.cumsum(y == 2) <= 15)
    assert RegressAndReweight().fit(proba[few], y[few]).assumption_untested_ == ""
    assert RegressAndReweight(gate=False, alpha=None).fit(proba, y).assumption_untested_ == "alpha is None."


def test_an_alarm_puts_the_accuracy_and_the_band_in_doubt():
    adapter = RegressAndReweight().fit(*holdout(900))
    for batch, _ in stream(DRIFT, np.random.default_rng(2)):
        adapter.update(batch)
    assert adapter.accuracy_in_doubt_ == ""
    _, low, high = adapter.estimated_accuracy()
    assert high - low < 0.2
    adapter._correction.alarm_ = True
    assert "does not look like label shift" in adapter.accuracy_in_doubt_
    assert adapter.estimated_accuracy()[1:] == (0.0, 1.0)
    np.testing.assert_array_equal(adapter.prior_interval(), np.tile([0.0, 1.0], (len(adapter.prior_), 1)))


def test_labels_end_the_doubt_about_the_accuracy():
    proba, y = holdout(900)
    adapter = RegressAndReweight().fit(proba, y)
    adapter.update(proba[:200], y[:200])
    adapter._correction.alarm_ = True
    assert adapter.accuracy_in_doubt_ == ""
    assert adapter.estimated_accuracy().low > 0.3


def test_a_few_labels_bound_what_is_in_doubt():
    proba, y = holdout(900)
    adapter = RegressAndReweight().fit(proba, y)
    for batch, _ in stream(DRIFT, np.random.default_rng(2)):
        adapter.update(batch)
    adapter.update(proba[:200], np.where(np.arange(200) < 6, y[:200], UNLABELLED))
    calm, mix = adapter.estimated_accuracy(), adapter.prior_interval()
    assert calm.high - calm.low < 0.2  # six labels tell less than label shift does, if that holds
    adapter._correction.alarm_ = True
    found, limits = adapter.estimated_accuracy(), adapter.prior_interval()
    assert 0.3 < found.high - found.low < 0.8
    widths = np.diff(limits).ravel()
    assert widths.mean() < 0.9
    assert (widths > np.diff(mix).ravel()).all()
    assert (limits[:, 0] <= adapter.prior_).all()
    assert (adapter.prior_ <= limits[:, 1]).all()
    np.testing.assert_array_equal(adapter.prior_interval(labels=False), np.tile([0.0, 1.0], (K, 1)))
    assert "does not look like label shift" in adapter.accuracy_in_doubt_


def test_a_refit_that_is_refused_changes_nothing():
    adapter = RegressAndReweight().fit(*holdout())
    for batch, _ in stream(DRIFT, np.random.default_rng(2)):
        adapter.update(batch)
    before = dumps(adapter)
    adapter.alpha = 2.0
    with pytest.raises(ValueError, match="alpha"):
        adapter.refit(*holdout(90, seed=1))
    adapter.alpha = 0.05
    assert dumps(adapter) == before
    proba, y = holdout(90, seed=1)
    few = (y != 2) | (np.cumsum(y == 2) <= 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(HoldoutWarning):
            adapter.refit(proba[few], y[few])
    assert dumps(adapter) == before


def test_a_class_that_was_never_seen_is_unknown_mass():
    known, distances = np.array([0.2, 0.1, 0.3]) / 0.6, []
    for seed in range(6):
        adapter, rng = RegressAndReweight().fit(*holdout()), np.random.default_rng(seed)
        for batch, _ in stream(np.tile([0.35, 0.25, 0.4], (300, 1)), rng):
            adapter.update(batch)
        assert adapter.unknown_mass_ == 0.0
        np.testing.assert_array_equal(adapter.known_prior_, adapter.prior_)
        for batch, _ in stream(np.tile([0.2, 0.1, 0.3, 0.4], (300, 1)), rng):
            adapter.update(batch)
        assert 0.05 < adapter.unknown_mass_ < 0.6
        distances.append([np.abs(prior - known).sum() for prior in (adapter.known_prior_, adapter.prior_)])
    nearer, plain = np.mean(distances, axis=0)
    assert nearer < 0.95 * plain


def test_estimated_accuracy_is_that_of_the_adapted_predictions():
    adapter = RegressAndReweight().fit(*holdout(3000))
    assert np.isnan(adapter.estimated_accuracy().value)
    right = []
    for batch, y in stream(np.tile([0.8, 0.1, 0.1], (600, 1)), np.random.default_rng(7)):
        right.append((adapter.step(batch).labels == y).mean())
    value, low, high = adapter.estimated_accuracy()
    assert abs(value - np.mean(right[-500:])) < 0.015
    assert low < value < high


def test_reset_and_refit_begin_anew():
    adapter = RegressAndReweight().fit(*holdout())
    fresh = dumps(adapter)
    for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (100, 1)), np.random.default_rng(4), noise=2.0):
        adapter.update(batch)
    assert adapter.fallback_active_
    prior = adapter.prior_
    adapter.refit(*holdout())
    assert not adapter.fallback_active_
    assert not adapter.assumption_alarm_
    np.testing.assert_array_equal(adapter.prior_, prior)
    np.testing.assert_allclose(adapter.log_offsets(), np.log(prior / adapter.source_prior_))
    adapter.reset()
    assert dumps(adapter) == fresh


def test_what_is_known_of_the_mix_is_in_the_band():
    proba, y = holdout()
    adapter, band = RegressAndReweight(FLHFTL(K), calibrator=None).fit(proba, y), PriorBand().fit(proba, y)
    untold = RegressAndReweight(FLHFTL(K), calibrator=None).fit(proba, y)
    known = [0.02, 0.03, 0.95]
    adapter.set_prior(known)
    band.reset(known)
    for batch, _ in stream(np.tile(known, (5, 1)), np.random.default_rng(10)):
        for one in (adapter, untold):
            one.update(batch)
        band.update(batch, adapter.tracker_)
    told = adapter.prior_interval()
    np.testing.assert_array_equal(told, band.interval(adapter.prior_, adapter.tracker_))
    assert not np.array_equal(told, band.interval(untold.prior_, untold.tracker_))
    held = [(low <= known) & (known <= high) for low, high in (told.T, untold.prior_interval().T)]
    assert held[0].all()
    assert not held[1].all()


def test_without_labels_to_learn_from_it_says_so():
    adapter = RegressAndReweight(marginals=MLLS(), calibrator=None, source_prior=[0.3, 0.3, 0.4]).fit(holdout()[0])
    for batch, _ in stream(DRIFT, np.random.default_rng(9)):
        adapter.update(batch)
    assert adapter.assumption_evidence_ == 1.0
    assert adapter.unknown_mass_ == 0.0
    assert adapter.assumption_findings_ == []
    assert adapter.correction_weight_ == 1.0
    for question in (adapter.prior_interval, adapter.estimated_accuracy):
        with pytest.raises(ValueError, match="needs a labelled holdout"):
            question()


def test_the_check_can_be_left_out():
    adapter = RegressAndReweight(gate=False, alpha=None).fit(*holdout())
    for batch, _ in stream(np.tile([0.6, 0.2, 0.2], (100, 1)), np.random.default_rng(4), noise=2.0):
        adapter.step(batch, np.zeros(10, dtype=int))
    assert adapter.assumption_evidence_ == 1.0
    assert not adapter.assumption_alarm_
    assert adapter.prior_interval().shape == (K, 2)
    with pytest.raises(ValueError, match="alpha is None, and the gate needs it"):
        RegressAndReweight(alpha=None).fit(*holdout())
    with pytest.raises(ValueError, match="gate"):
        RegressAndReweight(gate="yes").fit(*holdout())
    with pytest.raises(ValueError, match="alpha"):
        RegressAndReweight(alpha=1.5).fit(*holdout())


@pytest.mark.parametrize("gate", [True, False])
def test_a_fallback_is_a_weight_below_one(gate, monkeypatch):
    """Over a stream that is honest, that lies, that repeats itself, and of which some labels come."""
    monkeypatch.setattr(
        gates, "rehearse", lambda *holdout_and_mix, thin: 0.25 if holdout_and_mix[-1].max() > 0.7 else 1.0
    )
    rng = np.random.default_rng(3)
    y = (rng.random(150) < 0.5).astype(int)
    second = rng.beta(1.0 + 2.0 * y, 3.0 - 2.0 * y)
    adapter = RegressAndReweight(gate=gate, calibrator=None).fit(second, y)
    weights = set()

    def look():
        reduced = adapter.correction_weight_ < 1.0
        assert adapter.fallback_active_ == reduced
        assert bool(adapter.fallback_reason_) == reduced
        assert (adapter.fallback_since_ is not None) == reduced
        weights.add(adapter.correction_weight_)

    for share in (0.5, 0.55, 0.8, 0.95, 0.3):
        for _ in range(12):
            second = rng.beta(1.0 + 4.0 * share, 1.0 + 4.0 * (1.0 - share), size=60)
            before = adapter.fallback_active_
            step = adapter.step(second)
            assert step.flags["fallback"] == before, "as it was when the step was predicted"
            look()
    for prior in ([0.5, 0.5], [0.1, 0.9], [0.9, 0.1], [0.45, 0.55]):
        adapter.set_prior(prior)
        look()
    adapter.update(np.full(2000, 0.7))
    look()
    adapter.reset()
    look()
    assert (len(weights) > 2) == gate, weights
    assert not weights <= {0.0, 0.5, 1.0} or not gate, "a part that only a rehearsal leaves"
