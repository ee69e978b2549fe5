"""ExplainedShare: a class mix explains label shift, repeated or not, and nothing else."""

import numpy as np
import pytest

from baserate.state import dumps, loads
from baserate.trust import ExplainedShare

from .honest_model import K, holdout, stream

MIX = np.array([0.7, 0.1, 0.1, 0.1])


def outputs(mix, n, seed=0, **kwargs):
    rng = np.random.default_rng(seed)
    return np.concatenate([batch for batch, _ in stream(np.tile(mix, (n // 10, 1)), rng, **kwargs)])


def by_hand(proba, y, rows):
    """The share of one block, written down again with plain loops."""
    k = proba.shape[1]

    def cell(row, cuts):
        return 2 * row.argmax() + int(row.max() > cuts[row.argmax()])

    cuts = []
    for c in range(k):
        sure = [row.max() for row in proba if row.argmax() == c]
        cuts.append(np.median(sure) if sure else 0.5)
    cells = [
        [sum(y[i] == c and cell(proba[i], cuts) == j for i in range(len(y))) for j in range(2 * k)] for c in range(k)
    ]
    cells, sizes = np.array(cells, dtype=float), np.bincount(y, minlength=k)
    smooth = (cells + 2.0 * cells.sum(axis=0) / len(y)) / (sizes[:, None] + 2.0)
    counts = np.bincount([cell(row, cuts) for row in rows], minlength=2 * k)
    source = sizes / len(y)
    q = (source + 1e-6) / (1 + k * 1e-6)
    for _ in range(30):
        posterior = q[:, None] * smooth / (q @ smooth)
        q = posterior @ counts / counts.sum()

    def chi2(mix):
        expected = len(rows) * (mix @ smooth)
        return ((counts - expected) ** 2 / np.maximum(expected, 0.5)).sum()

    return max(1.0 - chi2(q) / chi2(source), 0.0)


def test_the_share_is_what_it_says():
    proba, y = holdout(400)
    rows = outputs(MIX, 1000)
    watch = ExplainedShare().fit(proba, y)
    watch.update(rows[:300])
    assert watch.share_ == 0.0
    watch.update(rows[300:])
    assert watch.share_ == pytest.approx(by_hand(proba, y, rows), abs=1e-9)


def test_label_shift_is_explained_and_repeating_it_changes_nothing():
    watch, repeated = (ExplainedShare().fit(*holdout(1000)) for _ in range(2))
    far = np.array([0.97, 0.01, 0.01, 0.01])
    watch.update(outputs(far, 4000))
    repeated.update(outputs(far, 1000).repeat(4, axis=0))
    assert watch.explained_
    assert repeated.explained_
    assert repeated.share_ == pytest.approx(watch.share_, abs=0.1)


def test_a_small_change_and_no_change_are_not_worth_explaining():
    proba, y = holdout(1000)
    watch = ExplainedShare().fit(proba, y)
    watch.update(outputs(np.bincount(y, minlength=K) / len(y), 4000))
    assert not watch.explained_


def test_saved_and_loaded_it_goes_on_bit_for_bit_and_a_reset_forgets():
    watch = ExplainedShare().fit(*holdout(300))
    fresh = dumps(watch)
    watch.update(outputs(MIX, 2500))
    again = loads(dumps(watch))
    for one in (watch, again):
        one.update(outputs(MIX[::-1], 1700, seed=1))
    assert dumps(again) == dumps(watch)
    watch.reset()
    assert dumps(watch) == fresh


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("_n", 7), ("_n", -1), ("_changes", np.array([1.0, 2.0])), ("_mix", np.full(K, 1.0)), ("_counts", np.zeros(3))],
)
def test_a_damaged_state_is_refused(name, wrong):
    watch = ExplainedShare().fit(*holdout(300))
    setattr(watch, name, wrong)
    with pytest.raises(ValueError, match="ExplainedShare"):
        loads(dumps(watch))


def test_rows_in_cells_that_no_class_was_ever_in_stay_unexplained():
    """The model's confidence of class 0 was never low in the holdout; now it is, for half of the rows."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    high = 0.9 + 0.09 * rng.random(400)
    proba = np.column_stack([np.where(y == 0, high, 0.001), np.where(y == 0, 1.0 - high, 0.999)])
    watch = ExplainedShare().fit(proba[y == 0].repeat(2, axis=0), np.tile([0, 1], 200))
    rows = np.column_stack([np.full(3000, 0.2), np.full(3000, 0.8)])
    watch.update(rows)
    assert watch.share_ < 0.25
    assert watch.unexplained_
    assert not watch.explained_
    assert np.isfinite(watch._mix).all()
    assert watch._mix.sum() == pytest.approx(1.0)
    loads(dumps(watch))
