"""Specs accept what they say and refuse all else; a whole file is checked before anything is built of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from baserate.state import Component, dumps, loads
from baserate.state.declarations import (
    LONGEST,
    SHARE,
    Each,
    Either,
    Fields,
    Flag,
    Foreign,
    Generator,
    Maybe,
    Number,
    Part,
    Plain,
    SavedPart,
    Saves,
    Sizes,
    Text,
    Together,
    Whole,
    check_part,
    flags,
    floats,
    ints,
    key_list,
    labels,
    priors,
    probabilities,
    vectors,
)
from baserate.state.unreadable import UnreadableError

from .box import Box
from .made_by_hand import edited

BUILT = []


class Wheel(Component, saved_as="test_wheel"):
    """A part with one size."""

    saves = Saves(params={"n": Whole(1)}, state={"spokes": floats("k", low=0.0)}, may_be_empty=True)

    def __init__(self, n=2):
        BUILT.append(self)
        self.n = n

    def fit(self, k):
        self.spokes = np.ones(k)
        return self


class Cart(Component, saved_as="test_cart"):
    """An object of parts."""

    saves = Saves(
        params={"name": Text()},
        state={
            "load": floats("k"),
            "wheel": Part(Wheel, {"k": "k"}, fitted=True),
            "spare": Maybe(Part(Wheel, {"k": "k"})),
            "brake": Flag(),
            "rounds": Whole(),
            "since": Whole(),
        },
        optional=("brake",),
        check=lambda saved: "" if saved.state["since"] <= saved.state["rounds"] else "began after its end",
    )

    def __init__(self, name=""):
        BUILT.append(self)
        self.name = name

    def fit(self, k=3):
        self.load, self.wheel, self.spare, self.rounds, self.since = np.ones(k), Wheel().fit(k), None, 2, 1
        return self


class Sledge(Cart, saved_as="test_sledge"):
    """A subclass that declares nothing itself."""


class Wagon(Cart, saved_as="test_wagon"):
    """A subclass that holds more."""

    saves = Cart.saves.extended(params={}, state={"roof": Flag()}, optional=("roof",))


CLASSES = Sizes({"k": 3})
ROW = np.array([0.2, 0.3, 0.5])

ACCEPTED = [
    (floats(2), np.array([1.0, -2.0])),
    (floats(2, low=0.0, high=1.0), np.array([0.0, 1.0])),
    (floats(2, low=0.0, finite=False), np.array([0.0, np.inf])),
    (floats(1, finite=False), np.array([np.nan])),
    (floats("n", 2), np.empty((0, 2))),
    (ints("n"), np.array([-5, 2**53])),
    (flags("n", "m"), np.array([[True], [False]])),
    (vectors("n"), np.array([1e9, -1e9])),
    (vectors("n", updates=10.0), np.array([1e10])),
    (priors("k"), ROW),
    (priors("n", "k"), np.array([ROW, ROW[::-1]])),
    (probabilities("n", "k"), 1.0009 * ROW[np.newaxis]),
    (labels("n", "k"), np.array([0, 2, 1])),
    (labels("n", "k"), np.empty(0, dtype=np.int64)),
    (Whole(), 0),
    (Whole(), np.int64(7)),
    (Whole(), LONGEST),
    (Whole(-1, 4), -1),
    (Whole(2, size="k"), 3),
    (Number(), -1.5),
    (Number(), 3),
    (Number(0.0, 1.0), np.float64(1.0)),
    (Number(0.0, finite=False), np.inf),
    (Number(finite=False), np.nan),
    (SHARE, 0.05),
    (Flag(), True),
    (Flag(), np.bool_(False)),
    (Text(), "any"),
    (Text(("a", "b")), "b"),
    (Plain(), None),
    (Plain(), [1, ("a", {"b": ROW}), np.float32(2.0)]),
    (Foreign(), object()),
    (Generator(), np.random.default_rng(0)),
    (Maybe(Whole()), None),
    (Maybe(Whole()), 1),
    (Either((Whole(), Text())), 1),
    (Either((Whole(), Text())), "a"),
    (Each(Whole()), []),
    (Each(Whole()), (1, 2)),
    (Each(Whole(), "k"), [1, 2, 3]),
    (Each(Whole(), 1), [1]),
    (key_list("k"), ["a", "", "a"]),
    (key_list("k"), [-(2**63), 0, 2**63 - 1]),
    (key_list("n"), []),
    (Together((Whole(), Text())), (1, "a")),
    (Fields({"a": Whole(), "b": Text()}, ("b",)), {"a": 1}),
    (Fields({"a": Whole(), "b": Text()}, ("b",)), {"a": 1, "b": ""}),
    (Part(Wheel), SavedPart(Wheel, {"n": 2}, {})),
    (Part(Wheel, {"k": "k"}, fitted=True), SavedPart(Wheel, {"n": 2}, {"spokes": np.ones(3)})),
    (Part(Component), SavedPart(Box, {"content": 1, "estimator": None}, {"a": [1]})),
    (Part(Component, {"k": "k"}, fitted=True), SavedPart(Box, {"content": 1, "estimator": None}, {})),
]

REFUSED = [
    (floats(2), [1.0, 2.0], "list, not as float64"),
    (floats(2), np.ones(2, dtype=np.float32), "float32"),
    (floats(2), np.ones(2, dtype=np.int64), "int64"),
    (floats(2), np.ones((1, 2)), r"float64 \(1, 2\), not"),
    (floats(2), np.ones(3), "of length 3, not of length 2"),
    (floats("k"), np.ones(2), "of length 2, not of length 3"),
    (floats("n", "n"), np.ones((2, 3)), "of length 3, not of length 2"),
    (floats(1), np.array([np.nan]), "not finite"),
    (floats(1), np.array([-np.inf]), "not finite"),
    (floats(1, low=0.0, finite=False), np.array([np.nan]), "below 0"),
    (floats(1, high=1.0, finite=False), np.array([np.inf]), "above 1"),
    (floats(2, low=0.0), np.array([1.0, -1e-9]), "below 0"),
    (ints("n"), np.array([2**53 + 1]), "above"),
    (ints("n"), np.array([-(2**62)]), "below"),
    (ints("n"), np.array([1.0]), "float64"),
    (ints("n"), np.array([1], dtype=np.int32), "int32"),
    (flags("n"), np.array([1]), "int64"),
    (vectors("n"), np.array([2e9]), "above"),
    (priors("k"), 2.0 * ROW, "above 1|sum to one"),
    (priors("k"), 0.5 * ROW, "sum to one"),
    (priors("k"), np.array([-0.5, 1.0, 0.5]), "below 0"),
    (priors("k", low=1e-9), np.array([0.0, 0.5, 0.5]), "below"),
    (priors("k", within=1e-9), 0.999 * ROW, "sum to one"),
    (priors("n", "k"), np.array([ROW, 0.5 * ROW]), "sum to one"),
    (probabilities("n", "k"), 1.01 * ROW[np.newaxis], "sum to one"),
    (labels("n", "k"), np.array([0, 3]), "none of 3"),
    (labels("n", "k"), np.array([-1]), "below 0"),
    (Whole(), -1, "no whole number"),
    (Whole(), 1.0, "no whole number"),
    (Whole(), True, "no whole number"),
    (Whole(), np.bool_(True), "no whole number"),
    (Whole(), None, "no whole number"),
    (Whole(), "1", "no whole number"),
    (Whole(), 2**62, "no whole number"),
    (Whole(), np.array(3), "no whole number"),
    (Whole(2, size="k"), 4, "of length 4, not of length 3"),
    (Number(), "1", "no number"),
    (Number(), True, "no number"),
    (Number(), None, "no number"),
    (Number(), np.nan, "no finite number"),
    (Number(), np.inf, "no finite number"),
    (Number(), 2**63, "too large"),
    (Number(0.0, 1.0), 1.1, "no number from 0"),
    (Number(0.0, finite=False), -np.inf, "no number from 0"),
    (SHARE, 0.0, "no number from"),
    (SHARE, 1, "no number from"),
    (Flag(), 1, "neither true nor false"),
    (Flag(), None, "neither true nor false"),
    (Text(), 1, "none of"),
    (Text(("a", "b")), "c", "none of"),
    (Plain(), SavedPart(Wheel, {"n": 2}, {}), "not plain data"),
    (Plain(), [{"a": object()}], "not plain data"),
    (Plain(), [2**63], "more than 64 bits"),
    (Foreign(), None, "no model"),
    (Foreign(), SavedPart(Wheel, {"n": 2}, {}), "no model"),
    (Generator(), 3, "no random generator"),
    (Maybe(Whole()), "a", "no whole number"),
    (Either((Whole(), Text())), 1.5, "none of"),
    (Either((floats("k"), floats("n", "k"))), np.ones((2, 2)), "of length 2, not of length 3"),
    (Each(Whole()), 1, "no list"),
    (Each(Whole()), "12", "no list"),
    (Each(Whole()), [1, "a"], "no whole number"),
    (Each(Whole(), "k"), [1], "of length 1, not of length 3"),
    (key_list("k"), ["a", "b", 3], "no whole number"),
    (key_list("k"), [1, 2, "c"], "no whole number"),
    (key_list("k"), [1, 2, True], "no whole number"),
    (key_list("k"), [1, 2, 2**63], "no whole number"),
    (key_list("k"), ["a", "b"], "of length 2, not of length 3"),
    (key_list("k"), "abc", "no list"),
    (Together((Whole(), Text())), (1,), "no list of 2"),
    (Together((Whole(), Text())), ("a", 1), "no whole number"),
    (Fields({"a": Whole()}), [1], "is a list, not values by name"),
    (Fields({"a": Whole()}), {}, "has no it.a"),
    (Fields({"a": Whole()}), {"a": 1, "b": 2}, "holds it.b, which does not belong there"),
    (Fields({"a": Whole()}), {"a": "x"}, "holds it.a"),
    (Part(Wheel), None, "is a NoneType, not a Wheel"),
    (Part(Wheel), SavedPart(Box, {}, {}), "is a Box, not a Wheel"),
    (Part(Wheel), SavedPart(Wheel, {}, {}), "has no it.n"),
    (Part(Wheel), SavedPart(Wheel, {"n": 2}, {"spokes": -np.ones(3)}), "below 0"),
    (Part(Wheel), SavedPart(Wheel, {"n": 2}, {"spokes": np.ones(1)}), "of 1 classes"),
    (Part(Wheel), SavedPart(Wheel, {"n": 2}, {"spokes": np.ones(0)}), "of 0 classes"),
    (Part(Wheel, {"k": "k"}), SavedPart(Wheel, {"n": 2}, {"spokes": np.ones(4)}), "of length 4, not of length 3"),
    (Part(Wheel, {"k": "k"}, fitted=True), SavedPart(Wheel, {"n": 2}, {}), "never fitted"),
]


def without_addresses(value):
    """A name of a case that is the same in every process."""
    return re.sub(r" at 0x\w+", "", str(value))


@pytest.mark.parametrize(("spec", "value"), ACCEPTED, ids=without_addresses)
def test_a_spec_accepts(spec, value):
    spec.check(value, "it", Sizes(CLASSES.known))


@pytest.mark.parametrize(("spec", "value", "complaint"), REFUSED, ids=without_addresses)
def test_a_spec_refuses(spec, value, complaint):
    with pytest.raises(UnreadableError, match=complaint):
        spec.check(value, "it", Sizes(CLASSES.known))


def test_a_size_stands_for_one_number():
    sizes = Sizes()
    floats("a", "b").check(np.ones((2, 3)), "it", sizes)
    assert sizes.known == {"a": 2, "b": 3}
    floats("b").check(np.ones(3), "it", sizes)
    with pytest.raises(UnreadableError, match="of length 2, not of length 3"):
        floats("b").check(np.ones(2), "it", sizes)


def test_a_choice_that_was_refused_leaves_no_sizes():
    sizes = Sizes()
    spec = Either((Together((floats("a"), Text())), Together((floats("b"), Whole()))))
    spec.check((np.ones(3), 1), "it", sizes)
    assert sizes.known == {"b": 3}
    with pytest.raises(UnreadableError):
        spec.check((np.ones(4), 1), "it", sizes)
    assert sizes.known == {"b": 3}


def test_what_is_declared_comes_back():
    cart = Cart("red").fit()
    cart.spare = Wheel().fit(3)
    twin = loads(dumps(cart))
    assert dumps(twin) == dumps(cart)
    assert twin.spare.spokes is not twin.wheel.spokes


def changed(**entries):
    def change(node):
        for name, value in entries.items():
            node["state"].pop(name) if value is ... else node["state"].__setitem__(name, value)

    return change


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ({"rounds": -1}, "holds Cart.rounds that is no whole number"),
        ({"rounds": ...}, "has no Cart.rounds"),
        ({"wheels": 4}, "holds Cart.wheels, which does not belong there"),
        ({"name": "blue"}, "holds Cart.name, which does not belong there"),
        ({"since": 3}, "does not fit together: Cart began after its end"),
        (
            {"wheel": {"$class": "test_wheel", "layout": 1, "params": {"n": 2}, "state": {}}},
            "Cart.wheel .*never fitted",
        ),
        ({"wheel": {"$class": "test_wheel", "layout": 1, "params": {"n": 0}, "state": {}}}, "holds Cart.wheel"),
        ({"wheel": {"$array": 0, "scalar": False}}, "array 0 in two places"),
        ({"brake": None}, "holds Cart.brake"),
        ({"brake": {"$tuples": []}}, "holds entries of an unknown kind"),
    ],
    ids=str,
)
def test_what_is_not_declared_is_refused_before_anything_is_built(entries, complaint):
    data = edited(Cart().fit(), changed(**entries))
    BUILT.clear()
    with pytest.raises(ValueError, match=complaint):
        loads(data)
    assert not BUILT


def test_parts_have_the_size_of_their_owner():
    cart = Cart().fit()
    cart.wheel = Wheel().fit(4)
    with pytest.raises(ValueError, match=re.escape("Cart.wheel of length 4, not of length 3")):
        loads(dumps(cart))


def test_what_is_optional_may_be_missing_or_there():
    assert not hasattr(loads(dumps(Cart().fit())), "brake")
    assert loads(edited(Cart().fit(), changed(brake=True))).brake is True


def test_what_was_never_fitted_has_no_state_at_all():
    assert not hasattr(loads(dumps(Wheel())), "spokes")
    with pytest.raises(ValueError, match=re.escape("has no Cart.load")):
        loads(dumps(Cart()))


def test_a_subclass_does_not_inherit_a_declaration():
    sledge = Sledge().fit()
    sledge.dog = "Balto"
    assert loads(dumps(sledge)).dog == "Balto"
    wagon = Wagon().fit()
    wagon.roof = True
    assert loads(dumps(wagon)).roof is True
    wagon.dog = "Balto"
    with pytest.raises(ValueError, match=re.escape("Wagon.dog, which does not belong there")):
        loads(dumps(wagon))


def test_an_extended_declaration_keeps_the_rest():
    assert Wagon.saves.optional == ("brake", "roof")
    wagon = Wagon().fit()
    wagon.since = 3
    with pytest.raises(ValueError, match="began after its end"):
        loads(dumps(wagon))


def test_a_class_without_declaration_keeps_its_parameters():
    """Otherwise a state could put in what the constructor would have refused."""
    box = Box(content=1)
    with pytest.raises(ValueError, match=re.escape("the parameter Box.content a second time, in the state")):
        loads(edited(box, changed(content=2)))
    assert loads(edited(box, changed(other=2))).other == 2


def test_parts_of_a_class_without_declaration_are_checked():
    bad = Wheel().fit(3)
    bad.spokes = -bad.spokes
    for content in (bad, [bad], {"deep": (1, [bad])}):
        with pytest.raises(ValueError, match="below 0"):
            loads(dumps(Box(content)))


def test_sizes_of_an_object_are_known_to_its_owner():
    part = SavedPart(Wheel, {"n": 2}, {"spokes": np.ones(5)})
    assert check_part(part, "it").known == {"k": 5}


def test_files_with_one_entry_changed_are_refused_or_as_good_as_any(tmp_path):
    """A part of what `python -m tests.state.mutated 1` tries, with bounds checked in compiled code."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "tests.state.mutated", "17"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
