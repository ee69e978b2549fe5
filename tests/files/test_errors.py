"""The error of a file that cannot be used."""

import pytest

from baserate.files import FileProblemError
from baserate.files.errors import listed, shortened


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({}, "a.csv: is odd."),
        ({"row": 0}, "a.csv, row 1: is odd."),
        ({"row": 1233, "column": "p_x"}, "a.csv, row 1,234, column p_x: is odd."),
        ({"column": "x" * 70}, f"a.csv, column {'x' * 57}...: is odd."),
    ],
)
def test_it_says_where(where, said):
    assert str(FileProblemError("a.csv", "is odd", **where)) == said


def test_long_names_and_long_lists_are_cut():
    assert shortened("abcdef", 5) == "ab..."
    assert shortened("abcde", 5) == "abcde"
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(i) for i in range(1200)], 2) == "0, 1, ... (1,200 in all)"
