"""What was saved comes back; what is damaged, foreign or does not fit is refused, and no code is run."""

import contextlib
import copy
import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from baserate import Bank, load
from baserate.adapters import RegressAndReweight
from baserate.state import SCHEMA, Component, dumps, loads
from baserate.trackers import FLHFTL, FollowTheFixedWindow, FollowTheHistory, LastSighting

from .box import Box
from .made_by_hand import archive_of, edited, saved_object, state_file


@pytest.mark.parametrize(
    "content",
    [
        None,
        True,
        3,
        0.1 + 0.2,
        float("inf"),
        "text ü",
        [1, [2.5, "x"], None],
        (1, (2, 3)),
        {"a": {"b": [1]}},
        np.float64(1 / 3),
        np.int8(-3),
        np.array(7.5),
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array([[True, False]]),
        np.array(["a", "bcd"]),
        np.asfortranarray(np.random.default_rng(0).random((3, 4))),
        np.empty((0, 3)),
        FollowTheHistory(2),
        [FLHFTL(3), {"deep": FollowTheHistory(4)}],
    ],
    ids=repr,
)
def test_what_goes_in_comes_out(content):
    out = loads(dumps(Box(content))).content
    assert type(out) is type(content)
    assert dumps(Box(out)) == dumps(Box(content))
    if isinstance(content, np.ndarray | np.generic):
        assert out.dtype == content.dtype
        np.testing.assert_array_equal(out, content)
    elif not isinstance(content, Component | list):
        assert out == content


def test_random_generators_go_on_where_they_were():
    generator = np.random.default_rng(5)
    generator.random(7)
    twin = loads(dumps(Box(generator))).content
    np.testing.assert_array_equal(twin.random(50), generator.random(50))
    np.testing.assert_array_equal(twin.integers(9, size=50), generator.integers(9, size=50))


@pytest.mark.parametrize("kind", ["PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_other_random_generators_are_not_saved(kind):
    with pytest.raises(TypeError, match=f"{kind}; use PCG64, as numpy.random.default_rng does"):
        dumps(Box(np.random.Generator(getattr(np.random, kind)(5))))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bit_generator", "MT19937"),
        ("bit_generator", "Philox"),
        ("has_uint32", 2**20),
        ("uinteger", -1),
        ("uinteger", 2**40),
        ("state", {"state": -1, "inc": 1}),
        ("state", {"state": 2**130, "inc": 1}),
        ("state", {"state": 1}),
        ("state", 7),
    ],
)
def test_a_random_generator_in_an_impossible_state_is_refused(name, value):
    def edit(node):
        node["params"]["content"]["$generator"][name] = value

    with pytest.raises(ValueError, match="holds a random generator"):
        loads(edited(Box(np.random.default_rng(0)), edit))


def test_moved_objects_nested_in_parameters_keep_their_state():
    tracker = FollowTheHistory(2)
    tracker.update([0.1, 0.9])
    np.testing.assert_array_equal(loads(dumps(Box(tracker))).content.predict(), tracker.predict())


def test_every_truncation_is_noticed(file):
    data = file.read_bytes()
    for length in [0, 1, 10, len(data) // 2, len(data) - 30, len(data) - 1]:
        file.write_bytes(data[:length])
        with pytest.raises(ValueError, match="truncated or damaged"):
            load(file)


def test_every_flipped_byte_is_noticed_or_harmless(file):
    data = bytearray(file.read_bytes())
    good = dumps(load(file))
    for place in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        with contextlib.suppress(ValueError):
            assert dumps(loads(bytes(damaged))) == good


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not a baserate state file"),
        (b"hello world", "not a baserate state file"),
        (pickle.dumps({"a": 1}), "not a baserate state file"),
        (archive_of(a_txt="x"), "no manifest"),
        (archive_of(manifest_json="not json"), "damaged"),
        (archive_of(manifest_json="[1]"), "another format"),
        (state_file(format="other"), "another format"),
        (state_file(schema=SCHEMA + 1), f"schema {SCHEMA + 1}, written by baserate 9.0.*Upgrade"),
        (state_file(schema=1), "before the first release.*fit anew"),
        (state_file(schema="x"), "schema"),
        (state_file(), "holds no object"),
        (state_file(object=saved_object("os.system")), "not known here"),
        (state_file(object=saved_object("baserate.trackers.FLHFTL")), "not known here"),
        (state_file(object=saved_object(["flhftl"])), "damaged"),
        (
            state_file(object={**saved_object("flhftl"), "layout": 2}),
            "layout 2, written by baserate 9.0.*up to 1.*Upgrade",
        ),
        (state_file(object={**saved_object("flhftl"), "layout": None}), "layout None"),
        (state_file(object=saved_object("flhftl", nope=1)), "nope, which does not belong"),
        (state_file(object={"$array": 7, "scalar": False}), "has no array 7"),
        (state_file(object={"$generator": {"bit_generator": "os"}}), "random generator of the kind 'os'"),
    ],
)
def test_foreign_files_are_refused(data, complaint, tmp_path):
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ValueError, match=complaint) as caught:
        load(tmp_path / "file")
    assert str(tmp_path / "file") in str(caught.value)


def test_arrays_of_objects_are_never_unpickled():
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(
            "manifest.json",
            json.dumps({"format": "baserate", "schema": SCHEMA, "object": {"$array": 0, "scalar": False}}),
        )
        archive.writestr("0.npy", buffer.getvalue())
    with pytest.raises(ValueError, match="holds an array of object"):
        loads(data.getvalue())


@pytest.mark.parametrize(
    "tracker", [FollowTheHistory(3), FollowTheFixedWindow(3), LastSighting(3), FLHFTL(3)], ids=repr
)
def test_arrays_that_do_not_fit_are_refused(tracker):
    """Compiled code does not check bounds, so a file must not bring arrays of another size."""

    def more_classes(node):
        node["params"]["n_classes"] = 2_000

    with pytest.raises(ValueError, match="holds"):
        loads(edited(tracker, more_classes))


def test_a_birth_value_that_does_not_fit_is_refused():
    for tracker in (FollowTheHistory(3), FLHFTL(3)):
        tracker._default_birth = np.full(2, 0.5)
        with pytest.raises(ValueError, match="_default_birth"):
            loads(dumps(tracker))


def test_arrays_are_not_shared():
    """Compiled code would write to one, and change both."""

    def shared(node):
        node["state"]["_birth"] = node["state"]["_played"]

    with pytest.raises(ValueError, match="in two places"):
        loads(edited(FLHFTL(3), shared))


def test_an_adapter_with_parts_that_do_not_fit_is_refused():
    two, three = (RegressAndReweight(FollowTheHistory(k)).fit(0.7 * np.eye(k) + 0.3 / k, np.arange(k)) for k in (2, 3))
    for name in ("source_prior_", "_correction", "tracker_"):
        mixed = copy.deepcopy(three)
        setattr(mixed, name, getattr(two, name))
        with pytest.raises(ValueError, match="holds"):
            loads(dumps(mixed))


def test_a_bank_with_arrays_that_do_not_fit_is_refused():
    bank = Bank(RegressAndReweight(FollowTheHistory(2)).fit(0.7 * np.eye(2) + 0.15, [0, 1]))
    bank.step(["a", "b"], np.full((2, 2), 0.5))

    def more_keys(node):
        node["state"]["_keys"].append("c")

    with pytest.raises(ValueError, match="holds"):
        loads(edited(bank, more_keys))
