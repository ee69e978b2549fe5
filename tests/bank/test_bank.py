"""A bank of many is many banks of one."""

import functools
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from baserate import Bank, load, save
from baserate.adapters import RegressAndReweight
from baserate.bank.grouping import sort_by_key
from baserate.marginals import BBSE
from baserate.state import Component, dumps
from baserate.trackers import FLHFTL, FollowTheFixedWindow, FollowTheHistory, LastSighting

K = 3
RNG = np.random.default_rng(0)
Y = np.r_[np.arange(K), RNG.integers(K, size=600)]
P = 0.5 * np.eye(K)[Y] + 0.5 * RNG.dirichlet(np.ones(K), size=len(Y))

Ungated = functools.partial(RegressAndReweight, gate=False)  # as keys of a bank are
ADAPTERS = {
    "history": Ungated(FollowTheHistory(K)),
    "window": Ungated(FollowTheFixedWindow(K, window=3), BBSE(clip=False), floor=0.02),
    "last, born elsewhere": Ungated(LastSighting(K, prior=[0.8, 0.1, 0.1]), source_prior=[0.2, 0.3, 0.5]),
    "shadow": Ungated(FollowTheHistory(K), enabled=False),
    "default": Ungated(),
}


def fitted(name):
    return ADAPTERS[name].fit(P[:100], Y[:100])


def rounds(seed, n_keys=8, n=25):
    """Rounds with a few rows of a few keys, in mixed order and of unequal number."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        size = int(rng.integers(1, 30))
        rows = rng.integers(len(P), size=size)
        labels = np.where(rng.random(size) < 0.3, Y[rows], -1)
        yield rng.integers(n_keys, size=size), P[rows], labels if rng.random() < 0.5 else None


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_key_is_an_adapter_of_its_own_bit_for_bit(name):
    bank = Bank(fitted(name))
    alone = {}
    for keys, proba, labels in rounds(0):
        pure = bank.predict_proba(keys, proba)
        step = bank.step(keys, proba, labels)
        np.testing.assert_array_equal(pure, step.proba)
        for key in np.unique(keys):
            if key not in alone:
                fresh = RegressAndReweight(**ADAPTERS[name].get_params(deep=False)).fit(P[:100], Y[:100])
                alone[key] = fresh
            mine = keys == key
            one = alone[key].step(proba[mine], None if labels is None else labels[mine])
            assert one.proba.tobytes() == step.proba[mine].tobytes()
            assert one.prior.tobytes() == step.prior[step.keys.index(int(key))].tobytes()
    assert len(bank) == len(alone)
    for key, adapter in alone.items():
        assert bank.prior([int(key)])[0].tobytes() == adapter.prior_.tobytes()


@pytest.mark.parametrize("left", [0, 1, -1, 2, 10**9])
def test_rows_are_sorted_by_key_whatever_the_index_holds(left):
    places = np.array([7, 2, 7, 0, 2, 9, 7])
    first, order, starts = sort_by_key(places, np.full(10, left))
    np.testing.assert_array_equal(first, [0, 1, 3, 5])
    np.testing.assert_array_equal(order, [0, 2, 6, 1, 4, 3, 5])
    np.testing.assert_array_equal(starts, [0, 3, 5, 6, 7])


def test_keys_are_born_in_the_order_they_come_in():
    bank = Bank(fitted("history"))
    assert bank.step(["d", "b", "d"], P[:3]).keys == ["d", "b"]
    assert bank.step(["c", "b", "a", "c"], P[:4]).keys == ["c", "b", "a"]
    bank.add(["f", "a", "e", "f"])
    assert bank.keys == ["d", "b", "c", "a", "f", "e"]
    own = Bank(fitted("history"))
    own.step(["a"], P[2:3])
    np.testing.assert_array_equal(bank.prior(["new", "a", "e", "new"])[1], own.prior(["a"])[0])


def test_the_size_of_the_bank_changes_nothing():
    few, many = Bank(fitted("window")), Bank(fitted("window"))
    many.add(range(1000, 1300))
    for keys, proba, labels in rounds(1):
        assert few.step(keys, proba, labels).proba.tobytes() == many.step(keys, proba, labels).proba.tobytes()


def test_drop_forgets_and_expire_drops_the_idle():
    bank = Bank(fitted("history"))
    bank.step(["a", "b", "c"], P[:3])
    survivor = bank.prior(["c"])
    bank.drop(["a"])
    assert bank.keys == ["b", "c"]
    assert "a" not in bank
    np.testing.assert_array_equal(bank.prior(["c"]), survivor)
    np.testing.assert_array_equal(bank.prior(["a"])[0], bank.adapter.source_prior_)
    bank.step(["c"], P[:1])
    bank.add(["d"])
    assert bank.expire(idle=2) == []
    bank.step(["c"], P[:1])
    assert bank.expire(idle=2) == ["b"]  # d was added one round ago
    bank.step(["c"], P[:1])
    assert bank.expire(idle=2) == ["d"]
    assert bank.keys == ["c"]
    bank.step(["a"], P[:1])  # comes back as new
    fresh = Bank(fitted("history"))
    fresh.step(["a"], P[:1])
    np.testing.assert_array_equal(bank.prior(["a"]), fresh.prior(["a"]))
    with pytest.raises(ValueError, match="'zz'"):
        bank.drop(["c", "zz"])
    assert "c" in bank


def test_all_keys_may_go():
    bank = Bank(fitted("history"))
    bank.step([1, 2], P[:2])
    bank.drop([1, 2])
    assert len(bank) == 0
    bank.step([5, 1], P[:2])
    assert bank.keys == [5, 1]


def test_empty_rounds_count():
    bank = Bank(fitted("history"))
    step = bank.step([], np.empty((0, K)))
    assert step.proba.shape == (0, K)
    assert bank.rounds_ == 1


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, pl.Series, lambda k: np.array(k, dtype=object)])
def test_keys_in_any_form(form):
    for keys in (["x", "y", "x"], [3, 1, 3]):
        bank, plain = Bank(fitted("history")), Bank(fitted("history"))
        bank.step(form(keys), P[:3])
        plain.step(keys, P[:3])
        assert dumps(bank) == dumps(plain)
        assert type(bank.keys[0]) is type(keys[0])


def test_text_and_number_keys_do_not_mix():
    bank = Bank(fitted("history"))
    bank.step([1, 2], P[:2])
    with pytest.raises(TypeError, match="keys"):
        bank.step(["1", "2"], P[:2])


def test_save_in_the_middle(tmp_path):
    running = Bank(fitted("window"))
    for i, (keys, proba, labels) in enumerate(rounds(2)):
        running.step(keys, proba, labels)
        if i == 10:
            running.drop([int(keys[0])])
            save(running, tmp_path / "bank")
            resumed = load(tmp_path / "bank")
        elif i > 10:
            resumed.step(keys, proba, labels)
    assert dumps(resumed) == dumps(running)


def test_a_redeployed_model_is_taken_over_by_every_key():
    bank = Bank(fitted("history"))
    bank.step(["a", "b"], P[:2])
    before = bank.prior(["a", "b"])
    bank.adapter.refit(0.8 * np.eye(K)[Y] + 0.2 / K, Y)
    np.testing.assert_array_equal(bank.prior(["a", "b"]), before)
    bank.step(["c"], P[:1])
    np.testing.assert_array_equal(bank.prior(["new"])[0], bank.adapter.source_prior_)
    np.testing.assert_allclose(bank.adapter.source_prior_, np.bincount(Y) / len(Y), atol=0.01)
    other = Bank(RegressAndReweight(FollowTheHistory(K)).fit(0.8 * np.eye(K)[Y] + 0.2 / K, Y))
    rows = RNG.integers(len(P), size=9)
    np.testing.assert_array_equal(bank.step(["late"] * 9, P[rows]).proba, other.step(["late"] * 9, P[rows]).proba)
    np.testing.assert_array_equal(bank.prior(["late"]), other.prior(["late"]))


@pytest.mark.parametrize(
    ("adapter", "error", "complaint"),
    [
        ("adapter", TypeError, "fitted RegressAndReweight"),
        (RegressAndReweight(FollowTheHistory(K)), ValueError, "not fitted"),
        (RegressAndReweight(FLHFTL(K)).fit(P, Y), TypeError, "bounded state"),
        (RegressAndReweight(FollowTheHistory(K), transductive=True).fit(P, Y), ValueError, "transductive"),
    ],
)
def test_what_cannot_be_banked_is_refused(adapter, error, complaint):
    with pytest.raises(error, match=complaint):
        Bank(adapter)


class Sharpen(Component):
    """A calibrator with an effect."""

    def fit(self, proba, y):
        return self

    def transform(self, proba):
        return proba**3 / (proba**3).sum(axis=1, keepdims=True)


def test_the_calibrator_is_used():
    adapter = RegressAndReweight(FollowTheHistory(K), calibrator=Sharpen()).fit(P[:100], Y[:100])
    bank = Bank(adapter)
    for rows in (slice(0, 20), slice(20, 50)):
        together, alone = bank.step(["a"] * (rows.stop - rows.start), P[rows]), adapter.step(P[rows])
        np.testing.assert_array_equal(together.proba, alone.proba)


class Recording(LastSighting):
    """Keeps the evidence that the bank hands over."""

    seen: ClassVar = []

    def update_rows(self, state, rows, z, evidence=None):
        Recording.seen.append(evidence)
        super().update_rows(state, rows, z, evidence)


def test_the_tracker_is_handed_the_evidence_of_every_key():
    bank = Bank(RegressAndReweight(Recording(K), calibrator=None).fit(P[:100], Y[:100]))
    labels = np.array([-1, 2, 1, -1])
    bank.update(["b", "a", "b", "a"], P[:4], labels)
    evidence = Recording.seen[-1]
    np.testing.assert_array_equal(evidence.starts, [0, 2, 4])
    np.testing.assert_array_equal(evidence.labels, [-1, 1, 2, -1])
    np.testing.assert_array_equal(evidence.proba, P[[0, 2, 1, 3]])
    source = bank.adapter.source_prior_
    expected = [P[0] / source, np.eye(K)[1], np.eye(K)[2], P[3] / source]
    np.testing.assert_allclose(evidence.likelihoods, expected)


class Wild(BBSE):
    def __init__(self, factor=1.0):
        super().__init__()
        self.factor = factor

    def estimate_groups(self, proba, starts):
        return super().estimate_groups(proba, starts) * self.factor


@pytest.mark.parametrize("factor", [np.nan, np.inf, 1e12])
def test_a_bank_refuses_the_sightings_that_an_adapter_refuses(factor):
    adapter = RegressAndReweight(FollowTheHistory(K), Wild(factor)).fit(P[:100], Y[:100])
    bank = Bank(adapter)
    for subject, arguments in ((bank, [["a"], P[:1]]), (adapter, [P[:1]])):
        before = dumps(subject)
        with pytest.raises(ValueError, match="give finite numbers"), np.errstate(invalid="ignore"):
            subject.update(*arguments)
        assert dumps(subject) == before


def test_the_adapter_is_copied_and_a_clone_is_an_empty_bank():
    adapter = fitted("history")
    bank = Bank(adapter)
    bank.step(["a"], P[:1])
    adapter.fit(0.8 * np.eye(K)[Y] + 0.2 / K, Y)
    np.testing.assert_array_equal(bank.adapter.source_prior_, fitted("history").source_prior_)
    empty = clone(bank)
    assert len(empty) == 0
    assert len(bank) == 1
