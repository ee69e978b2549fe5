"""Crop, Elec2, the weather, Covertype, Occupancy and Employment: tables of numbers."""

import gzip
import sys

import numpy as np
import polars
import pytest

from baserate_lab.datasets import covertype, crop, elec2, employment, occupancy, weather


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


@pytest.mark.parametrize("packed", [True, False])
def test_occupancy_is_sorted_by_time(packed, tmp_path, unpinned, check):
    unpinned(occupancy)
    order = [4, 5, 6, 0, 1, 2, 3, 7, 8]  # the first of the file's parts was not measured first
    rows = [
        f"2015-02-0{i // 4 + 1} 09:5{i}:{59 if i % 2 else '00'},{20 + i},{i / 4},{i},400,0.004,{i % 2}" for i in order
    ]
    text = "datetime,temperature,relative humidity,light,CO2,humidity,occupancy\n" + "\n".join(rows) + "\n"
    if packed:
        (tmp_path / "occupancy.csv.gz").write_bytes(gzip.compress(text.encode()))
    else:
        (tmp_path / "occupancy.csv").write_text(text)
    data = check(occupancy.load(tmp_path))
    assert data.source_X.tolist() == [[20 + i, i / 4, i, 400, 0.004] for i in range(3)]
    assert data.target_X.tolist() == [[20 + i, i / 4, i, 400, 0.004] for i in range(3, 9)]
    assert data.target_y.tolist() == [1, 0, 1, 0, 1, 0]
    assert data.in_time_order
    assert data.class_names == ("empty", "occupied")


def test_rows_of_one_minute_stay_as_they_were(tmp_path, unpinned):
    unpinned(occupancy)
    rows = [f"2015-02-0{2 - i // 20} 09:51:00,{i},1,1,1,1,{i % 2}" for i in range(40)]
    (tmp_path / "occupancy.csv").write_text("headings\n" + "\n".join(rows) + "\n")
    data = occupancy.load(tmp_path)
    assert [*data.source_X[:, 0], *data.target_X[:, 0]] == [*range(20, 40), *range(20)]


def employment_files(folder, ids=(3, 4, 5, 6)):
    """Three answers of 2015 and four later ones, of which a column is all text or all numbers."""

    def answers(rows):
        table = {name: [str((3 * i + j) % 10) for i in rows] for j, name in enumerate(employment._FEATURES)}
        age = [20.0 + i for i in rows]
        return polars.DataFrame({"id": list(rows), **table}).with_columns(
            polars.col("SCHL").cast(polars.Categorical), AGEP=polars.Series(age)
        )

    said = {"prediction": 1, "predicted_probability": 0.75}
    extra = [polars.lit(value).alias(name) for name, value in said.items()]
    source = answers(range(3)).with_columns(*extra, year=2015, employed=polars.Series([0, 1, 0]))
    target = answers(range(3, 7)).with_columns(*extra, year=polars.Series([2017, 2016, 2018, 2016]))
    source.write_parquet(folder / "employment_MA_reference.pq")
    target.write_parquet(folder / "employment_MA_analysis.pq")
    labels = polars.DataFrame({"id": list(ids), "employed": [0, 1, 1, 0]})
    labels.write_parquet(folder / "employment_MA_analysis_target.pq")


def test_employment_is_in_the_order_of_years_and_of_the_file(tmp_path, unpinned, check):
    unpinned(employment)
    employment_files(tmp_path)
    data = check(employment.load(tmp_path))
    assert data.source_X.shape == (3, 16)
    assert data.source_X[:, 0].tolist() == [20, 21, 22]
    assert data.target_X[:, 0].tolist() == [24, 26, 23, 25]
    assert data.target_X[:, 1:].tolist() == [[(3 * i + j) % 10 for j in range(1, 16)] for i in (4, 6, 3, 5)]
    assert data.source_y.tolist() == [0, 1, 0]
    assert data.target_y.tolist() == [1, 0, 0, 1]
    assert data.in_time_order
    assert data.class_names == ("not employed", "employed")


def test_labels_of_other_people_are_an_error_of_the_file(tmp_path):
    employment_files(tmp_path, ids=(3, 4, 6, 5))
    with pytest.raises(OSError, match="labels of other rows"):
        employment.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PAR1 no table PAR1"])
def test_a_damaged_parquet_file_is_an_error_of_the_file(content, tmp_path):
    employment_files(tmp_path)
    (tmp_path / "employment_MA_analysis.pq").write_bytes(content)
    with pytest.raises(OSError, match=r"employment_MA_reference.pq, .* cannot be read"):
        employment.load(tmp_path)


def test_what_to_install_for_parquet(tmp_path, monkeypatch):
    employment_files(tmp_path)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "baserate\[files\]"'):
        employment.load(tmp_path)
