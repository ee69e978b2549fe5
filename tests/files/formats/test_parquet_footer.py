"""Parquet files that are written in pieces."""

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from baserate.files.formats import FORMATS, open_sink
from baserate.files.formats._parquet_footer import group_rows, read_footer

from ..many_types import N, table


@pytest.mark.parametrize("width", [3, 40])  # short lists and long ones are written differently
@pytest.mark.parametrize("size", [1, 7, 30, N])
def test_pieces_become_one_file(size, width, tmp_path):
    whole, path = table(width=width), tmp_path / "out.parquet"
    sink = open_sink(path, FORMATS["parquet"])
    for i in range(0, N, size):
        sink.append(whole.slice(i, size))
    sink.finish()
    assert_frame_equal(pl.read_parquet(path), whole)
    found = pq.read_table(path)
    assert found.num_rows == N
    for name in whole.columns:
        if name not in ("kind", "when"):
            assert found[name].to_pylist() == whole[name].to_list()
    metadata = pq.read_metadata(path)
    assert metadata.num_row_groups == -(-N // size)
    assert metadata.num_rows == N
    assert group_rows(read_footer(path, 1 << 20)) == [min(size, N - i) for i in range(0, N, size)]
    # Each row group is where its footer says, also for a reader that goes there directly.
    last = pq.ParquetFile(path).read_row_group(metadata.num_row_groups - 1)
    assert last["number 2"].to_pylist() == whole["number 2"].to_list()[-last.num_rows :]


def test_a_sink_goes_on_from_its_mark(tmp_path):
    whole = table()
    for form in ("parquet", "csv", "jsonl"):
        part = whole if form != "csv" else whole.drop("list", "nested")
        through, broken = tmp_path / f"through.{form}", tmp_path / f"broken.{form}"
        sink = open_sink(through, FORMATS[form])
        for i in range(0, N, 20):
            sink.append(part.slice(i, 20))
        sink.finish()
        sink = open_sink(broken, FORMATS[form])
        sink.append(part.slice(0, 20))
        sink.append(part.slice(20, 20))
        mark = sink.mark()
        sink.append(part.slice(0, 20))  # is lost
        sink.close()
        with broken.open("ab") as file:
            file.write(b"half of a row")
        sink = open_sink(broken, FORMATS[form], mark)
        for i in range(40, N, 20):
            sink.append(part.slice(i, 20))
        sink.finish()
        assert broken.read_bytes() == through.read_bytes()


def test_types_may_not_change(tmp_path):
    sink = open_sink(tmp_path / "out.parquet", FORMATS["parquet"])
    sink.append(pl.DataFrame({"a": [1]}))
    with pytest.raises(ValueError, match="changed their types"):
        sink.append(pl.DataFrame({"a": [1.5]}))
    sink.close()


def test_a_long_footer_is_not_read(tmp_path):
    table().write_parquet(tmp_path / "a.parquet")
    assert read_footer(tmp_path / "a.parquet", 100) is None
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and so on")
    with pytest.raises(ValueError, match="no footer"):
        read_footer(tmp_path / "b.parquet", 100)
