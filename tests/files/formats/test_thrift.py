"""What is written in Thrift's compact form is read again."""

import io

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate.files.formats._thrift import (
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

from ..many_types import table


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
