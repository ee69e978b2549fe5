"""A run over one file, as a program calls it: the result, and the progress that it tells."""

from pathlib import Path

import polars as pl
import pytest

from baserate.files.adapting import AdaptJob, adapt_file
from baserate.files.adapting.run import ProgressCallback
from baserate.files.formats import source_named

from ..streams import frame, holdout, write

N = 700


@pytest.fixture(autouse=True)
def with_files(in_an_empty_folder):
    write(holdout(), Path("holdout.csv"))
    for i, name in enumerate(("mon", "tue")):
        write(frame(N, seed=i)[0], Path(f"{name}.csv"))


def job(name, **more):
    files = {
        "stream": source_named(f"{name}.csv"),
        "holdout": source_named("holdout.csv"),
        "out": source_named("o.csv"),
    }
    return AdaptJob(**{**files, "state": Path("kept"), **more})


def test_the_result_of_a_run_and_its_progress():
    told = []
    result = adapt_file(job("mon"), ProgressCallback(lambda *rows: told.append(rows), told.append))
    assert (result.rows, result.first_row, result.nothing_to_do) == (N, 0, False)
    assert (result.state.files, result.state.rows) == (1, N)
    assert told[0] in {(N, 0), (None, 0)}
    assert sum(told[1:]) == N
    assert pl.read_csv("o.csv").height == N


def test_a_file_that_is_finished_is_not_counted_again():
    first = adapt_file(job("mon"))
    again = adapt_file(job("mon"))
    assert again.nothing_to_do
    assert again.rows == 0
    assert again.state.rows == first.state.rows == N
    assert not again.earlier_file
    adapt_file(job("tue"))
    assert adapt_file(job("mon")).earlier_file
