"""States belong to one object, and those of older layouts are upgraded."""

import io
import zipfile

import numpy as np
import pytest

from baserate.state import Component, dumps, loads
from baserate.trackers import FollowTheHistory

from .made_by_hand import state_file


class Grown(Component, saved_as="test_grown", layout=3):
    """Kept a width in layout 1, width and height in layout 2, an area since."""

    def __init__(self, unit="m"):
        self.unit = unit
        self.area = 0.0

    @classmethod
    def upgrade(cls, layout, params, state):
        height = state.get("height", 1.0)
        return {"unit": params.get("unit", "m")}, {"area": state["width"] * height}


class Outgrown(Component, saved_as="test_outgrown", layout=2):
    """Reads its present layout only."""


def _of_layout(layout, name="test_grown", params=None, **state):
    node = {"$class": name, "layout": layout, "params": params or {}, "state": state}
    return state_file(object=node)


def test_older_layouts_are_upgraded():
    assert loads(_of_layout(1, width=5.0)).area == 5.0
    assert loads(_of_layout(2, width=5.0, height=2.0, params={"unit": "ft"})).area == 10.0
    assert loads(_of_layout(3, area=7.0)).area == 7.0
    assert '"layout": 3' in zipfile.ZipFile(io.BytesIO(dumps(Grown()))).read("manifest.json").decode()


def test_older_layouts_that_cannot_be_upgraded_say_so():
    with pytest.raises(ValueError, match="a test_outgrown of layout 1, which this version does not read any more"):
        loads(_of_layout(1, "test_outgrown"))
    with pytest.raises(ValueError, match=r"layout 4, written by baserate 9.0; this version reads up to 3\. Upgrade"):
        loads(_of_layout(4, area=1.0))


def test_states_are_not_shared():
    first = FollowTheHistory(2)
    first.update([0.1, 0.9])
    second = FollowTheHistory(2).set_state(first.get_state())
    second.update([0.9, 0.1])
    np.testing.assert_allclose(first.predict(), [0.1, 0.9])
