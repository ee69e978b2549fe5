"""States that are kept here load, hold every class that can be saved, and go on bit for bit."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import baserate
from baserate.state import Component, dumps, registered

from .. import exported
from ..files.killing import done
from . import running
from .make import OPTIONS, STREAMS

FILES = sorted(running.FOLDER.glob("*.baserate"))
OLDER = sorted((running.FOLDER / "older").glob("*.baserate"))
CONTINUED = np.load(running.FOLDER / "continued.npz")
SAME_MACHINE = running.arithmetic().tobytes() == CONTINUED["arithmetic"].tobytes()


def assert_continued(found, expected, *, same=SAME_MACHINE):
    """Bit for bit where arithmetic is that of the machine that made the files; else to rounding."""
    if same:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def manifest(data):
    return json.loads(zipfile.ZipFile(io.BytesIO(data)).read("manifest.json"))


def classes(node):
    """The names and layouts of all classes in a manifest."""
    if isinstance(node, list):
        return {found for item in node for found in classes(item)}
    if not isinstance(node, dict):
        return set()
    own = {(node["$class"], node["layout"])} if "$class" in node else set()
    return own | {found for item in node.values() for found in classes(item)}


def subclasses(cls):
    return {found for child in cls.__subclasses__() for found in {child, *subclasses(child)}}


def own_classes():
    """The package's classes that can be saved."""
    registered()  # imports them all
    return {cls for cls in subclasses(Component) if cls.__module__.startswith("baserate.")}


@pytest.fixture(scope="module")
def held():
    """Every class and layout in the kept states, and in those of earlier layouts."""
    return {found for file in FILES + OLDER for found in classes(manifest(file.read_bytes()))}


def test_every_class_that_is_saved_gave_itself_a_name():
    public = set(exported.classes().values())
    for cls in own_classes():
        if cls in public or not subclasses(cls):  # else it is a base that there are no instances of
            assert "." not in cls._saved_as, f'{cls.__name__} is saved under its path; give it saved_as="..."'


def test_every_saved_class_has_a_state_here(held):
    named = {(cls._saved_as, cls._layout) for cls in own_classes() if "." not in cls._saved_as}
    assert len(named) > 40
    assert named - held == set(), "write states of these classes: python -m tests.golden.make"


def test_every_earlier_layout_has_a_state_here(held):
    """So that its upgrade is tested."""
    earlier = {(cls._saved_as, layout) for cls in own_classes() for layout in range(1, cls._layout)}
    assert earlier - held == set(), "keep a state of the earlier layout in tests/golden/older"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_state_is_what_the_class_saves_today(file):
    data = file.read_bytes()
    again = dumps(baserate.load(file))
    before, after = manifest(data), manifest(again)
    assert {**after, "version": None} == {**before, "version": None}
    old, new = (zipfile.ZipFile(io.BytesIO(part)) for part in (data, again))
    assert all(old.read(name) == new.read(name) for name in old.namelist() if name != "manifest.json")


@pytest.mark.parametrize("name", [name for name in CONTINUED.files if name != "arithmetic"])
def test_a_state_goes_on(name):
    obj = baserate.load(running.FOLDER / f"{name}.baserate")
    assert_continued(running.go_on(name, obj), CONTINUED[name])


def adapt_next(file, name, *, same=SAME_MACHINE):
    """Go on from a state of adapt, and compare with how it went on before."""
    Path("state").write_bytes(file.read_bytes())
    done(running.FOLDER / "adapt-next.csv", "-o", f"{name}-next.csv", "--state", "state", *STREAMS[name], *OPTIONS)
    for part in (f"{name}-next.csv", f"{name}-next.rounds.csv"):
        found, expected = (pl.read_csv(folder) for folder in (part, running.FOLDER / f"continued-{part}"))
        assert found.columns == expected.columns
        assert len(found) > 1
        for column in found.columns:
            if found[column].dtype.is_float():
                assert_continued(found[column].to_numpy(), expected[column].to_numpy(), same=same)
            else:
                assert found[column].to_list() == expected[column].to_list()


@pytest.mark.parametrize("name", STREAMS)
def test_a_state_of_adapt_goes_on(name, in_an_empty_folder):
    adapt_next(running.FOLDER / f"{name}.baserate", name)


def test_states_of_earlier_layouts_go_on(in_an_empty_folder):
    for file in OLDER:
        name = file.stem.partition(".")[0]
        if name in STREAMS:
            adapt_next(file, name, same=False)  # other machines made these
        else:
            assert np.isfinite(running.go_on(name, baserate.load(file))).all()


def test_every_saved_class_declares_what_it_saves():
    named = [cls for cls in own_classes() if "." not in cls._saved_as]
    assert [cls.__name__ for cls in named if vars(cls).get("saves") is None] == []
