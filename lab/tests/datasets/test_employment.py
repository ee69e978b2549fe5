"""Employment: the order of years, and files that cannot be read."""

import sys

import polars
import pytest

from baserate_lab.datasets import employment


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
