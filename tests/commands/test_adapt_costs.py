"""Decisions on the rows of a file: by costs, by a threshold, over several files and after a kill."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from baserate import state

from ..files.killing import Killed, Killer, adapt, done, killed_in_the_midst
from ..files.streams import CLASSES, frame, write

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")
N = 9000
TABLE = "true,eel,cat,ask,dog\neel,0,9,1.2,1\ncat,2,0,0.4,1\ndog,1,3,0.6,0\n"
COSTS = {"cat": [0, 1, 2, 0.4], "dog": [3, 0, 1, 0.6], "eel": [9, 1, 0, 1.2]}
"""The same, in the order of the classes and then ``ask``: true class by decision."""
DECISIONS = [*CLASSES, "ask"]


def two_classes(n, seed, positive=0.2):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positive).astype(int)
    p = 1 / (1 + np.exp(-2 * rng.normal(2 * y - 1, 1)))
    p = np.round(p, 2)  # so that a threshold is met exactly now and then
    table = pl.DataFrame({"p_good": 1 - p, "p_bad": p})
    return table, pl.Series("label", np.where(y, "bad", "good"))


def by_hand(rows, names=CLASSES, costs=COSTS, decisions=DECISIONS):
    """The decision with the least expected cost, and that cost, from the columns of an output, by loops."""
    chosen, expected = [], []
    for row in rows.iter_rows(named=True):
        means = [sum(row[f"adapted_p_{name}"] * costs[name][d] for name in names) for d in range(len(decisions))]
        chosen.append(decisions[min(range(len(means)), key=lambda d, means=means: means[d])])
        expected.append(min(means))
    return chosen, expected


@pytest.mark.parametrize("keyed", [False, True])
def test_a_table_of_costs_decides_on_every_row(keyed, tmp_path):
    write(frame(1500, shop=(["north", "south", "west"] * 500))[0], tmp_path / "s.parquet")
    Path("c.csv").write_text(TABLE)
    more = ["--key", "shop"] if keyed else []
    words = ["s.parquet", "--holdout", "holdout.csv", "--rounds", "70", *more]
    said = json.loads(done(*words, "-o", "o.parquet", "--costs", "c.csv", "--json").stdout)
    done(*words, "-o", "plain.parquet")
    rows, plain = pl.read_parquet("o.parquet"), pl.read_parquet("plain.parquet")
    assert rows.drop("adapted_decision").equals(plain)
    assert rows.columns.index("adapted_decision") == rows.columns.index("adapted_label") + 1
    chosen, expected = by_hand(rows)
    assert rows["adapted_decision"].to_list() == chosen
    assert (rows["adapted_decision"] != rows["adapted_label"]).any()
    assert said["decisions"] == {name: chosen.count(name) for name in DECISIONS}
    assert min(said["decisions"].values()) > 0
    assert said["expected_cost"] == pytest.approx(np.mean(expected))
    rounds = pl.read_csv("o.rounds.csv")
    groups = ["round", *(["key"] if keyed else [])]
    rows = rows.with_columns(round=pl.col("adapted_round"), key=pl.col("shop"), cost=pl.Series(expected))
    for values, part in rows.group_by(groups):
        line = rounds.filter(*(pl.col(name) == value for name, value in zip(groups, values, strict=True)))
        for name in DECISIONS:
            assert line[f"decided_{name}"].to_list() == [(part["adapted_decision"] == name).sum()]
        assert line["expected_cost"].to_list() == pytest.approx([part["cost"].mean()])


def test_a_pair_of_costs_and_a_threshold():
    held, labels = two_classes(600, 0)
    held.with_columns(labels).write_csv("h.csv")
    two_classes(2000, 1, 0.5)[0].write_csv("s.csv")
    words = ["s.csv", "--holdout", "h.csv", "--positive", "bad"]
    done(*words, "-o", "pair.csv", "--costs", "1:4")
    done(*words, "-o", "threshold.csv", "--threshold", "0.2")
    pair, threshold = pl.read_csv("pair.csv"), pl.read_csv("threshold.csv")
    p = pair["adapted_p_bad"].to_numpy()
    assert pair["adapted_decision"].to_list() == np.where(4 * p > 1 - p, "bad", "good").tolist()
    assert threshold["adapted_decision"].to_list() == np.where(p >= 0.2, "bad", "good").tolist()
    costs = [pl.read_csv(f"{name}.rounds.csv")["expected_cost"].to_list() for name in ("threshold", "pair")]
    assert costs[0] == pytest.approx(costs[1])
    said = done(*words, "-o", "again.csv", "--costs", "1:4").stdout
    bad = (pair["adapted_decision"] == "bad").sum()
    expected = 1000 * np.minimum(4 * p, 1 - p).mean()
    assert (
        f"Decisions on these rows: good {2000 - bad:,}, bad {bad:,}; expected cost per 1,000 rows: {expected:.1f}."
        in said
    )
    said = done(*words, "-o", "last.csv", "--threshold", "0.2").stdout
    assert f": {expected:.1f} (a threshold of 0.2 means: a false alarm costs 1, a miss 4)." in said


def test_a_probability_that_equals_the_threshold_reaches_it():
    """The first round is predicted by the source prior: without calibration, probabilities are as they came."""
    held, labels = two_classes(4000, 0)
    held.with_columns(labels).write_csv("h.csv")
    stream, _ = two_classes(100, 1)
    stream.write_csv("s.csv")
    words = ["s.csv", "--holdout", "h.csv", "--positive", "bad"]
    done(*words, "-o", "first.csv", "--threshold", "0.5")
    met = float(pl.read_csv("first.csv")["adapted_p_bad"].sort()[60])
    done(*words, "-o", "second.csv", "--threshold", repr(met))
    found = pl.read_csv("second.csv")
    assert set(found.filter(pl.col("adapted_p_bad") == met)["adapted_decision"]) == {"bad"}
    assert set(found.filter(pl.col("adapted_p_bad") < met)["adapted_decision"]) == {"good"}


def test_decisions_teach_nothing(tmp_path):
    write(frame(1000)[0], tmp_path / "a.csv")
    write(frame(1000, seed=2)[0], tmp_path / "b.csv")
    Path("c.csv").write_text(TABLE)
    Path("d.csv").write_text(TABLE.replace("9", "4"))
    done("a.csv", "--holdout", "holdout.csv", "-o", "o.csv", "--state", "plain")
    done("b.csv", "-o", "o2.csv", "--state", "plain")
    done("a.csv", "--holdout", "holdout.csv", "-o", "o.csv", "--state", "costs", "--costs", "c.csv")
    said = done("b.csv", "-o", "o2.csv", "--state", "costs", "--costs", "d.csv").stdout
    assert state.dumps(state.load("plain").adapter) == state.dumps(state.load("costs").adapter)
    last = pl.read_csv("o2.csv")
    costs = COSTS | {"eel": [4, 1, 0, 1.2]}
    chosen, _ = by_hand(last, costs=costs)
    assert last["adapted_decision"].to_list() == chosen
    counts = ", ".join(f"{name} {chosen.count(name):,}" for name in DECISIONS)
    assert f"Decisions on the last file: {counts}; expected cost" in said


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_killed_run_goes_on_with_its_decisions(form, tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / f"s.{form}")
    Path("c.csv").write_text(TABLE)
    words = [f"s.{form}", "--holdout", "holdout.csv", "--rounds", "50", "--costs", "c.csv"]
    done(*words, "-o", f"whole.{form}", "--state", "whole")
    with monkeypatch.context() as patch:
        killer = Killer(patch)
        done(*words, "-o", f"o.{form}", "--state", "kept")
    kept = state.load("whole").file.decided
    assert sum(kept.counts) == N
    for moment in (40, killer.count // 2, killer.count - 3):
        for name in ("kept", f"o.{form}", "o.rounds.csv"):
            Path(name).unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            Killer(patch, moment)
            with pytest.raises(Killed):
                adapt(*words, "-o", f"o.{form}", "--state", "kept")
        done(*words, "-o", f"o.{form}", "--state", "kept")
        assert Path(f"o.{form}").read_bytes() == Path(f"whole.{form}").read_bytes()
        assert Path("o.rounds.csv").read_bytes() == Path("whole.rounds.csv").read_bytes()
        assert state.load("kept").file.decided == kept


def test_a_file_is_not_finished_by_other_costs(tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / "s.csv")
    Path("c.csv").write_text(TABLE)
    words = ["s.csv", "--holdout", "holdout.csv", "--rounds", "50", "-o", "o.csv", "--state", "kept"]
    killed_in_the_midst([*words, "--costs", "c.csv"], monkeypatch)
    before = Path("kept").read_bytes()
    Path("d.csv").write_text(TABLE.replace("9", "4"))
    for other in (["--costs", "d.csv"], []):
        result = adapt(*words, *other)
        assert result.exit_code == 2
        assert "differs from the one that began it in --costs. Run the same command again" in result.stderr
        assert Path("kept").read_bytes() == before
    Path("c.csv").rename("renamed.csv")  # the same table under another name is the same
    assert "Resumed at row" in done(*words, "--costs", "renamed.csv").stdout
    assert by_hand(pl.read_csv("o.csv"))[0] == pl.read_csv("o.csv")["adapted_decision"].to_list()
    assert "nothing was done" in done(*words, "--costs", "renamed.csv").stdout
    # The last file run with other options takes the place of its first run.
    assert "nothing was done" not in done(*words).stdout
    assert "adapted_decision" not in pl.read_csv("o.csv").columns
    assert state.load("kept").files == 1


def test_a_file_without_costs_is_not_finished_with_them(tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / "s.csv")
    Path("c.csv").write_text(TABLE)
    words = ["s.csv", "--holdout", "holdout.csv", "--rounds", "50", "-o", "o.csv", "--state", "kept"]
    killed_in_the_midst(words, monkeypatch)
    result = adapt(*words, "--costs", "c.csv")
    assert "differs from the one that began it in --costs." in result.stderr
    done(*words, "--costs", "c.csv", "--restart")
    assert by_hand(pl.read_csv("o.csv"))[0] == pl.read_csv("o.csv")["adapted_decision"].to_list()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--costs", "1:20"], "a pair of costs is for two classes; this model has 3: cat, dog, eel. Give a table of"),
        (["--threshold", "0.5"], "a threshold is for two classes; this model has 3: cat, dog, eel."),
        (["--costs", "1-20"], "--costs 1-20: expected FP:FN, such as --costs 1:20"),
        (["--costs", "c.csv", "--threshold", "0.5"], "--costs and --threshold are two ways to decide"),
        (["--costs", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["--costs", "short.csv"], "short.csv: there is no row for eel"),
        (["--costs", "c.csv", "--rounds-file", "c.csv"], "--rounds-file c.csv is read by this run; name another file"),
        (["--costs", "c.csv", "--out-prefix", "my_"], "s.csv, column my_decision: the output would have two columns"),
    ],
)
def test_what_is_refused(options, message, tmp_path):
    write(frame(300, my_decision=["x"] * 300)[0], tmp_path / "s.csv")
    Path("c.csv").write_text(TABLE)
    Path("short.csv").write_text("true,cat,dog,eel\ncat,0,1,1\ndog,1,0,1\n")
    there = sorted(path.name for path in tmp_path.iterdir())
    result = adapt("s.csv", "--holdout", "holdout.csv", "-o", "o.csv", "--state", "kept", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")) == there


def test_a_pipe_and_the_summary_of_a_state(tmp_path):
    write(frame(300)[0], tmp_path / "s.csv")
    Path("c.csv").write_text(TABLE)
    words = ["-", "--holdout", "holdout.csv", "-o", "-", "--state", "kept", "--costs", "c.csv"]
    found = done(*words, data=Path("s.csv").read_bytes())
    rows = pl.read_csv(found.stdout.encode())
    assert rows["adapted_decision"].to_list() == by_hand(rows)[0]
    assert "Decisions on these rows: " in found.stderr


def test_a_score_is_enough():
    """The class of the score is the positive one, also for the next file, which names it no more."""
    held, labels = two_classes(600, 0)
    held.with_columns(labels).drop("p_good").rename({"p_bad": "score"}).write_csv("h.csv")
    for seed in (1, 2):
        two_classes(1000, seed)[0].select(score="p_bad").write_csv(f"{seed}.csv")
    words = ["--score", "score", "--costs", "1:4", "--state", "kept"]
    done("1.csv", "--holdout", "h.csv", "-o", "o1.csv", "--positive", "bad", *words)
    done("2.csv", "-o", "o2.csv", *words)
    for name in ("o1.csv", "o2.csv"):
        found = pl.read_csv(name)
        p = found["adapted_p_bad"].to_numpy()
        assert found["adapted_decision"].to_list() == np.where(4 * p > 1 - p, "bad", "good").tolist()
