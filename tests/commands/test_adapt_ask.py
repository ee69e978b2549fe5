"""Rows that labels are asked for: the file, its way back, and that a killed run asks for the same."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import baserate
from baserate import state

from ..files.killing import Killed, Killer, adapt, done, files
from ..files.streams import CLASSES, P, frame, write

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")
KEPT = ["--state", "s", "--id", "id", "--wait", "5000", "--rounds", "100"]
N = 3000


@pytest.fixture
def truth(tmp_path):
    """Two days of a stream; returns all labels."""
    table, y = frame(N)
    write(table[:2000], tmp_path / "monday.csv")
    write(table[2000:], tmp_path / "tuesday.csv")
    return y


def monday(*options):
    return done("monday.csv", "-o", "m.csv", "--holdout", "holdout.csv", *KEPT, *options)


def fill_in(y, name="m.ask.csv", keep=None):
    asked = pl.read_csv(name)
    labels = [CLASSES[y[i]] if keep is None or place < keep else None for place, i in enumerate(asked["id"])]
    asked.with_columns(label=pl.Series(labels)).write_csv("filled.csv")
    return asked


def test_requests_are_written_filled_in_and_handed_back(truth):
    said = json.loads(monday("--ask", "30", "--json").stdout)
    assert said["ask_file"] == "m.ask.csv"
    asked = fill_in(truth, keep=25)
    assert asked.columns == ["id", "row", "probability", "why", "label"]
    assert len(asked) == 30
    assert asked["row"].to_list() == [i + 1 for i in asked["id"]]
    assert asked["row"].is_sorted()
    assert asked["probability"].is_between(0.3 * 30 / 2000 * 0.5, 1.0).all()
    assert set(asked["why"]) <= {"drawn at random", "corrections disagree"}
    said = json.loads(done("tuesday.csv", "-o", "t.csv", *KEPT, "--late", "filled.csv", "--json").stdout)
    assert (said["late_labels"], said["missed_labels"]) == (25, 0)

    held = pl.read_csv("holdout.csv")
    adapter = baserate.RegressAndReweight(max_waiting=5000)
    adapter.fit(held.select(P).to_numpy(), [CLASSES.index(name) for name in held["label"]])
    proba = frame(N)[0].select(P).to_numpy()
    ids = [str(i) for i in range(N)]
    for i in range(0, N, 100):
        if i == 2000:
            told = np.where(np.arange(30) < 25, truth[asked["id"].to_numpy()], -1)
            adapter.update_labels([str(j) for j in asked["id"]], told, y_probability=asked["probability"].to_numpy())
        step = adapter.step(proba[i : i + 100], ids=ids[i : i + 100])
    found = pl.read_csv("t.csv").select(f"adapted_{p}" for p in P).to_numpy()
    np.testing.assert_allclose(found[-100:], step.proba, rtol=1e-9)
    assert state.dumps(state.load("s").adapter._correction) == state.dumps(adapter._correction)


def test_the_summary_says_what_to_do(truth):
    assert "Rows to label: m.ask.csv. Fill in the labels, and give the file to --late" in monday("--ask", "5").stdout
    assert "Rows to label" not in done("tuesday.csv", "-o", "t.csv", *KEPT).stdout
    assert not Path("t.ask.csv").exists()


def test_rows_with_a_label_are_not_asked_for_and_the_column_is_that_of_labels(truth, tmp_path):
    known = pl.Series([CLASSES[c] if i % 2 else None for i, c in enumerate(truth[:2000])])
    write(pl.read_csv("monday.csv").with_columns(truth=known), tmp_path / "monday.csv")
    monday("--ask", "40", "--labels", "truth", "--ask-file", "please.csv")
    asked = pl.read_csv("please.csv")
    assert asked.columns[-1] == "truth"
    assert (asked["id"] % 2 == 0).all()


def test_a_killed_run_asks_for_the_same_rows(truth, monkeypatch):
    monday("--ask", "30")
    names = ("s", "m.csv", "m.rounds.csv", "m.ask.csv")
    whole = [Path(name).read_bytes() for name in names[1:]]
    words = ["monday.csv", "-o", "m.csv", "--holdout", "holdout.csv", *KEPT, "--ask", "30"]
    for name in names:
        Path(name).unlink()
    with monkeypatch.context() as patch:
        killer = Killer(patch)
        done(*words)
    assert [Path(name).read_bytes() for name in names[1:]] == whole
    for moment in (1, killer.count // 3, killer.count // 2, *range(killer.count - 9, killer.count + 1)):
        for name in names:
            Path(name).unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            Killer(patch, moment)
            with pytest.raises(Killed):
                adapt(*words)
        done(*words)
        assert [Path(name).read_bytes() for name in names[1:]] == whole, moment
        assert state.load("s").file.asked is None
        assert not [name for name in files() if name.startswith(".")]


def test_a_file_that_is_done_again_asks_again(truth):
    monday("--ask", "30")
    before = Path("m.ask.csv").read_bytes()
    Path("m.ask.csv").unlink()
    monday("--ask", "30")
    assert Path("m.ask.csv").read_bytes() == before
    monday("--ask", "10")
    assert len(pl.read_csv("m.ask.csv")) == 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ask", "0", *KEPT], "--ask is 0; give the number of rows to label"),
        (["--ask", "-3", *KEPT], "--ask is -3"),
        (["--ask", "5", "--state", "s"], "--id"),
        (["--ask", "5", "--state", "s", "--id", "id"], "--wait"),
        (["--ask", "5", "--id", "id", "--wait", "9"], "--state"),
        (["--ask", "5", "--key", "p_cat"], "--key"),
        (["--ask-file", "x.csv", *KEPT], "--ask 50"),
        (["--ask", "5", "--ask-file", "x.parquet", *KEPT], "it is written as CSV"),
        (["--ask", "5", "--ask-file", "monday.csv", *KEPT], "is read by this run"),
        (["--ask", "5", "--ask-file", "o.csv", *KEPT], "is the file of -o"),
        (["--ask", "5", "--labels", "why", *KEPT], "two of these have one name"),
        (["--late-probability", "p", *KEPT], "--late-probability is a column of the file of --late"),
    ],
)
def test_what_requests_need(arguments, words, truth):
    result = adapt("monday.csv", "-o", "o.csv", "--holdout", "holdout.csv", *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert not Path("o.csv").exists()


def test_requests_from_a_pipe_need_a_name(truth):
    data = Path("monday.csv").read_bytes()
    words = ["-", "-o", "-", "--holdout", "holdout.csv", *KEPT, "--ask", "5"]
    result = adapt(*words, data=data)
    assert (result.exit_code, "--ask-file" in result.stderr) == (2, True)
    done(*words, "--ask-file", "a.csv", data=data)
    assert len(pl.read_csv("a.csv")) == 5


def test_probabilities_that_cannot_be_used_leave_the_state_as_it_was(truth):
    monday("--ask", "10")
    asked, before = fill_in(truth), Path("s").read_bytes()
    filled = pl.read_csv("filled.csv")
    for value, words in [
        (None, "row 3, column probability: is empty; expected the probability"),
        ("1,5", "row 3, column probability: holds 1,5"),
        ("0", "row 3, column probability: holds"),
        ("7", "above 0 and at most 1"),
    ]:
        column = [str(p) for p in asked["probability"]]
        column[2] = value
        filled.with_columns(probability=pl.Series(column)).write_csv("bad.csv")
        result = adapt("tuesday.csv", "-o", "t.csv", *KEPT, "--late", "bad.csv")
        assert result.exit_code == 2
        assert words in " ".join(result.stderr.split())
        assert Path("s").read_bytes() == before
    filled.drop("probability").write_csv("bad.csv")
    result = adapt("tuesday.csv", "-o", "t.csv", *KEPT, "--late", "bad.csv", "--late-probability", "probability")
    assert "column probability: there is no such column" in " ".join(result.stderr.split())


def test_another_column_of_that_name_is_no_probability_of_being_chosen(truth):
    """A file of labels may have a model's probability in it: only a file of --ask is known by its columns."""
    monday()
    told = pl.DataFrame({"id": [5, 6], "label": [CLASSES[c] for c in truth[5:7]], "probability": [0.0, 40.0]})
    told.write_csv("late.csv")
    done("tuesday.csv", "-o", "t.csv", *KEPT, "--late", "late.csv")
    result = adapt("tuesday.csv", "-o", "u.csv", *KEPT, "--late", "late.csv", "--late-probability", "probability")
    assert "row 1, column probability: holds 0.0" in " ".join(result.stderr.split())


def test_unknown_ids_are_counted(truth):
    monday("--ask", "10")
    fill_in(truth)
    pl.read_csv("filled.csv").with_columns(id=pl.Series(range(90_000, 90_010))).write_csv("filled.csv")
    said = json.loads(done("tuesday.csv", "-o", "t.csv", *KEPT, "--late", "filled.csv", "--json").stdout)
    assert (said["late_labels"], said["missed_labels"]) == (0, 10)


def test_rows_that_wait_no_more_are_told_of(truth):
    words = ["--state", "s", "--id", "id", "--wait", "500", "--rounds", "100", "--ask", "40"]
    result = done("monday.csv", "-o", "m.csv", "--holdout", "holdout.csv", *words)
    gone = (pl.read_csv("m.ask.csv")["id"] < 1500).sum()
    assert gone > 10
    assert f"note: {gone} of the rows that --ask names do not wait" in result.stderr
