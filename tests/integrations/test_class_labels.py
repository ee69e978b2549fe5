"""Labels and columns: text, numbers, truth values; what is missing, and what is unknown."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baserate.integrations._class_labels import check_classes, check_every_class, to_columns

TEXT = np.array(["spam", "ham", "eggs"])  # not sorted, as a foreign model may have them


@pytest.mark.parametrize(
    "y",
    [
        ["ham", None, "eggs", "spam"],
        ("ham", np.nan, "eggs", "spam"),
        ["ham", -1, "eggs", "spam"],
        ["ham", pd.NA, "eggs", "spam"],
        np.array(["ham", None, "eggs", "spam"], dtype=object),
        np.array(["ham", float("nan"), "eggs", "spam"], dtype=object),
        np.ma.array(["ham", "spam", "eggs", "spam"], mask=[False, True, False, False]),
        pd.Series(["ham", None, "eggs", "spam"]),
        pd.Series(["ham", pd.NA, "eggs", "spam"], dtype="string"),
        pd.Series(["ham", None, "eggs", "spam"], dtype="category"),
        pd.Series(["ham", np.nan, "eggs", "spam"], dtype=object, index=[7, 3, 3, 1]),
        pd.DataFrame({"y": ["ham", None, "eggs", "spam"]}),
        pl.Series(["ham", None, "eggs", "spam"]),
        pl.Series(["ham", None, "eggs", "spam"], dtype=pl.Categorical),
        [["ham"], [None], ["eggs"], ["spam"]],
    ],
    ids=repr,
)
def test_text_with_one_missing(y):
    assert to_columns(y, TEXT, 4).tolist() == [1, -1, 2, 0]


@pytest.mark.parametrize(
    "y",
    [
        [3, -1, 7],
        [3.0, float("nan"), 7.0],
        [np.int8(3), None, np.float32(7)],
        np.array([3, -1, 7], dtype=np.int16),
        np.array([3.0, np.nan, 7.0], dtype=np.float32),
        pd.Series([3, None, 7]),
        pd.Series([3, pd.NA, 7], dtype="Int64"),
        pl.Series([3, None, 7]),
        np.ma.array([3, 3, 7], mask=[0, 1, 0]),
    ],
    ids=repr,
)
def test_numbers_with_one_missing(y):
    assert to_columns(y, np.array([7, 3]), 3).tolist() == [1, -1, 0]


def test_minus_one_may_be_a_class():
    assert to_columns([-1, 1, None], np.array([-1, 1]), 3).tolist() == [0, 1, -1]


def test_truth_values():
    assert to_columns([True, False, None], np.array([False, True]), 3).tolist() == [1, 0, -1]


@given(st.permutations(["a", "b", "c", "d"]), st.lists(st.sampled_from(["a", "b", "c", "d", None]), max_size=20))
def test_there_and_back(classes, y):
    columns = to_columns(y, np.array(classes), len(y))
    assert [None if c == -1 else classes[c] for c in columns] == y


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["ham", "nan", "spam"], "holds 'nan', which is none of the classes 'spam', 'ham', 'eggs'"),
        (["ham", 3, "spam"], "holds 3"),
        (["ham", "spam"], "2 labels; expected 3"),
        ([["ham", "spam"]] * 3, "two dimensions"),
        ("ham", "one label per sample"),
        ([{}, "ham", "ham"], "not a label"),
    ],
)
def test_what_is_no_label(y, message):
    with pytest.raises(ValueError, match=message):
        to_columns(y, TEXT, 3)


def test_every_class_is_needed():
    check_every_class(np.array([2, 0, 1]), TEXT)
    with pytest.raises(ValueError, match="no sample of 'ham'"):
        check_every_class(np.array([2, 0, 0]), TEXT)


def test_classes_are_checked():
    check_classes(["ham", "eggs", "spam"], TEXT)
    check_classes(pd.Series(["ham", "eggs", "spam"]), TEXT)
    with pytest.raises(ValueError, match="names 'cheese', of which there was no sample"):
        check_classes(["ham", "eggs", "spam", "cheese"], TEXT)
    with pytest.raises(ValueError, match="leaves out 'ham'"):
        check_classes(["eggs", "spam"], TEXT)
