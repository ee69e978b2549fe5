"""AccuracyEstimate: how near it comes, and what its band is for."""

import copy

import numpy as np
import pytest

from baserate.state import dumps, loads
from baserate.trust import AccuracyEstimate
from baserate.trust._kept_holdout import KeptHoldout

from .simulated import holdout, labels, outputs

MIX = np.array([0.7, 0.2, 0.1])


def _window(rng, n, q=MIX, sharpness=1.0):
    """A window's probabilities, and which predictions are right when re-weighted to its mix."""
    y = labels(rng, n, q)
    proba = outputs(rng, y, sharpness)
    return proba, (proba * q).argmax(axis=1) == y


def _errors(n_holdout, sharpness, n_draws=40, n=2000):
    """Errors of the estimate and of the confidence, and whether the band holds the truth."""
    found = []
    for seed in range(n_draws):
        rng = np.random.default_rng([5, seed])
        estimate = AccuracyEstimate(n).fit(*holdout(rng, n_holdout, sharpness))
        proba, right = _window(rng, n, MIX, sharpness)
        for batch in np.split(proba, 20):
            estimate.update(batch, MIX)
        value, low, high = estimate.estimate()
        adapted = proba * MIX
        sure = (adapted.max(axis=1) / adapted.sum(axis=1)).mean()
        found.append((abs(value - right.mean()), abs(sure - right.mean()), low <= right.mean() <= high))
    return np.mean(found, axis=0)


@pytest.mark.parametrize(("n_holdout", "most"), [(300, 0.025), (3000, 0.012), (20000, 0.008)])
def test_an_honest_model_is_right_as_often_as_estimated(n_holdout, most):
    error, _, held = _errors(n_holdout, 1.0)
    assert error < most
    assert held >= 0.85


def test_a_model_too_sure_of_itself_is_seen_through():
    """Its confidence is seven points too high at this mix."""
    error, of_confidence, held = _errors(6000, 3.0)
    assert of_confidence > 0.06
    assert error < 0.012
    assert held >= 0.85


def test_without_the_holdouts_part_the_band_would_not_hold(monkeypatch):
    plain = KeptHoldout._class_weights

    def endless(self):
        weights, sizes = plain(self)
        return weights, sizes * 1e6

    assert _errors(300, 1.0)[2] >= 0.85
    monkeypatch.setattr(KeptHoldout, "_class_weights", endless)
    assert _errors(300, 1.0)[2] < 0.7


def test_by_hand():
    """One wrong sample among four of the holdout; a window of the holdout itself."""
    proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.6, 0.4]] * 2000)
    y = np.array([0, 0, 1, 1] * 2000)
    estimate = AccuracyEstimate().fit(proba, y)
    estimate.update(proba, [0.5, 0.5])
    assert estimate.estimate().value == pytest.approx(0.75, abs=2e-3)
    estimate.reset()
    estimate.update(proba[[0, 1] * 3000], [0.5, 0.5])
    assert estimate.estimate().value == pytest.approx(1.0, abs=4e-3)
    estimate.update(proba[[2, 3] * 3000], [0.5, 0.5])
    assert estimate.estimate().value == pytest.approx(0.5, abs=4e-3)  # the first 6,000 are out of the window


def test_accuracy_is_that_of_the_reweighted_model():
    """Told that nearly all is class 0, the model says so, and is right 99 times in 100."""
    rng = np.random.default_rng(0)
    q = np.array([0.99, 0.005, 0.005])
    estimate = AccuracyEstimate(2000).fit(*holdout(rng, 3000))
    proba, _ = _window(rng, 2000, q)
    estimate.update(proba, q)
    assert estimate.estimate().value == pytest.approx(0.99, abs=0.01)
    estimate.reset()
    estimate.update(proba, [1 / 3, 1 / 3, 1 / 3])
    assert estimate.estimate().value < 0.9


def test_the_window_is_the_last_samples():
    rng = np.random.default_rng(1)
    estimate = AccuracyEstimate(1600).fit(*holdout(rng, 3000))
    for _ in range(10):
        estimate.update(_window(rng, 100)[0], MIX)
    proba = _window(rng, 1600)[0]
    for batch in np.split(proba, 16):
        estimate.update(batch, MIX)
    only = AccuracyEstimate(1600).fit(estimate._proba, estimate._labels)
    for batch in np.split(proba, 16):
        only.update(batch, MIX)
    np.testing.assert_allclose(estimate.estimate(), only.estimate(), rtol=1e-12)
    only.update(np.empty((0, 3)), MIX)
    np.testing.assert_allclose(estimate.estimate(), only.estimate(), rtol=1e-12)


def test_rounds_in_bulk_are_the_same_as_one_by_one():
    """Cut wherever a part of the window is full, or the mix has moved by two points."""
    rng = np.random.default_rng(8)
    one, bulk = (AccuracyEstimate(640).fit(*holdout(np.random.default_rng(7), 300)) for _ in range(2))
    sizes = rng.integers(0, 30, 60)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    drift = np.linspace(0.0, 0.3, 60)[:, np.newaxis] * np.array([-1.0, 0.5, 0.5])
    rows, priors = _window(rng, starts[-1])[0], MIX + drift
    for prior, low, high in zip(priors, starts[:-1], starts[1:], strict=True):
        one.update(rows[low:high], prior)
    adapted = rows * np.repeat(priors, sizes, axis=0) / one.source_prior_
    bulk.take_in(rows, adapted / adapted.sum(axis=1, keepdims=True), priors, starts)
    np.testing.assert_allclose(bulk.estimate(), one.estimate(), rtol=1e-9)
    assert bulk._current == one._current
    assert bulk._sizes.max() == 10
    parts = bulk._recent()
    assert bulk._sizes[parts].sum() >= 640
    assert np.abs(bulk._priors[parts[0]] / bulk._sizes[parts[0]] - priors[-1]).max() < 0.02


def test_a_window_of_two_mixes_is_judged_by_each():
    """The gap between confidence and accuracy is not that of the mean of the two mixes."""
    sharpness, mixes = 3.0, (np.array([0.98, 0.01, 0.01]), np.array([0.01, 0.98, 0.01]))
    errors = []
    for seed in range(20):
        rng = np.random.default_rng([6, seed])
        estimate = AccuracyEstimate(4000).fit(*holdout(rng, 10000, sharpness))
        right = []
        for i in range(40):
            proba, found = _window(rng, 100, mixes[i % 2], sharpness)
            estimate.update(proba, mixes[i % 2])
            right.append(found)
        errors.append(estimate.estimate().value - np.mean(right))
    assert np.abs(errors).mean() < 0.006


def test_level_and_size_of_the_band():
    rng = np.random.default_rng(2)
    small, large = (AccuracyEstimate(2000).fit(*holdout(rng, n)) for n in (300, 20000))
    assert np.isnan(small.estimate().value)
    assert small.estimate()[1:] == (0.0, 1.0)
    proba = _window(rng, 2000)[0]
    for one in (small, large):
        one.update(proba, MIX)
    at = [small.estimate(level) for level in (0.5, 0.8, 0.95)]
    assert at[0].value == at[1].value == at[2].value
    assert 0 <= at[2].low < at[1].low < at[0].low <= at[0].value <= at[0].high < at[1].high < at[2].high <= 1
    assert small.estimate().high - small.estimate().low > 2 * (large.estimate().high - large.estimate().low)


def test_a_permutation_of_the_classes_changes_nothing():
    rng = np.random.default_rng(3)
    proba, y = holdout(rng, 300)
    window, order = _window(rng, 500)[0], np.array([2, 0, 1])
    found = []
    for columns in (np.arange(3), order):
        estimate = AccuracyEstimate().fit(proba[:, columns], np.argsort(columns)[y])
        estimate.update(window[:, columns], MIX[columns])
        found.append(estimate.estimate())
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)


def test_a_saved_estimate_goes_on():
    rng = np.random.default_rng(4)
    estimate = AccuracyEstimate(320).fit(*holdout(rng, 300))
    for _ in range(20):
        estimate.update(_window(rng, 25)[0], MIX)
    again, more = loads(dumps(estimate)), _window(rng, 25)[0]
    for one in (estimate, again):
        one.update(more, MIX)
    assert dumps(again) == dumps(estimate)
    assert again.estimate() == estimate.estimate()


def test_what_is_wrong_is_refused():
    rng = np.random.default_rng(5)
    estimate = AccuracyEstimate().fit(*holdout(rng, 30))
    before = dumps(estimate)
    with pytest.raises(ValueError, match="level is 1"):
        estimate.estimate(1.0)
    with pytest.raises(ValueError, match="proba has 2 columns"):
        estimate.update([[0.5, 0.5]], MIX)
    with pytest.raises(ValueError, match="prior row 0 sums to 1"):
        estimate.update([[0.5, 0.3, 0.2]], [0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="y has no sample of class 2"):
        estimate.fit([[0.5, 0.2, 0.3], [0.5, 0.2, 0.3]], [0, 1])
    assert dumps(estimate) == before
    with pytest.raises(ValueError, match="window is 3"):
        AccuracyEstimate(3).fit(*holdout(rng, 30))
    with pytest.raises(ValueError, match="not fitted"):
        AccuracyEstimate().estimate()


def test_a_damaged_state_is_refused():
    rng = np.random.default_rng(0)
    estimate = AccuracyEstimate().fit(*holdout(rng, 300))
    estimate.update(holdout(rng, 50)[0], MIX)
    for name, wrong in (
        ("_priors", estimate._priors[:, :2]),
        ("_priors", 2.0 * estimate._priors),
        ("_outputs", 0.5 * estimate._outputs),
        ("_confidence", 2.0 * estimate._sizes),
        ("_sizes", -estimate._sizes),
        ("_current", 128),
        ("_current", -1),
        ("window", 63),
        ("_labels", estimate._labels - 1),
    ):
        damaged = copy.deepcopy(estimate)
        setattr(damaged, name, wrong)
        with pytest.raises(ValueError, match=name if name != "_confidence" else "more confidence than rows"):
            loads(dumps(damaged))


def test_classes_that_cannot_be_told_apart_widen_the_limits():
    """The model says the same of two classes: how right it is depends on which of the two is frequent."""
    rng = np.random.default_rng(0)

    def at(mix, n):
        y = rng.choice(3, size=n, p=mix)
        sure = np.where(y == 0, 0.9, 0.1)
        sure = np.where(rng.random(n) < 0.1, 1 - sure, sure)
        return np.column_stack([sure, (1 - sure) * 0.6, (1 - sure) * 0.4]), y

    proba, y = at([0.4, 0.36, 0.24], 2000)
    estimate = AccuracyEstimate().fit(proba, y)
    for mix in ([0.4, 0.5, 0.1], [0.4, 0.1, 0.5]):
        estimate.reset()
        rows, truth = at(mix, 5000)
        estimate.update(rows, estimate.source_prior_)
        _, low, high = estimate.estimate()
        right = (rows.argmax(axis=1) == truth).mean()
        assert low < right < high
        assert high - low > 0.3


def test_labels_put_right_a_model_that_is_sure_and_wrong():
    rng = np.random.default_rng(0)
    held = np.arange(400) % 2
    sure = np.where(np.eye(2)[held] == 1.0, 0.95, 0.05)
    sure[::20] = sure[::20, ::-1]
    estimate = AccuracyEstimate().fit(sure, held)
    y = rng.integers(2, size=4000)
    wrong = np.where(rng.random(4000) < 0.4, 1 - y, y)  # 60 % right, and as sure as ever
    proba = np.where(np.eye(2)[wrong] == 1.0, 0.95, 0.05)
    told = np.where(rng.random(4000) < 0.05, y, -1)
    estimate.update(proba, [0.5, 0.5])
    assert estimate.estimate().low > 0.8
    estimate.reset()
    estimate.update(proba, [0.5, 0.5], told)
    value, low, high = estimate.estimate()
    assert low < 0.6 < high
    assert abs(value - 0.6) < 0.1
    few = np.where(np.cumsum(told >= 0) <= 19, told, -1)
    estimate.reset()
    estimate.update(proba, [0.5, 0.5], few)
    assert estimate.estimate().low > 0.8  # too few to tell


def test_limits_by_few_labels_hold_where_label_shift_is_in_doubt():
    rng = np.random.default_rng(0)
    held = np.arange(400) % 2
    sure = np.where(np.eye(2)[held] == 1.0, 0.95, 0.05)
    sure[::20] = sure[::20, ::-1]
    estimate, inside, widths = AccuracyEstimate().fit(sure, held), [], []
    y = rng.integers(2, size=2000)
    wrong = np.where(rng.random(2000) < 0.4, 1 - y, y)  # 60 % right, and as sure as ever
    proba = np.where(np.eye(2)[wrong] == 1.0, 0.95, 0.05)
    for _ in range(100):
        told = np.full(2000, -1)
        chosen = rng.choice(2000, size=8, replace=False)
        told[chosen] = y[chosen]
        estimate.reset()
        estimate.update(proba, [0.5, 0.5], told)
        assert estimate.doubted(0.0) == estimate.estimate()
        _, low, high = estimate.doubted(1.0)
        inside.append(low <= (wrong == y).mean() <= high)
        widths.append(high - low)
    assert np.mean(inside) >= 0.87
    assert 0.3 < np.mean(widths) < 0.7
    estimate.reset()
    estimate.update(proba, [0.5, 0.5])
    assert estimate.doubted(1.0)[1:] == (0.0, 1.0)
