"""Files with runs that no likelihood mixture has: refused, or harmless."""

import copy

import numpy as np
import pytest

from baserate import Bank
from baserate.adapters import RegressAndReweight
from baserate.protocols import Evidence
from baserate.state import dumps, loads
from baserate.trackers import LikelihoodMixture

from .made_by_hand import edited
from .tampered import tampered

K = 3
SOURCE = np.array([0.5, 0.3, 0.2])


def rows(n, seed=0, k=K):
    return np.random.default_rng(seed).dirichlet(np.full(k, 0.5), size=n)


def running(*, light=False, k=K):
    tracker = LikelihoodMixture(k, light=light)
    source = np.full(k, 1 / k)
    for seed in range(20):
        tracker.update(source, Evidence(rows(12, seed, k), source))
    return tracker


def changed(tracker, **arrays):
    """The mixture that a file gives in which some arrays of its state were replaced."""
    return tampered(tracker, _state=tracker._state._replace(**arrays))


def with_value(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def one_more(array, axis):
    return np.concatenate([array, np.take(array, [0], axis=axis)], axis=axis)


LANE_ARRAYS = ("run_mixes", "overlaps", "sizes", "began", "run_weights")


@pytest.mark.parametrize("name", LANE_ARRAYS)
def test_one_array_with_another_number_of_lanes(name):
    state = running()._state
    for array in (one_more(getattr(state, name), -1), getattr(state, name)[..., :-1], getattr(state, name)[..., :0]):
        with pytest.raises(ValueError, match="of length"):
            changed(running(), **{name: array})


@pytest.mark.parametrize("lanes", [1, 4, 7, 9])
def test_all_arrays_with_another_number_of_lanes(lanes):
    state = running()._state
    arrays = {name: np.concatenate([getattr(state, name)] * 2, axis=-1)[..., -lanes:] for name in LANE_ARRAYS}
    with pytest.raises(ValueError, match="of other runs than 3 classes have"):
        changed(running(), **arrays)


def test_lanes_of_many_classes_in_a_mixture_of_few_and_the_other_way_round():
    for k, lanes in ((3, 4), (40, 8)):
        tracker = running(k=k)
        arrays = {name: np.repeat(getattr(tracker._state, name), 8, axis=-1)[..., -lanes:] for name in LANE_ARRAYS}
        with pytest.raises(ValueError, match=f"of other runs than {k} classes have"):
            changed(tracker, **arrays)


@pytest.mark.parametrize("rows_of", [0, 3, 5, 7, 9])
def test_products_of_another_number_of_classes(rows_of):
    overlaps = running()._state.overlaps
    with pytest.raises(ValueError, match="of other runs than 3 classes have"):
        changed(running(), overlaps=np.resize(overlaps, (1, rows_of, 8)))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("run_weights", (0, 0), 0.7),
        ("run_weights", (0, 0), -0.1),
        ("run_weights", (0, 0), np.nan),
        ("run_weights", ..., 0.0),
        ("run_mixes", (0, 0, 1), 0.9),
        ("run_mixes", (0, 0, 1), 0.0),
        ("run_mixes", (0, 0, 1), np.inf),
        ("overlaps", (0, 0, 1), 1.5),
        ("overlaps", (0, 0, 1), -1e-3),
        ("overlaps", (0, 0, 1), np.nan),
        ("sizes", (0, 1), -1.0),
        ("sizes", (0, 1), np.inf),
        ("sizes", (0, 1), 1e30),
        ("began", (0, 1), 21),
        ("began", (0, 1), -1),
        ("began", (0, 1), 2**62),
        ("arms", (0, 0), 0.9),
        ("arms", (0, 0), np.nan),
    ],
)
def test_values_that_no_run_has(name, place, value):
    tracker = running()
    assert dumps(changed(tracker)) == dumps(tracker)
    array = with_value(getattr(tracker._state, name), place, value)
    with pytest.raises(ValueError, match=r"_state"):
        changed(tracker, **{name: array})


@pytest.mark.parametrize("light", [False, True])
def test_a_profile_that_the_arrays_do_not_have(light):
    def other_profile(node):
        assert node["params"]["light"] is light
        node["params"]["light"] = not light

    with pytest.raises(ValueError, match="has runs that its parameters do not ask for, or none"):
        loads(edited(running(light=light), other_profile))


@pytest.mark.parametrize("value", [1, 0, "yes", None, 0.0])
def test_a_profile_that_is_no_flag(value):
    with pytest.raises(ValueError, match="light"):
        loads(edited(running(), lambda node: node["params"].update(light=value)))


def test_weight_for_runs_in_the_light_profile():
    tracker = running(light=True)
    with pytest.raises(ValueError, match="with weight for runs, and without runs"):
        changed(tracker, arms=np.array([[0.5, 0.5]]))


@pytest.mark.parametrize("light", [False, True])
def test_a_bank_whose_keys_have_another_profile_than_its_adapter(light):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(90) % K)
    proba = 0.6 * np.eye(K)[y] + 0.4 * rng.dirichlet(np.ones(K), size=90)
    banks = {}
    for profile in (False, True):
        adapter = RegressAndReweight(LikelihoodMixture(K, light=profile), calibrator=None, gate=False).fit(proba, y)
        banks[profile] = Bank(adapter)
        banks[profile].step(["a", "b", "a"], proba[:3])
    assert dumps(loads(dumps(banks[light]))) == dumps(banks[light])
    mixed = copy.deepcopy(banks[light])
    mixed._state = banks[not light]._state
    with pytest.raises(ValueError, match="has keys with runs that"):
        loads(dumps(mixed))


@pytest.mark.parametrize("seed", range(5))
def test_products_that_belong_to_no_samples_give_class_mixes_all_the_same(seed):
    """They are in range, but no mean of products: no factorisation of them exists."""
    rng = np.random.default_rng(seed)
    for k in (3, 10, 32):
        tracker, source = running(k=k), np.full(k, 1 / k)
        shape = tracker._state.overlaps.shape
        for overlaps in (rng.random(shape), (rng.random(shape) < 0.3).astype(float), np.zeros(shape)):
            hostile = changed(tracker, overlaps=overlaps, sizes=np.full((1, 8), rng.choice([1.0, 1e9, 1e17])))
            for n in (1, 40):
                hostile.update(source, Evidence(rows(n, seed, k), source))
                assert np.isfinite(hostile.predict()).all()
                assert hostile.predict().min() >= 0.0
                assert hostile.predict().sum() == pytest.approx(1.0)
            loads(dumps(hostile))
