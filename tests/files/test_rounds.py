"""Where a stream is cut into rounds."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate.files.formats import Chunk
from baserate.files.rounds import RoundLength, cut, parse_round_length

N = 500
TIMES = np.sort(np.random.default_rng(0).integers(0, 4000, N))
TABLE = pl.DataFrame({"row": range(N), "at": TIMES})


def chunks(sizes, start=0):
    """The table from a row on, in chunks of these sizes; a mark is the row itself."""
    for size in itertools.cycle(sizes):
        if start >= N:
            return
        yield Chunk(TABLE.slice(start, size), start, start, start)
        start += size


def pieces(sizes, rounds, size, start=0, row=0):
    return list(cut(chunks(sizes, start), rounds, size, file="f", time="at", row=row))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 200), min_size=1, max_size=6),
    st.sampled_from(
        [
            RoundLength(1),
            RoundLength(7),
            RoundLength(100),
            RoundLength(1000),
            RoundLength(),
            RoundLength(30, 100.0),
            RoundLength(100, 900.0),
        ]
    ),
    st.integers(1, 300),
)
def test_where_it_is_cut_depends_on_the_rows_alone(sizes, rounds, size):
    found = pieces(sizes, rounds, size)
    expected = pieces([N], rounds, size)
    assert pl.concat([piece.frame for piece in found]).equals(TABLE)
    assert [piece.starts.tolist() for piece in found] == [piece.starts.tolist() for piece in expected]
    assert all(len(piece.frame) >= size for piece in found[:-1])
    for before, piece in itertools.pairwise(found):
        row, mark, mark_row = before.resume
        assert row == piece.row
        assert mark == mark_row <= row
        # A reader that starts there comes to the same piece.
        again = next(cut(chunks(sizes, mark_row), rounds, size, file="f", time="at", row=row))
        if not rounds.seconds or len(again.frame) == len(piece.frame):
            assert again.frame["row"].to_list() == piece.frame["row"].to_list()


def test_rounds_by_time_end_where_the_window_does():
    starts = np.concatenate([piece.row + piece.starts[:-1] for piece in pieces([37], RoundLength(10**6, 100.0), 50)])
    windows = TIMES // 100
    assert starts.tolist() == [0, *(np.flatnonzero(windows[1:] != windows[:-1]) + 1).tolist()]


@pytest.mark.parametrize(
    ("text", "rounds"),
    [
        ("1", RoundLength(1)),
        (" 20 ", RoundLength(20)),
        ("auto", RoundLength()),
        ("90s", RoundLength(100_000, 90.0)),
        ("1.5h", RoundLength(100_000, 5400.0)),
        ("2 d", RoundLength(100_000, 172800.0)),
        ("1w", RoundLength(100_000, 604800.0)),
    ],
)
def test_rounds_are_read(text, rounds):
    assert parse_round_length(text) == rounds


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "h", "0h", "3 fortnights", "1e3", "1M", "1H"])
def test_what_is_no_round(text):
    with pytest.raises(ValueError, match=r"--rounds .* in small letters"):
        parse_round_length(text)
