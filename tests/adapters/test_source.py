"""Adapters calibrate before they adapt: by default, with a calibrator that is handed over, or not at all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from baserate import Bank
from baserate.adapters import Base, Oracle, RegressAndReweight
from baserate.calibrators import BCTS, AutoCalibrator, TemperatureScaling
from baserate.datasets import digits
from baserate.marginals import MLLS
from baserate.shifts import Bernoulli, sample_stream
from baserate.simplex import log_ratio, reweight
from baserate.state import dumps, loads
from baserate.trackers import FollowTheHistory, LastSighting

from ..calibrators.honest import distort, draw


def shifted(p, y, mix, n, rng):
    """A sample with another class mix."""
    labels = rng.choice(len(mix), size=n, p=mix)
    rows = np.array([rng.choice(np.flatnonzero(y == c)) for c in labels])
    return p[rows], labels


@pytest.mark.parametrize("model", [LogisticRegression(C=0.1, max_iter=1000), RandomForestClassifier(random_state=0)])
def test_under_confident_models_need_it(model):
    """Uncalibrated they are corrected too much; by default they are calibrated, and gain."""
    data = digits.load()
    model.fit(data.source_X[:300], data.source_y[:300])
    holdout = model.predict_proba(data.source_X[300:]), data.source_y[300:]
    pool = model.predict_proba(data.target_X)
    shift = Bernoulli(second=np.eye(10)[8])
    stream = list(sample_stream(pool, data.target_y, shift, n_rounds=400, rng=0))

    def error(adapter):
        adapter.fit(*holdout)
        return np.mean([(adapter.step(batch.proba).labels != batch.y).mean() for batch in stream])

    alone, plain = error(Base()), error(RegressAndReweight(calibrator=None))
    assert error(RegressAndReweight()) < 0.9 * min(alone, plain)
    path = [batch.q for batch in stream]
    assert error(Oracle(path)) < 0.9 * error(Oracle(path, calibrator=None))


def test_the_default_is_the_automatic_calibrator():
    p, y = draw(np.random.default_rng(0), 500, 4)
    for cls in (RegressAndReweight, lambda: Oracle(np.full((9, 4), 0.25))):
        adapter = cls().fit(distort(p, 0.4), y)
        assert isinstance(adapter.calibrator_, AutoCalibrator)
        np.testing.assert_allclose(1 / adapter.calibrator_.scales_, 2.5, rtol=0.2)
    assert RegressAndReweight().fit(p, y).calibrator_.degrees_of_freedom_ == 0


def test_honest_probabilities_are_left_alone():
    p, y = draw(np.random.default_rng(0), 1000, 4)
    auto = RegressAndReweight(FollowTheHistory(4)).fit(p, y)
    np.testing.assert_allclose(auto.source_prior_, p.mean(axis=0), rtol=1e-12)
    none = RegressAndReweight(FollowTheHistory(4), calibrator=None, source_prior=auto.source_prior_).fit(p, y)
    for i in range(20):
        a, b = (adapter.step(p[10 * i : 10 * i + 10]) for adapter in (auto, none))
        np.testing.assert_allclose(a.proba, b.proba, rtol=0, atol=1e-12)


def test_without_labels_there_is_a_warning():
    p, _ = draw(np.random.default_rng(0), 50, 3)
    for arguments in ((), (p,)):
        with pytest.warns(UserWarning, match="calibrator=None") as caught:
            adapter = RegressAndReweight(LastSighting(3), MLLS(), source_prior=[0.3, 0.3, 0.4]).fit(*arguments)
        assert caught[0].filename == __file__
        assert adapter.calibrator_ is None
        RegressAndReweight(LastSighting(3), MLLS(), None, source_prior=[0.3, 0.3, 0.4]).fit(*arguments)


def test_a_holdout_with_another_mix_is_not_a_fault_of_the_model():
    """Honest at the source's mix; the holdout has another one, which biases would take for the model's error."""
    rng = np.random.default_rng(0)
    p, y = draw(rng, 40_000, 3)
    source = np.bincount(y) / len(y)
    holdout, labels = shifted(p, y, [0.1, 0.2, 0.7], 8000, rng)
    adapter = RegressAndReweight(LastSighting(3), calibrator=BCTS(), source_prior=source).fit(holdout, labels)
    np.testing.assert_allclose(adapter.calibrator_.biases_, 0, atol=0.12)
    assert adapter.calibrator_.temperature_ == pytest.approx(1, abs=0.06)
    np.testing.assert_allclose(adapter.predict_proba(p[:500]), p[:500], atol=0.04)
    naive = BCTS().fit(holdout, labels)
    assert np.abs(naive.biases_).max() > 0.8
    # And one that is biased is found out, whatever the mix.
    biases = np.array([0.8, -0.3, -0.5])
    wrong = distort(holdout, 1.0, biases)
    adapter = RegressAndReweight(LastSighting(3), calibrator=BCTS(), source_prior=source).fit(wrong, labels)
    np.testing.assert_allclose(adapter.calibrator_.biases_, -biases, atol=0.12)
    np.testing.assert_allclose(adapter.predict_proba(distort(p[:500], 1.0, biases)), p[:500], atol=0.04)


def test_the_way_to_the_holdouts_mix_and_back_by_hand():
    rng = np.random.default_rng(1)
    p, y = draw(rng, 300, 3)
    source = np.array([0.2, 0.3, 0.5])
    adapter = RegressAndReweight(LastSighting(3), calibrator=TemperatureScaling(), source_prior=source)
    adapter.fit(distort(p, 0.5), y)
    offsets = log_ratio(np.bincount(y) / 300, source)[np.newaxis]
    there = reweight(p, offsets, np.array([0, 300]))
    expected = reweight(adapter.calibrator_.transform(there), -offsets, np.array([0, 300]))
    np.testing.assert_allclose(adapter.calibrate(p), expected, rtol=0, atol=1e-15)
    assert dumps(loads(dumps(adapter))) == dumps(adapter)
    same = RegressAndReweight(calibrator=TemperatureScaling(), source_prior=np.bincount(y) / 300).fit(p, y)
    assert same._calibration_offsets is None


def test_a_bank_calibrates_as_its_adapter_does():
    rng = np.random.default_rng(2)
    p, y = draw(rng, 300, 3)
    p = distort(p, 0.4)
    alone = RegressAndReweight(FollowTheHistory(3), source_prior=[0.2, 0.3, 0.5], gate=False).fit(p, y)
    bank = Bank(alone)
    assert alone.calibrator_.degrees_of_freedom_ > 0
    for i in range(5):
        batch = p[10 * i : 10 * i + 10]
        np.testing.assert_array_equal(bank.step(["a"] * 10, batch).proba, alone.step(batch).proba)


def test_a_class_missing_from_the_holdout_is_named():
    p, y = draw(np.random.default_rng(3), 100, 3)
    with pytest.raises(ValueError, match="y has no sample of class 2"):
        RegressAndReweight(marginals=MLLS(), source_prior=[0.3, 0.3, 0.4]).fit(p[y != 2], y[y != 2])


def test_a_class_missing_from_the_holdout_is_named_by_the_calibration_too():
    p, y = draw(np.random.default_rng(3), 100, 3)
    adapter = RegressAndReweight(marginals=MLLS(base="prior"), source_prior=[0.3, 0.3, 0.4])
    with pytest.raises(ValueError, match="y has no sample of class 2"):
        adapter.fit(p[y != 2], y[y != 2])


def test_small_differences_between_mixes_count():
    p, y = draw(np.random.default_rng(3), 100, 2)
    prior = np.bincount(y) / 100 + [1e-4, -1e-4]
    adapter = RegressAndReweight(LastSighting(2), calibrator=BCTS(), source_prior=prior).fit(p, y)
    assert adapter._calibration_offsets is not None


def test_damaged_calibration_offsets_are_refused():
    p, y = draw(np.random.default_rng(3), 100, 3)
    adapter = RegressAndReweight(LastSighting(3), calibrator=BCTS(), source_prior=[0.2, 0.3, 0.5]).fit(p, y)
    adapter._calibration_offsets = np.zeros(2)
    with pytest.raises(ValueError, match="_calibration_offsets"):
        loads(dumps(adapter))


def test_shadow_mode_leaves_the_models_own_probabilities():
    p, y = draw(np.random.default_rng(0), 500, 4)
    p = distort(p, 0.4)
    adapter = RegressAndReweight(LastSighting(4), enabled=False).fit(p, y)
    assert adapter.calibrator_.degrees_of_freedom_ > 0
    np.testing.assert_array_equal(adapter.step(p[:10]).proba, p[:10])


def test_shadow_mode_of_a_bank_leaves_the_models_own_probabilities():
    p, y = draw(np.random.default_rng(0), 500, 4)
    p = distort(p, 0.4)
    bank = Bank(RegressAndReweight(FollowTheHistory(4), enabled=False).fit(p, y))
    np.testing.assert_array_equal(bank.step(["a", "b", "a"], p[:3]).proba, p[:3])
    np.testing.assert_array_equal(bank.predict_proba(["a", "b", "a"], p[:3]), p[:3])


def test_what_needs_labels_says_so_without_a_warning_first():
    p, _ = draw(np.random.default_rng(0), 50, 3)
    with pytest.raises(ValueError, match="BBSE needs a labelled holdout"):
        RegressAndReweight(FollowTheHistory(3), source_prior=[0.3, 0.3, 0.4]).fit(p)


LABELS = np.arange(240) % 3
OUTPUTS = 0.6 * np.eye(3)[LABELS] + 0.4 * np.random.default_rng(0).dirichlet(np.full(3, 0.3), size=240)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-12.5, 0.0) | st.floats(-308.0, 0.0), min_size=3, max_size=3),
    st.sampled_from([None, LastSighting(3), FollowTheHistory(3)]),
    st.booleans(),
)
def test_any_source_prior_is_refused_or_gives_class_mixes(powers, tracker, transductive):
    """Where a class has next to no share, a division by it would make the estimate NaN for good."""
    shares = 10.0 ** np.array(powers)
    prior = shares / shares.sum()
    adapter = RegressAndReweight(
        tracker, calibrator=None, source_prior=prior, transductive=transductive and tracker is None
    )
    if prior.min() < 1e-12:
        with pytest.raises(ValueError, match=r"source_prior gives class \d .* with 1e-12 at least"):
            adapter.fit(OUTPUTS, LABELS)
        return
    adapter.fit(OUTPUTS, LABELS)
    for i in range(8):
        step = adapter.step(OUTPUTS[10 * i : 10 * i + 10])
        for mix in (*step.proba, adapter.prior_, *adapter.prior_interval()):
            assert np.isfinite(mix).all()
            assert (mix >= 0.0).all()
        assert np.abs(step.proba.sum(axis=1) - 1.0).max() < 1e-9
        assert abs(adapter.prior_.sum() - 1.0) < 1e-9
    assert dumps(loads(dumps(adapter))) == dumps(adapter)
