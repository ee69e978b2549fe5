"""Named arrays in one file of the cache."""

import os
import zipfile

import numpy as np
import pytest

from baserate_lab.datasets._arrays import checksum, read_arrays, write_arrays

ARRAYS = {"X": np.arange(12, dtype=np.uint8).reshape(3, 4), "y": np.array([2, 0, 1]), "names": np.array(["a", "bcd"])}


def test_what_is_written_is_read_back(tmp_path):
    write_arrays(tmp_path / "a.npz", ARRAYS, "somewhere")
    kept = read_arrays(tmp_path / "a.npz", checksum(ARRAYS))
    assert kept.origin == "somewhere"
    assert kept.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert kept.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(kept.arrays[name], array)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


def test_the_checksum_sees_names_types_shapes_and_values():
    variants = [
        {**ARRAYS, "y": np.array([2, 0, 2])},
        {**ARRAYS, "y": np.array([2, 0, 1], dtype=np.int32)},
        {**ARRAYS, "X": ARRAYS["X"].reshape(4, 3)},
        {"X": ARRAYS["X"], "z": ARRAYS["y"], "names": ARRAYS["names"]},
        {"X": ARRAYS["X"], "y": ARRAYS["y"]},
        {**ARRAYS, "names": np.array(["a", "bce"])},
    ]
    assert len({checksum(arrays) for arrays in [ARRAYS, *variants]}) == 1 + len(variants)


def test_the_checksum_does_not_see_order_strides_or_byte_order():
    same = {
        "y": ARRAYS["y"].astype(">i8"),
        "names": ARRAYS["names"],
        "X": np.asfortranarray(ARRAYS["X"]),
    }
    assert checksum(same) == checksum(ARRAYS)
    assert len(checksum({"empty": np.empty((0, 3))})) == 64


@pytest.mark.parametrize(
    "damage", ["cut", "flipped", "empty", "text", "array", "missing", "encrypted", "unknown packing", "not a number"]
)
def test_a_damaged_file_is_noticed(tmp_path, damage):
    path = tmp_path / "a.npz"
    write_arrays(path, ARRAYS, "")
    raw = bytearray(path.read_bytes())
    assert read_arrays(path, None) is not None
    if damage == "cut":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "flipped":
        raw[raw.index(bytes(range(12)))] ^= 1
        path.write_bytes(raw)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "array":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif damage in ("encrypted", "unknown packing"):  # RuntimeError, NotImplementedError of zipfile
        start = raw.index(b"PK\x01\x02") + (8 if damage == "encrypted" else 10)
        raw[start : start + 2] = b"\x01\x00" if damage == "encrypted" else b"\x63\x00"
        path.write_bytes(raw)
    elif damage == "not a number":  # an array that has no plain bytes
        np.savez(path, X=np.array(["2020"], "M8[s]"), **{"note.sha256": np.array(""), "note.origin": np.array("")})
    elif damage == "text":
        path.write_text("not an archive")
    else:
        path.unlink()
    assert read_arrays(path, None) is None


def test_the_checksum_in_the_file_is_compared(tmp_path):
    """Of arrays that are whole, as zip sees it, but are not the ones that were written."""
    path = tmp_path / "a.npz"
    write_arrays(path, ARRAYS, "")
    with np.load(path) as file:
        members = {name: file[name] for name in file.files}
    np.savez(path, **members)
    assert read_arrays(path, None) is not None
    np.savez(path, **{**members, "y": np.array([2, 0, 0])})
    assert zipfile.ZipFile(path).testzip() is None
    assert read_arrays(path, None) is None


def test_arrays_with_another_checksum_are_not_given(tmp_path):
    write_arrays(tmp_path / "a.npz", ARRAYS, "")
    assert read_arrays(tmp_path / "a.npz", "0" * 64) is None


def test_pickles_are_neither_written_nor_read(tmp_path):
    objects = {"X": np.array(["a", None], dtype=object)}
    with pytest.raises(TypeError, match="pickled"):
        write_arrays(tmp_path / "a.npz", objects, "")
    assert list(tmp_path.iterdir()) == []
    np.savez(tmp_path / "a.npz", **objects, **{"note.sha256": np.array(""), "note.origin": np.array("")})
    assert read_arrays(tmp_path / "a.npz", None) is None


def test_an_interrupted_write_leaves_nothing_and_keeps_what_was_there(tmp_path, monkeypatch):
    write_arrays(tmp_path / "a.npz", ARRAYS, "old")

    def interrupted(descriptor):
        assert len(list(tmp_path.iterdir())) == 2, "it is written beside the old one, and down to the disk"
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_arrays(tmp_path / "a.npz", {"X": np.zeros(3)}, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
    assert read_arrays(tmp_path / "a.npz", checksum(ARRAYS)).origin == "old"
