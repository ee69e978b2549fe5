"""Base models, and the part of their holdout that is chosen."""

import numpy as np
import pytest

from baserate_lab import models
from baserate_lab.datasets import WrongDataError
from baserate_lab.paper.runs import base_models
from baserate_lab.paper.runs.base_models import choose_holdout

RARE = np.repeat([0, 1, 2, 3, 4], [100, 100, 1, 1, 1])
PARADOX = np.repeat([0, 1, 2], [6, 6, 2])  # by largest remainders class 2 has 2 of 10, and 1 of 11
UNEVEN = np.random.default_rng(0).permutation(np.repeat(np.arange(6), [175, 152, 135, 153, 168, 168]))


def chosen(y, size, seed=0):
    return choose_holdout(y, size, np.random.default_rng(seed))


@pytest.mark.parametrize("y", [RARE, PARADOX, UNEVEN])
def test_the_size_is_exact_and_rows_are_sorted_and_distinct(y):
    for size in range(1, len(y) + 1):
        rows = chosen(y, size)
        assert len(rows) == size
        assert np.all(np.diff(rows) > 0)


@pytest.mark.parametrize("y", [RARE, PARADOX, UNEVEN])
def test_a_smaller_part_lies_within_a_larger_one(y):
    for size in range(1, len(y)):
        assert set(chosen(y, size)) < set(chosen(y, size + 1))


@pytest.mark.parametrize("y", [RARE, PARADOX, UNEVEN])
def test_every_class_is_there_and_the_mix_is_kept(y):
    counts = np.bincount(y)
    for size in range(len(counts), len(y) + 1):
        kept = np.bincount(y[chosen(y, size)], minlength=len(counts))
        assert kept.min() >= 1
        # A rare class takes one that is not its due; the others bear that together.
        rare = np.maximum(1 - counts * size / len(y), 0).sum()
        assert np.abs(kept - np.maximum(counts * size / len(y), 1)).max() <= 1 + rare
    assert np.bincount(UNEVEN[chosen(UNEVEN, 120)]).tolist() == [22, 19, 17, 20, 21, 21]


def test_of_classes_that_are_as_large_the_first_come_first():
    assert np.bincount(np.repeat([2, 0, 1], 9)[chosen(np.repeat([2, 0, 1], 9), 11)]).tolist() == [4, 4, 3]


def test_all_of_it_is_all_of_it():
    for size in (951, 952, 10_000):
        assert chosen(UNEVEN, size).tolist() == list(range(951))


def test_the_seed_decides_which():
    assert chosen(UNEVEN, 60, 1).tolist() == chosen(UNEVEN, 60, 1).tolist()
    assert chosen(UNEVEN, 60, 1).tolist() != chosen(UNEVEN, 60, 2).tolist()


def test_outputs_are_those_of_the_model():
    found, said = base_models.load("synthetic", "linear", 0, 0.8, False), models.outputs("synthetic", "linear")
    np.testing.assert_array_equal(found.holdout, said.holdout_proba)
    np.testing.assert_array_equal(found.holdout_y, said.holdout_y)
    np.testing.assert_array_equal(found.target, said.target_proba)
    np.testing.assert_array_equal(found.target_y, said.target_y)
    assert found[5:] == (None, None, None)


def test_features_go_with_the_outputs():
    found = base_models.load("synthetic", "linear", 0, 0.8, True)
    plain = base_models.load("synthetic", "linear", 0, 0.8, False)
    np.testing.assert_array_equal(found.target, plain.target)
    for seen, proba in ((found.holdout_features, found.holdout), (found.target_features, found.target)):
        logits = seen @ found.layer.coef.T + found.layer.intercept
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        np.testing.assert_allclose(odds / odds.sum(axis=1, keepdims=True), proba, atol=1e-4)


@pytest.mark.parametrize("labels", ["target_y", "holdout_y"])
def test_features_of_other_data_are_refused(monkeypatch, labels):
    honest = models.features("synthetic", "linear", progress=False)
    other = honest._replace(**{labels: np.roll(getattr(honest, labels), 1)})
    monkeypatch.setattr(base_models, "features", lambda *_, **__: other)
    base_models.load.cache_clear()
    with pytest.raises(WrongDataError, match="of other data than yours"):
        base_models.load("synthetic", "linear", 0, 0.8, True)
