"""Labels and columns: text, numbers, truth values; what is missing, and what is unknown."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baserate.class_labels import check_all_classes_present, check_labels, learn_classes, to_columns

TEXT = ["spam", "ham", "eggs"]  # not sorted, as a foreign model may have them


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
    assert to_columns(y, [7, 3], 3).tolist() == [1, -1, 0]


def test_minus_one_may_be_a_class():
    assert to_columns([-1, 1, None], [-1, 1], 3).tolist() == [0, 1, -1]


def test_truth_values():
    assert to_columns([True, False, None], [False, True], 3).tolist() == [1, 0, -1]


@given(st.permutations(["a", "b", "c", "d"]), st.lists(st.sampled_from(["a", "b", "c", "d", None]), max_size=20))
def test_there_and_back(classes, y):
    columns = to_columns(y, classes, len(y))
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


@pytest.mark.parametrize(
    ("y", "k", "names", "classes"),
    [
        (["b", "a", "c"], 3, None, ["a", "b", "c"]),
        (["b", "a", "c"], 3, ["c", "a", "b"], ["c", "a", "b"]),
        (["b", "a", "c"], 3, ["p_c", "p_a", "p_b"], ["c", "a", "b"]),
        (["car", "cat"], 2, ["p_cat", "p_car"], ["cat", "car"]),  # "p_ca" is a common prefix, too
        (["b", "a"], 3, ["p_c", "p_a", "p_b"], ["c", "a", "b"]),  # one is missing, and is named all the same
        (["b", "a"], 2, ["first", "second"], ["a", "b"]),  # names that say nothing
        (["10", "9"], 2, None, ["10", "9"]),  # as scikit-learn sorts text
        ([True, False], 2, None, [False, True]),
        (np.array([True, True]), 2, None, [False, True]),
        ([True, False], 2, ["p_True", "p_False"], [True, False]),
        ([1, 0, 2], 3, None, None),
        ([1, 0, 2], 3, ["p_0", "p_1", "p_2"], None),
        ([1, 0, 2], 3, ["p_2", "p_1", "p_0"], [2, 1, 0]),
        ([1.0, 3.0, 2.0], 3, ["p_1", "p_2", "p_3"], [1, 2, 3]),
        ([1, 0, 2], 3, ["good", "bad", "ugly"], None),
        (pd.Series(["b", "a"], dtype="category"), 2, None, ["a", "b"]),
        (pl.Series(["b", "a"]), 2, None, ["a", "b"]),
        (np.array([0.0, np.nan]), 2, None, None),  # for check_labels to refuse
    ],
    ids=repr,
)
def test_classes_of_a_holdout(y, k, names, classes):
    assert learn_classes(y, len(y), k, names) == classes


@pytest.mark.parametrize(
    ("y", "names", "message"),
    [
        (["a", "b"], None, r"y holds 2 different labels \('a', 'b'\), and proba has 3 columns"),
        (["a", "b", "c", "d"], None, "4 different labels"),
        ([True, False], None, "2 different labels"),
        (["a", None, "c"], None, "y has no label for some samples"),
        (["a", 1, "c"], None, "y holds labels of the kinds int, str"),
        ([["a", "b"], ["c", "d"]], None, "y has two dimensions"),
        ([{}, "a", "b"], None, "y holds something that is not a label"),
        ([["a"], ["b", "c"]], None, "y is not a plain array"),
        (["a", "b"], ["x", "y", "z"], "which label is which column cannot be told"),
    ],
)
def test_classes_that_cannot_be_told(y, names, message):
    with pytest.raises((ValueError, TypeError), match=message):
        learn_classes(y, len(y), 3, names)


@pytest.mark.parametrize(
    ("y", "k", "fix"),
    [
        ([1, 2, 2], 2, "y - 1"),
        ([1, 2, 3], 3, "y - 1"),
        ([-1, 1, 1], 2, "-1 means here that a label is not known; for classes -1 and 1 give y > 0"),
    ],
)
def test_the_fix_of_other_numbers_is_named(y, k, fix):
    with pytest.raises(ValueError, match=fix):
        check_labels(y, 3, k)
    fixed = np.asarray(y) - 1 if fix == "y - 1" else np.asarray(y) > 0
    assert set(check_labels(fixed, 3, k)) == set(range(k))


def test_missing_labels_of_named_classes():
    assert check_labels(["ham", None, -1], 3, 3, missing=True, classes=TEXT).tolist() == [1, -1, -1]
    with pytest.raises(ValueError, match="truth has no label at sample 1"):
        check_labels(["ham", None], 2, 3, "truth", classes=TEXT)


def test_a_missing_class_is_named():
    with pytest.raises(ValueError, match="no sample of class 'ham'"):
        check_all_classes_present(np.array([0, 2]), 3, classes=TEXT)
    with pytest.raises(ValueError, match="no sample of class 1"):
        check_all_classes_present(np.array([0, 2]), 3)
