"""What can be saved and what cannot, and that equal states have equal bytes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from baserate import save
from baserate.state import dumps
from baserate.trackers import FLHFTL

from .box import Box


@pytest.mark.parametrize(
    "content", [object(), {1: 2}, {"$array": 1}, np.array([object()]), 1j, {1, 2}, len], ids=lambda c: type(c).__name__
)
def test_what_is_not_plain_data_is_refused(content, tmp_path):
    with pytest.raises(TypeError, match="cannot save"):
        save(Box(content), tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("thing", [3, "text", LogisticRegression(), object()], ids=lambda c: type(c).__name__)
def test_only_registered_objects_are_saved(thing, tmp_path):
    with pytest.raises(TypeError, match="cannot save"):
        save(thing, tmp_path / "file")


def test_equal_states_have_equal_bytes():
    trackers = [FLHFTL(3), FLHFTL(3)]
    for tracker in trackers:
        tracker.update([0.2, 0.3, 0.5])
    assert dumps(trackers[0]) == dumps(trackers[1])
    trackers[0].update([0.2, 0.3, 0.5])
    assert dumps(trackers[0]) != dumps(trackers[1])
