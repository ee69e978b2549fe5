"""Rows that are worth labelling: which they are, and that estimates from their labels are unbiased."""

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.adapters.regress_and_reweight.label_requests import AT_RANDOM, DISAGREE, RANDOM, label_worth
from baserate.state import dumps


def model_outputs(rng, n, share):
    y = (rng.random(n) < share).astype(int)
    odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, 1.0) + rng.normal(0.0, 1.0, n))
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y


@pytest.fixture(scope="module")
def moved():
    """An adapter whose class mix has moved from 50 to 85 %, and a batch."""
    rng = np.random.default_rng(0)
    adapter = RegressAndReweight().fit(*model_outputs(rng, 1000, 0.5))
    for _ in range(60):
        adapter.step(model_outputs(rng, 20, 0.85)[0])
    return adapter, *model_outputs(rng, 400, 0.85)


def test_requests_are_seeded_and_change_nothing(moved):
    adapter, proba, _ = moved
    before = dumps(adapter)
    asked = adapter.label_requests(proba, 40, rng=3)
    again = adapter.label_requests(proba, 40, np.random.default_rng(3))
    assert dumps(adapter) == before
    np.testing.assert_array_equal(asked.indices, again.indices)
    np.testing.assert_array_equal(asked.probabilities, again.probabilities)
    assert asked.reasons == again.reasons
    assert not np.array_equal(asked.indices, adapter.label_requests(proba, 40, rng=4).indices)


def test_every_row_has_its_chance_and_disputed_ones_more(moved):
    adapter, proba, _ = moved
    found = adapter.label_worth(proba)
    assert found.worth.mean() == pytest.approx(1.0)
    assert found.worth.min() >= AT_RANDOM
    asked = adapter.label_requests(proba, 40, rng=0)
    assert len(asked.indices) == 40
    assert asked.probabilities.min() >= AT_RANDOM * 40 / len(proba)
    disputed = proba.argmax(axis=1) != adapter.predict_proba(proba).argmax(axis=1)
    assert 5 < disputed.sum() < 100
    assert found.worth[disputed].mean() > 2.0 * found.worth[~disputed].mean()
    assert {reason for i, reason in zip(asked.indices, asked.reasons, strict=True) if disputed[i]} == {DISAGREE}
    assert RANDOM in asked.reasons


def test_the_worth_is_that_of_a_naive_transcription():
    rng = np.random.default_rng(5)
    weights, tables = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3), (4, 6))
    belief = [0.5 * w + 0.125 for w in weights]
    spreads = []
    for i in range(6):
        mean = [sum(belief[m] * tables[m, i, c] for m in range(4)) for c in range(3)]
        shown = [max(range(3), key=lambda c, m=m, i=i: tables[m, i, c]) for m in range(4)]
        total = 0.0
        for c in range(3):
            centre = sum(belief[m] * (shown[m] != c) for m in range(4))
            total += mean[c] * sum(belief[m] * ((shown[m] != c) - centre) ** 2 for m in range(4))
        spreads.append(total**0.5)
    expected = 0.5 * np.array(spreads) / (np.mean(spreads) + 0.02)
    np.testing.assert_allclose(label_worth(weights, tables).worth, expected + 1.0 - expected.mean(), rtol=1e-12)


def test_where_all_predict_the_same_class_chance_decides():
    """A row in doubt is worth no more than others unless candidates predict other classes for it."""
    rng = np.random.default_rng(6)
    rows = rng.dirichlet([5.0, 1.0], (2, 8))
    rows[:, :, 0], rows[:, :, 1] = rows.max(axis=2), rows.min(axis=2)
    found = label_worth(np.array([0.5, 0.5]), rows)
    np.testing.assert_array_equal(found.worth, np.ones(8))
    assert set(found.reasons) == {RANDOM}
    rows[1, 3] = rows[1, 3, ::-1]
    found = label_worth(np.array([0.5, 0.5]), rows)
    assert found.reasons == [DISAGREE if i == 3 else RANDOM for i in range(8)]
    assert found.worth[3] > 3.0 * found.worth[0]


@pytest.mark.parametrize("n", [10, 40])
def test_the_class_mix_of_requested_labels_is_unbiased(moved, n):
    """Horvitz and Thompson's estimate, and Hajek's, over 200 draws; the plain mean of the labels is not."""
    adapter, proba, y = moved
    truth = y.mean()
    totals, ratios, plain = [], [], []
    for seed in range(200):
        asked = adapter.label_requests(proba, n, rng=seed + 1000 * n)
        weights, told = 1.0 / asked.probabilities, y[asked.indices]
        totals.append((weights * told).sum() / len(y))
        ratios.append((weights * told).sum() / weights.sum())
        plain.append(told.mean())

    def z(values):
        return abs(np.mean(values) - truth) / (np.std(values, ddof=1) / np.sqrt(len(values)))

    assert z(totals) < 3.0
    assert z(ratios) < 3.0
    assert z(plain) > 5.0


def test_requests_tell_more_about_the_correction_than_labels_at_random(moved):
    """The error of corrected minus uncorrected predictions, estimated from as many labels, has a smaller variance."""
    adapter, proba, y = moved
    full = proba * adapter.prior_ / adapter.source_prior_
    difference = (full.argmax(axis=1) != y).astype(float) - (proba.argmax(axis=1) != y)
    rng, asked_for, at_random = np.random.default_rng(2), [], []
    for seed in range(300):
        asked = adapter.label_requests(proba, 30, rng=seed)
        asked_for.append((difference[asked.indices] / asked.probabilities).sum() / len(y))
        at_random.append(difference[rng.choice(len(y), 30, replace=False)].mean())
    assert np.var(asked_for) < 0.5 * np.var(at_random)


def test_small_and_empty_batches(moved):
    adapter, proba, _ = moved
    asked = adapter.label_requests(proba[:3], 10, rng=0)
    np.testing.assert_array_equal(asked.indices, np.arange(3))
    np.testing.assert_array_equal(asked.probabilities, np.ones(3))
    assert len(asked.reasons) == 3
    empty = adapter.label_requests(proba[:0], 10, rng=0)
    assert (len(empty.indices), len(empty.probabilities), empty.reasons) == (0, 0, [])


@pytest.mark.parametrize(("n", "rng", "word"), [(0, 0, "n is 0"), (1.5, 0, "n is 1.5"), (5, "x", "rng is 'x'")])
def test_bad_requests_are_refused(moved, n, rng, word):
    adapter, proba, _ = moved
    with pytest.raises((ValueError, TypeError), match=word):
        adapter.label_requests(proba, n, rng)
