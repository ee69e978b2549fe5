"""Crop, Elec2, the weather and Covertype: tables of numbers."""

import gzip

import numpy as np
import pytest

from baserate.datasets import covertype, crop, elec2, weather


def test_crop(tmp_path, unpinned, check):
    unpinned(crop)
    for name, labels in (("Crop_TRAIN.tsv", range(1, 25)), ("Crop_TEST.tsv", [*range(1, 25)] * 2)):
        rows = [[c, *(c + np.arange(46) / 100)] for c in labels]
        np.savetxt(tmp_path / name, rows, delimiter="\t", fmt="%g")
    data = check(crop.load(tmp_path))
    assert data.source_X.shape == (48, 46)
    assert data.target_X.shape == (24, 46)
    assert np.bincount(data.source_y).tolist() == [2] * 24
    np.testing.assert_allclose(data.target_X[:, 0], data.target_y + 1)
    np.testing.assert_allclose(data.target_X[:, 45], data.target_y + 1.45)
    assert np.any(np.diff(data.target_y) < 0), "classes are mixed"
    assert data.stand_in_for == "eurosat"


@pytest.mark.parametrize(
    ("module", "name", "classes"),
    [(elec2, "elec.csv", ("down", "up")), (weather, "weather.csv", ("no rain", "rain"))],
)
def test_streams_keep_their_order(module, name, classes, tmp_path, unpinned, check):
    unpinned(module)
    rows = [f"{i},{i / 4},{i % 2}" for i in range(9)]
    (tmp_path / name).write_text("feat_1,feat_2,target\n" + "\n".join(rows) + "\n")
    data = check(module.load(tmp_path))
    assert data.source_X.tolist() == [[i, i / 4] for i in range(3)]
    assert data.target_X.tolist() == [[i, i / 4] for i in range(3, 9)]
    assert data.target_y.tolist() == [1, 0, 1, 0, 1, 0]
    assert data.in_time_order
    assert data.class_names == classes


@pytest.mark.parametrize("official", [True, False])
def test_covertype(official, tmp_path, unpinned, monkeypatch, check):
    unpinned(covertype)
    monkeypatch.setattr(covertype, "_N_SOURCE", 7)
    rows = "\n".join(",".join(map(str, [2596 + i, -i, *[0] * 52, i % 7 + 1])) for i in range(10)) + "\n"
    if official:
        (tmp_path / "covtype.data.gz").write_bytes(gzip.compress(rows.encode()))
    else:
        (tmp_path / "covtype.csv").write_text(",".join(f"column{i}" for i in range(55)) + "\n" + rows)
    data = check(covertype.load(tmp_path))
    assert data.source_X.shape == (7, 54)
    assert data.source_y.tolist() == list(range(7))
    assert data.target_X[:, :2].tolist() == [[2603, -7], [2604, -8], [2605, -9]]
    assert not data.in_time_order


def test_a_table_that_is_none_is_an_error_of_the_file(tmp_path):
    (tmp_path / "elec.csv").write_text("feat_1,target\n1.0,up\n")
    with pytest.raises(OSError, match=r"elec.csv in .* cannot be read"):
        elec2.load(tmp_path)
