"""Occupancy: sorted by time."""

import gzip

import pytest

from baserate_lab.datasets import occupancy


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
