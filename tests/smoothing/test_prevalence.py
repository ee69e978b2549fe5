"""The class mix of periods, by several estimates."""

import numpy as np
import pytest

from baserate import RegressAndReweight
from baserate.smoothing import prevalence, smooth
from baserate.smoothing.audited import audited_shares


def outputs(y, rng, moved=0.0):
    x = rng.normal(size=len(y)) + 1.5 * y + moved
    p = 1.0 / (1.0 + 9.0 * np.exp(1.125 - 1.5 * x))  # calibrated for a share of a tenth
    return np.column_stack([1.0 - p, p])


def year(rng, *, moved=0.0, weeks=26, n=500, audits=30):
    held = (rng.random(3000) < 0.1).astype(int)
    adapter = RegressAndReweight().fit(outputs(held, rng), held)
    q = 0.05 + 0.03 * np.sin(np.arange(weeks) / 4.0)
    y = (rng.random((weeks, n)) < q[:, np.newaxis]).astype(int).ravel()
    labels = np.full(weeks * n, -1)
    for week in range(weeks):
        rows = week * n + rng.choice(n, audits, replace=False)
        labels[rows] = y[rows]
    return adapter, outputs(y, rng, moved), np.arange(0, weeks * n + 1, n), labels, q, y


def held_share(found, q):
    return ((found.low[:, 1] <= q) & (q <= found.high[:, 1])).mean()


def test_periods_with_audits():
    rng = np.random.default_rng(0)
    adapter, proba, starts, labels, q, _ = year(rng)
    found = prevalence(adapter, proba, starts, labels)
    assert held_share(found.hindsight, q) >= 0.87
    assert held_share(found.audited, q) >= 0.85
    widths = [(some.high - some.low)[:, 1].mean() for some in (found.audited, found.labels_alone)]
    assert widths[0] < 0.8 * widths[1]
    assert (found.rows == 500).all()
    assert (found.labels == 30).all()
    assert found.best is found.audited
    np.testing.assert_allclose(found.counted[0], np.bincount(proba[:500].argmax(axis=1), minlength=2) / 500)
    hindsight = smooth(adapter, proba, starts, labels)
    for one, other in zip(hindsight, found.hindsight, strict=True):
        np.testing.assert_array_equal(one, other)


def test_audits_hold_where_the_model_has_broken():
    held = []
    for seed in range(4):
        adapter, proba, starts, labels, q, _ = year(np.random.default_rng(seed), moved=0.7)
        found = prevalence(adapter, proba, starts, labels)
        assert held_share(found.hindsight, q) < 0.5
        held.append(held_share(found.audited, q))
    assert np.mean(held) >= 0.8


def test_without_labels_hindsight_is_the_best_estimate_and_the_causal_path_is_that_of_the_adapter():
    rng = np.random.default_rng(0)
    adapter, proba, starts, _, _, _ = year(rng, weeks=6)
    found = prevalence(adapter, proba, starts)
    assert found.audited is None
    assert found.labels_alone is None
    assert found.best is found.hindsight
    adapter.update(proba[:500])
    np.testing.assert_array_equal(found.causal.prior[0], adapter.prior_)
    np.testing.assert_array_equal(found.causal.low[0], adapter.prior_interval()[:, 0])


def test_labels_of_all_rows_give_their_shares():
    rng = np.random.default_rng(0)
    _, proba, starts, _, _, y = year(rng, weeks=5)
    value, low, high = audited_shares(proba, starts, y, np.full((5, 2), 1.0))
    shares = y.reshape(5, -1).mean(axis=1)
    np.testing.assert_array_less(np.abs(value[:, 1] - shares), 0.02)
    assert ((low[:, 1] <= shares) & (shares <= high[:, 1])).all()


def test_a_period_without_rows_and_names_of_classes():
    rng = np.random.default_rng(0)
    held = rng.integers(2, size=400)
    adapter = RegressAndReweight().fit(outputs(held, rng), np.array(["no", "yes"])[held])
    y = rng.integers(2, size=60)
    labels = np.where(np.arange(60) % 3 == 0, np.array(["no", "yes"], dtype=object)[y], None)
    found = prevalence(adapter, outputs(y, rng), [0, 30, 30, 60], labels)
    assert np.isnan(found.counted[1]).all()
    assert np.isnan(found.labels_alone.prior[1]).all()
    assert found.labels.tolist() == [10, 0, 10]
    assert np.isnan(found.audited.prior[1]).all()
    assert found.audited.low[1].tolist() == [0.0, 0.0]
    assert found.audited.high[1].tolist() == [1.0, 1.0]
    for some in (found.causal, found.hindsight, np.array(found.audited)[:, [0, 2]]):
        assert np.isfinite(np.array(some)).all()
    with pytest.raises(ValueError, match="weights is not a positive number"):
        prevalence(adapter, outputs(y, rng), [0, 60], labels, weights=np.zeros(60))


def test_audits_of_high_scores_do_not_mislead_if_their_weights_are_given():
    adapter, proba, starts, _, q, y = year(np.random.default_rng(3), weeks=40)
    rng, labels, weights = np.random.default_rng(4), np.full(len(y), -1), np.ones(len(y))
    for first in starts[:-1]:
        order = first + np.argsort(-proba[first : first + 500, 1], kind="stable")
        for some, n in ((order[:50], 15), (order[50:], 15)):
            rows = rng.choice(some, n, replace=False)
            labels[rows], weights[some] = y[rows], len(some) / n
    found = prevalence(adapter, proba, starts, labels, weights=weights)
    for some in (found.audited, found.labels_alone, found.causal):
        assert np.abs(some.prior[:, 1].mean() - q.mean()) < 0.015
        assert held_share(some, q) >= 0.85
    misled = prevalence(adapter, proba, starts, labels)
    assert misled.labels_alone.prior[:, 1].mean() > 1.5 * q.mean()
    assert found.causal.high[-1, 1] < misled.causal.high[-1, 1]
