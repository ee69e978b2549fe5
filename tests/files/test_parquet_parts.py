import datetime
import io

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from baserate.files.parquet_parts import group_rows, read_footer
from baserate.files.sinks import open_sink
from baserate.files.thrift import (
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    Reader,
    Value,
    write_struct,
)

N = 100


def table(n=N, width=3):
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "name": [None if i % 7 == 0 else f"row {i % 5} ä" for i in range(n)],
            "when": [datetime.datetime(2026, 3, 1) + datetime.timedelta(minutes=i) for i in range(n)],
            "list": [list(range(i % 4)) for i in range(n)],
            "nested": [{"a": i, "b": str(i)} for i in range(n)],
            "kind": pl.Series(["x", "y"] * (n // 2), dtype=pl.Categorical),
            "flag": [i % 3 == 0 for i in range(n)],
            **{f"number {i}": rng.random(n) for i in range(width)},
        }
    )


@pytest.mark.parametrize("width", [3, 40])  # short lists and long ones are written differently
@pytest.mark.parametrize("size", [1, 7, 30, N])
def test_pieces_become_one_file(size, width, tmp_path):
    whole, path = table(width=width), tmp_path / "out.parquet"
    sink = open_sink(path, "parquet")
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
        sink = open_sink(through, form)
        for i in range(0, N, 20):
            sink.append(part.slice(i, 20))
        sink.finish()
        sink = open_sink(broken, form)
        sink.append(part.slice(0, 20))
        sink.append(part.slice(20, 20))
        mark = sink.mark()
        sink.append(part.slice(0, 20))  # is lost
        sink.close()
        with broken.open("ab") as file:
            file.write(b"half of a row")
        sink = open_sink(broken, form, mark)
        for i in range(40, N, 20):
            sink.append(part.slice(i, 20))
        sink.finish()
        assert broken.read_bytes() == through.read_bytes()


def test_types_may_not_change(tmp_path):
    sink = open_sink(tmp_path / "out.parquet", "parquet")
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


def values(depth=2):
    plain = st.one_of(
        st.builds(lambda flag: Value(TRUE if flag else FALSE, None), st.booleans()),
        st.builds(lambda n: Value(BYTE, n), st.integers(0, 255)),
        st.builds(lambda kind, n: Value(kind, n), st.sampled_from([I16, I32, I64]), st.integers(-(2**63), 2**63 - 1)),
        st.builds(lambda data: Value(DOUBLE, data), st.binary(min_size=8, max_size=8)),
        st.builds(lambda data: Value(BINARY, data), st.binary(max_size=200)),
    )
    if depth == 0:
        return plain
    structs = st.builds(lambda fields: Value(STRUCT, fields), fields_of(depth - 1))
    lists = st.builds(lambda items: Value(LIST, items, STRUCT), st.lists(structs, max_size=20))
    flags = st.builds(
        lambda items: Value(LIST, [Value(TRUE, item) for item in items], TRUE),
        st.lists(st.sampled_from([1, 2]), max_size=20),
    )
    return st.one_of(plain, structs, lists, flags)


def fields_of(depth):
    return st.dictionaries(st.integers(1, 2000), values(depth), max_size=5)


@settings(max_examples=80, deadline=None)
@given(fields_of(2))
def test_what_is_written_is_read_again(fields):
    data = write_struct(fields)
    assert Reader(data).struct() == fields
    for cut in range(0, len(data), max(len(data) // 10, 1)):
        with pytest.raises(ValueError, match="ends too early"):
            Reader(data[:cut]).struct()


def test_a_footer_of_another_library_is_read_and_written_as_it_was():
    buffer = io.BytesIO()
    pq.write_table(table().to_arrow(), buffer, row_group_size=9)
    data = buffer.getvalue()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    assert write_struct(Reader(footer).struct()) == footer
