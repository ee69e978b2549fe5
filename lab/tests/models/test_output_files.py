"""One file of outputs: what is written is read, what is damaged is named, what is too large is refused."""

import io

import numpy as np
import pytest

from baserate_lab.models import Outputs, output_files

OUTPUTS = Outputs(
    np.array([[0.5, -1.0, 2.0]], np.float32), np.array([2]), np.array([[1.0, 0.0, -3.0], [0.0, 1.0, 0.25]], np.float32),
    np.array([0, 1]), ("a", "b", "c"), "made up", 0.5, True, None,
)  # fmt: skip


def test_what_is_written_is_read():
    found, made_by = output_files.from_bytes(output_files.to_bytes(OUTPUTS, {"seed": 3}), "x")
    for one, other in zip(found, OUTPUTS, strict=True):
        np.testing.assert_array_equal(one, other)
    assert made_by["seed"] == 3


def test_a_file_holds_what_it_should_and_nothing_else():
    with np.load(io.BytesIO(output_files.to_bytes(OUTPUTS, {}))) as stored:
        assert set(stored.files) == {"holdout_logits", "holdout_y", "target_logits", "target_y", "metadata"}


def test_objects_are_not_pickled():
    with pytest.raises(TypeError, match="target_logits has dtype object, which would be pickled"):
        output_files.to_bytes(OUTPUTS._replace(target_logits=OUTPUTS.target_logits.astype(object)), {})


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"x\.npz is damaged"):
        output_files.read(tmp_path / "x.npz")
    with pytest.raises(FileNotFoundError):
        output_files.read(tmp_path / "y.npz")


@pytest.mark.parametrize("part", ["holdout_logits", "target_logits"])
@pytest.mark.parametrize("rows", [slice(1, None), np.s_[:, :2]])
def test_logits_of_another_shape_than_the_labels_are_damage(part, rows):
    data = output_files.to_bytes(OUTPUTS._replace(**{part: getattr(OUTPUTS, part)[rows]}), {})
    with pytest.raises(ValueError, match="x is damaged"):
        output_files.from_bytes(data, "x")


def test_files_that_are_too_large_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(output_files, "SIZE_LIMIT", 10)
    with pytest.raises(ValueError, match=r"11 bytes.*at most"):
        output_files.commit(b"x" * 11, "a", "b", tmp_path)
    assert list(tmp_path.glob("*.npz")) == []
