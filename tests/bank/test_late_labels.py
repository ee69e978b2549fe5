"""Late labels of keys: those of streams of their own."""

import numpy as np
import pytest

from baserate import Bank
from baserate.adapters import RegressAndReweight
from baserate.checks._roles import PROBA, Y
from baserate.state import dumps, loads
from baserate.trackers import FollowTheHistory, LikelihoodMixture

K = 3


def outputs(n, rng, mix=(0.6, 0.3, 0.1)):
    y = rng.choice(K, size=n, p=mix)
    logits = 1.5 * (rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y])
    rows = np.exp(logits)
    return rows / rows.sum(axis=1, keepdims=True), y


def fitted(**options):
    proba, y = outputs(600, np.random.default_rng(0), (1 / 3, 1 / 3, 1 / 3))
    return RegressAndReweight(gate=False, **options).fit(proba, y)


def rounds(n_rounds, n_keys=4, seed=1):
    """Rounds of some keys with ids, some labels at once, and labels of up to four rounds ago."""
    rng, told = np.random.default_rng(seed), []
    for t in range(n_rounds):
        n = int(rng.integers(1, 40))
        keys, (proba, y) = rng.integers(0, n_keys, n), outputs(n, rng)
        ids = [None if i % 11 == 0 else f"{t}-{i}" for i in range(n)]
        now = np.where(rng.random(n) < 0.1, y, -1)
        late = [told.pop(int(rng.integers(len(told)))) for _ in range(min(len(told), int(rng.integers(0, 9))))]
        yield keys, proba, now, ids, late
        told = [*told, *zip(keys.tolist(), ids, y.tolist(), strict=True)][-80:]
        told = [one for one in told if one[1] is not None]


def tell(bank, late):
    keys, ids, y = zip(*late, strict=True)
    return bank.update_labels(keys, ids, y)


@pytest.mark.parametrize("options", [{}, {"max_waiting": 7}, {"tracker": LikelihoodMixture(K, light=True)}])
def test_a_key_is_an_adapter_of_its_own_bit_for_bit(options):
    bank, alone, learned = Bank(fitted(**options)), {}, 0
    for keys, proba, y, ids, late in rounds(50):
        if late:
            learned += tell(bank, late)
        step = bank.step(keys, proba, y, ids=ids)
        for key in np.unique(keys):
            adapter, mine = alone.setdefault(key, fitted(**options)), keys == key
            told = [(name, label) for of, name, label in late if of == key]
            if told:
                adapter.update_labels(*zip(*told, strict=True))
            own = adapter.step(proba[mine], y[mine], ids=[ids[i] for i in np.flatnonzero(mine)])
            np.testing.assert_array_equal(step.proba[mine], own.proba)
        for key in np.setdiff1d([of for of, _, _ in late], keys):
            told = [(name, label) for of, name, label in late if of == key]
            if key in alone:
                alone[key].update_labels(*zip(*told, strict=True))
        if late:
            bank = loads(dumps(bank))
    assert learned > 50
    assert bank.waiting_ == sum(adapter.waiting_ for adapter in alone.values())
    assert bank.missed_labels_ > 0
    for key, found in zip(alone, bank.estimated_accuracy(list(alone)), strict=True):
        np.testing.assert_allclose(found, alone[key].estimated_accuracy(), rtol=1e-9)


def test_labels_move_the_class_mix_and_count_for_the_accuracy():
    bank, rng = Bank(fitted()), np.random.default_rng(2)
    proba, y = outputs(300, rng)
    bank.update(["a"] * 300, proba, ids=list(range(300)))
    before, guessed = bank.prior(["a"])[0], bank.estimated_accuracy(["a"])[0]
    assert bank.update_labels(["a"] * 250 + ["b"], [*range(250), 0], [*y[:250], 0]) == 250
    after, counted = bank.prior(["a"])[0], bank.estimated_accuracy(["a"])[0]
    counts = np.bincount(y, minlength=K) / 300
    assert np.abs(after - counts).sum() < np.abs(before - counts).sum()
    assert counted != guessed
    assert (bank.waiting_, bank.missed_labels_) == (50, 1)


def test_keys_that_go_take_their_samples_along():
    bank, rng = Bank(fitted()), np.random.default_rng(3)
    proba, y = outputs(4, rng)
    bank.update(["a", "b", "c", "c"], proba, ids=[1, 2, 3, 4])
    bank.drop(["b"])
    assert bank.waiting_ == 3
    other = Bank(fitted())
    other.update(["a", "b", "c", "c"], proba, ids=[1, 2, 3, 4])
    for one in (bank, other):
        assert one.update_labels(["c", "a", "c"], [4, 1, 3], y[[3, 0, 2]]) == 3
    np.testing.assert_array_equal(bank.prior(["a", "c"]), other.prior(["a", "c"]))


def test_a_refit_forgets_where_samples_stood():
    bank, rng = Bank(fitted()), np.random.default_rng(4)
    proba, y = outputs(200, rng)
    bank.update(["a"] * 200, proba, ids=list(range(200)))
    bank.adapter.refit(*outputs(600, rng, (1 / 3, 1 / 3, 1 / 3)))
    bank.update(["a"] * 200, proba)
    before = bank.estimated_accuracy(["a"])
    assert bank.update_labels(["a"] * 200, list(range(200)), y) == 200
    assert bank.estimated_accuracy(["a"])[0].value == pytest.approx(before[0].value)


def test_ids_need_a_tracker_that_can_correct_itself():
    proba, y = outputs(100, np.random.default_rng(0), (1 / 3, 1 / 3, 1 / 3))
    bank = Bank(RegressAndReweight(FollowTheHistory(K), gate=False).fit(proba, y))
    with pytest.raises(TypeError, match="FollowTheHistory cannot take back"):
        bank.update(["a"], proba[:1], ids=["1"])
    with pytest.raises(TypeError, match="cannot take back"):
        bank.update_labels(["a"], ["1"], [0])
    assert bank.keys == []


@pytest.mark.parametrize(("ids", "error"), [([1, "a"], TypeError), ([1.5, 2.5], TypeError), ([1], ValueError)])
def test_bad_ids_change_nothing(ids, error):
    bank = Bank(fitted())
    with pytest.raises(error, match="ids"):
        bank.update(["a", "a"], outputs(2, np.random.default_rng(0))[0], ids=ids)
    assert bank.keys == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("places", [5]), ("predicted", [K]), ("notes", [1]), ("proba", [[0.5, 0.2, 0.2]]), ("confidence", [np.nan])],
)
def test_samples_out_of_a_crafted_file_are_refused(name, value):
    bank = Bank(fitted())
    bank.update(["a"], outputs(1, np.random.default_rng(0))[0], ids=["1"])
    waits = getattr(bank, "_waiting")  # noqa: B009  # as a crafted file would have it
    waits.samples = waits.samples._replace(**{name: np.array(value)})
    with pytest.raises(ValueError, match="wait"):
        loads(dumps(bank))


def test_an_id_that_is_used_again_stands_for_the_newer_sample():
    """A label that is delivered twice is learned once."""
    bank = Bank(RegressAndReweight(calibrator=None).fit(PROBA, Y))
    bank.update(["a"], PROBA[:1], ids=["x"])
    bank.update(["a"], PROBA[1:2], ids=["x"])
    assert bank.waiting_ == 1
    assert [bank.update_labels(["a"], ["x"], [1]) for _ in range(2)] == [1, 0]


def test_a_label_that_is_still_missing_takes_nothing_away():
    bank = Bank(RegressAndReweight(calibrator=None).fit(PROBA, Y))
    bank.update(["a"], PROBA[:1], ids=["x"])
    assert bank.update_labels(["a", "a"], ["x", "zzz"], [-1, -1]) == 0
    assert (bank.waiting_, bank.missed_labels_) == (1, 0)
    assert bank.update_labels(["a", "a"], ["x", "x"], [-1, 1]) == 1


def test_a_note_of_a_round_that_is_still_to_come_is_refused():
    bank = Bank(RegressAndReweight(calibrator=None).fit(PROBA, Y))
    bank.update(["a"], PROBA[:1], ids=["x"])
    assert loads(dumps(bank)).waiting_ == 1
    (note,) = bank._waiting.notes
    bank._waiting.notes = [(10**6, *note[1:])]
    with pytest.raises(ValueError, match="a note of a round that is still to come"):
        loads(dumps(bank))
    bank._waiting.notes = [(note[0], note[1][:1, :1], *note[2:])]
    with pytest.raises(ValueError, match="note"):
        loads(dumps(bank))
