"""UnknownMass: a class that was left out is noticed and measured; label shift alone is not taken for one."""

import functools

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import baserate
from baserate.state import dumps
from baserate.trust import UnknownMass

K = 9
EVEN = np.full(K, 1 / K)
MIXES = {"even": EVEN, "mostly 0": np.array([0.6] + [0.05] * 8), "without 3": np.array([1, 1, 1, 0, 1, 1, 1, 1, 1]) / 8}


@functools.cache
def digits(left_out):
    """Outputs of a model that has not seen a digit, which has the label 9; holdout, and the rest."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(left_out).permutation(len(y))
    x, y = x[order] / 16.0, y[order]
    y = np.where(y == left_out, K, np.where(y > left_out, y - 1, y))
    known = np.flatnonzero(y < K)
    train, held = known[:400], known[400:1000]
    proba = LogisticRegression(max_iter=300).fit(x[train], y[train]).predict_proba(x)
    rest = np.setdiff1d(np.arange(len(y)), np.concatenate([train, held]))
    return proba[held], y[held], proba[rest], y[rest]


def stream(left_out, mass, mix, rng, n=3000):
    _, _, proba, y = digits(left_out)
    shares = np.append((1.0 - mass) * mix, mass)
    drawn = rng.choice(K + 1, size=n, p=shares)
    return np.array([proba[rng.choice(np.flatnonzero(y == c))] for c in drawn])


def watched(left_out, mass, mix, seed=0, **kwargs):
    rng = np.random.default_rng([left_out, seed])
    unknown = UnknownMass(**kwargs).fit(*digits(left_out)[:2])
    for batch in np.array_split(stream(left_out, mass, mix, rng), 100):
        unknown.update(batch)
    return unknown


@pytest.mark.parametrize("mass", [0.1, 0.2])
@pytest.mark.parametrize("left_out", [0, 3, 7, 8])
def test_a_class_that_was_left_out_is_measured(left_out, mass):
    unknown = watched(left_out, mass, EVEN)
    assert 0.5 * mass <= unknown.raw_ <= 1.5 * mass
    if mass == 0.2:
        assert unknown.mass_ == unknown.raw_


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("left_out", [0, 3, 7, 8])
def test_label_shift_is_no_unknown_mass(left_out, mix):
    """The rest of the digits is itself no more than a sample, about as large as the holdout."""
    unknown = watched(left_out, 0.0, MIXES[mix])
    assert abs(unknown.raw_) < 0.09
    assert unknown.mass_ < 0.09


def test_its_standard_error_is_about_right():
    """Over holdouts and streams; deviations in standard errors have a spread of about one; few look like mass."""
    proba, y = (np.concatenate(parts) for parts in zip(digits(8)[:2], digits(8)[2:], strict=True))
    proba, y = proba[y < K], y[y < K]
    scaled = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        held, drawn = rng.integers(len(y), size=500), rng.integers(len(y), size=1000)
        unknown = UnknownMass().fit(proba[held], y[held])
        unknown.update(proba[drawn])
        scaled.append(unknown.raw_ / unknown.error_)
    assert 0.5 < np.std(scaled) < 1.6
    assert abs(np.mean(scaled)) < 0.8
    assert np.mean(np.array(scaled) > 2.0) <= 0.1


def test_unknown_mass_is_taken_from_the_class_that_it_was_booked_to():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)

    def outputs(classes, doubtful):
        logits = np.where(doubtful, 1.2, 5.0)[:, np.newaxis] * np.eye(3)[classes]
        odds = np.exp(logits + 0.2 * rng.standard_normal(logits.shape))
        return odds / odds.sum(axis=1, keepdims=True)

    unknown = UnknownMass().fit(outputs(y, rng.random(900) < 0.1), y)
    drawn = rng.integers(3, size=2000)
    strange = rng.random(2000) < 0.3  # all of it looks like a doubtful class 1
    drawn[strange] = 1
    unknown.update(outputs(drawn, strange | (rng.random(2000) < 0.1)))
    assert unknown.mass_ == pytest.approx(0.3, abs=0.08)
    booked = np.bincount(drawn, minlength=3) / 2000
    assert booked[1] > 0.45
    assert unknown.without_unknown(booked) == pytest.approx(np.full(3, 1 / 3), abs=0.08)


def test_without_unknown_mass_a_mix_stays_as_it_is():
    unknown = watched(0, 0.0, EVEN)
    assert (unknown.without_unknown(MIXES["mostly 0"]) == MIXES["mostly 0"]).all()


def test_old_samples_are_forgotten():
    rng = np.random.default_rng(1)
    unknown = watched(0, 0.3, EVEN, window=500)
    assert unknown.mass_ > 0.15
    unknown.update(stream(0, 0.0, EVEN, rng, n=2000))
    assert unknown.mass_ == 0.0


def test_batches_make_no_difference():
    rows = stream(0, 0.2, EVEN, np.random.default_rng(0), n=400)
    one, many = (UnknownMass(window=100).fit(*digits(0)[:2]) for _ in range(2))
    one.update(rows)
    for row in rows:
        many.update(row[np.newaxis])
        many.update(np.empty((0, K)))
    assert one.raw_ == pytest.approx(many.raw_)
    assert one.error_ == pytest.approx(many.error_)


def test_nothing_is_said_of_few_samples():
    unknown = UnknownMass().fit(*digits(0)[:2])
    assert (unknown.mass_, unknown.error_) == (0.0, np.inf)
    unknown.update(stream(0, 1.0, EVEN, np.random.default_rng(0), n=50))
    assert (unknown.mass_, unknown.error_) == (0.0, np.inf)
    small = UnknownMass().fit(digits(0)[0][:40], digits(0)[1][:40])
    assert not small.usable_
    small.update(stream(0, 1.0, EVEN, np.random.default_rng(0), n=500))
    assert small.mass_ == 0.0


def test_saved_and_loaded_it_goes_on_bit_for_bit(tmp_path):
    unknown = watched(0, 0.2, EVEN)
    baserate.save(unknown, tmp_path / "unknown.baserate")
    again = baserate.load(tmp_path / "unknown.baserate")
    rows = stream(0, 0.2, EVEN, np.random.default_rng(3), n=100)
    for one in (unknown, again):
        one.update(rows)
    assert dumps(again) == dumps(unknown)
    assert again.raw_ == unknown.raw_
    again.reset()
    assert dumps(again) == dumps(UnknownMass().fit(*digits(0)[:2]))


def test_bad_input_is_refused():
    unknown = UnknownMass().fit(*digits(0)[:2])
    before = dumps(unknown)
    with pytest.raises(ValueError, match="columns"):
        unknown.update([[0.5, 0.5]])
    with pytest.raises(ValueError, match="prior"):
        unknown.without_unknown(np.full(K, 0.5))
    with pytest.raises(ValueError, match="window"):
        UnknownMass(window=0).fit(*digits(0)[:2])
    assert dumps(unknown) == before


def test_a_rare_class_that_becomes_common_is_not_unknown():
    """1 % positives, of which the holdout has about ten, become 8 %: nothing is unknown; what lies far away is."""
    peaks, found = [], 0
    for seed in range(20):
        rng = np.random.default_rng(seed)

        def score(x):
            odds = np.exp(1.8 * x + np.log(0.01 / 0.99))
            return np.column_stack([1 / (1 + odds), odds / (1 + odds)])

        y = (rng.random(1000) < 0.01).astype(int)
        y[:3] = 1
        unknown = UnknownMass(500).fit(score(1.8 * (y - 0.5) + rng.standard_normal(1000)), y)
        peak = 0.0
        for _ in range(30):
            now = (rng.random(64) < 0.08).astype(int)
            unknown.update(score(1.8 * (now - 0.5) + rng.standard_normal(64)))
            peak = max(peak, unknown.mass_)
        peaks.append(peak)
        for _ in range(30):
            x = -0.9 + rng.standard_normal(64)
            odd = rng.random(64) < 0.1
            unknown.update(score(np.where(odd, 3.6 + 0.5 * rng.standard_normal(64), x)))
            peak = max(peak, unknown.mass_)
        found += peak > 0.03
    assert np.mean(np.array(peaks) < 0.03) >= 0.9
    assert found >= 10  # the rest looks like the rare class, which is left the benefit of the doubt
