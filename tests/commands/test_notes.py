"""Warnings become notes: each once, and only those for users."""

import warnings

import polars as pl
import pytest

from baserate.commands.notes import kept_warnings

from ..files.streams import frame, holdout, write
from .adapting import done
from .backtested import done as backtested
from .backtested import log


def test_each_once_and_only_those_for_users():
    with kept_warnings() as told:
        for _ in range(2):
            warnings.warn("first", UserWarning, stacklevel=1)
        warnings.warn("second", UserWarning, stacklevel=1)
    assert told == ["first", "second"]


@pytest.mark.usefixtures("in_a_folder_with_a_holdout")
def test_notes_have_the_names_of_classes(tmp_path):
    held = holdout(400)
    few = pl.concat([held.filter(pl.col("label") != "dog"), held.filter(pl.col("label") == "dog").head(5)])
    write(few, tmp_path / "holdout.csv")
    write(frame(200)[0], tmp_path / "s.csv")
    result = done("s.csv", "-o", "o.csv")
    assert "fewer than 10 samples of class 'dog'" in result.stderr
    assert "class 1" not in result.output
    write(log()[0], tmp_path / "log.csv")
    result = backtested("log.csv", "--label", "truth", "--holdout", "holdout.csv", "--holdout-label", "label", "--json",
                        "--methods", "none")  # fmt: skip
    assert "fewer than 10 samples of class 'dog'" in result.stderr
    assert "class 1" not in result.output
