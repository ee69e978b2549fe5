"""Classes have names in files that do not depend on where they are."""

import subprocess
import sys

import numpy as np
import pytest

from baserate import Bank, save
from baserate.adapters import RegressAndReweight
from baserate.adapters.regress_and_reweight.late_labels import LateLabels
from baserate.state import Component, dumps, loads
from baserate.trackers import FLHFTL, FollowTheHistory

from .made_by_hand import edited


@pytest.mark.parametrize("name", ["baserate.__main__.main", "baserate.cli.main", "baserate._version.__version__"])
def test_nothing_but_classes_of_public_modules_is_touched(name, capsys):
    def other_class(node):
        node["$class"] = name

    with pytest.raises(ValueError, match="not known here"):
        loads(edited(FollowTheHistory(2), other_class))
    assert capsys.readouterr().out == ""


def test_a_file_loads_before_anything_else_was_imported(tmp_path):
    save(LateLabels(5), tmp_path / "file")
    script = "import sys, baserate; print(type(baserate.load(sys.argv[1])).__name__)"
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "file"], capture_output=True, text=True, check=True)
    assert done.stdout == "LateLabels\n"


def test_a_file_names_classes_and_no_place_in_the_code(file):
    """So that a module can move."""
    bank = Bank(RegressAndReweight().fit(0.7 * np.eye(2) + 0.15, [0, 1]))
    for data in (file.read_bytes(), dumps(bank)):
        assert b'"$class": "' in data
        assert b"baserate." not in data


def test_a_class_that_moved_is_found_by_its_name():
    class Here(Component, saved_as="test_moving"):
        """Knows a number."""

        def __init__(self, number=0):
            self.number = number

    data = dumps(Here(5))
    Here.__module__ = "some.other.place"
    assert loads(data).number == 5
    assert dumps(Here(5)) == data


def test_a_name_belongs_to_one_class():
    with pytest.raises(TypeError, match=r"under which baserate\.trackers\.flhftl\.FLHFTL is saved"):

        class Impostor(Component, saved_as="flhftl"):
            pass

    assert type(loads(dumps(FLHFTL(3)))) is FLHFTL


@pytest.mark.parametrize("name", ["", "a.b", "Box", "a b", "ü", "1a"])
def test_a_name_is_plain(name):
    with pytest.raises(TypeError, match="expected lower-case letters"):

        class Unnameable(Component, saved_as=name):
            pass


def test_a_name_is_not_inherited():
    class Child(FollowTheHistory):
        pass

    assert type(loads(dumps(FollowTheHistory(2)))) is FollowTheHistory
    assert type(loads(dumps(Child(2)))) is Child


def test_a_class_that_is_defined_again_keeps_its_old_instances():
    def define():
        class Cell(Component):
            pass

        return Cell

    old, new = define()(), define()()
    assert type(loads(dumps(old))) is type(new)
