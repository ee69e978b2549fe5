"""The files of a state: which were taken in, which were begun, and what a command that is refused leaves of them."""

import _thread
import json
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from baserate import state
from baserate.files.adapting.run import FileRun

from ..files.killing import Killed, Killer, adapt, done, files, killed_in_the_midst
from ..files.streams import frame, holdout, write

N = 9000
OPTIONS = ["--rounds", "50", "--state", "kept"]
HELD = ["--holdout", "holdout.csv"]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(holdout(), tmp_path / "holdout.csv")
    write(holdout(seed=5), tmp_path / "new.csv")
    for i, name in enumerate(("mon", "tue", "wed")):
        write(frame(300, seed=i)[0], tmp_path / f"{name}.csv")
    write(frame(N, seed=9)[0], tmp_path / "long.csv")
    broken = pl.when(pl.col("id") == N - 5).then(2.0).otherwise("p_eel").alias("p_eel")
    write(frame(N, seed=8)[0].with_columns(broken), tmp_path / "broken.csv")


def contents():
    return {name: Path(name).read_bytes() for name in files() if name != ".kept.lock"}


def refused(*words):
    """Run it, see that it is refused and that nothing has changed, and return what is said."""
    before = contents()
    result = adapt(*words)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stderr.count("\n") == 1
    assert contents() == before
    return result.stderr


def day(name, *more):
    return [f"{name}.csv", "-o", f"{name}.out.csv", *OPTIONS, *HELD, *more]


class TestFilesThatAreDone:
    def test_one_before_the_last_is_not_counted_again(self):
        for name in ("mon", "tue", "wed"):
            done(*day(name))
        before = contents()
        for name in ("mon", "tue", "wed"):
            result = done(*day(name))
            assert "nothing was done" in result.stdout
            assert json.loads(done(*day(name), "--json").stdout)["nothing_to_do"]
        assert contents() == before
        assert "mon.out.csv is as it was" in done(*day("mon")).stdout
        assert state.load("kept").files == 3

    def test_the_output_of_one_before_the_last_cannot_be_made_again(self):
        for name in ("mon", "tue"):
            done(*day(name))
        out = Path("tue.out.csv").read_bytes()
        for name in ("mon", "tue"):
            Path(f"{name}.out.csv").unlink()
        said = refused(*day("mon"))
        assert "mon.csv: was taken in before" in said
        assert "copy of the state" in said
        assert "taken in before" in refused("mon.csv", "-o", "-", *OPTIONS)
        done(*day("tue"))
        assert Path("tue.out.csv").read_bytes() == out
        assert state.load("kept").rows == 600

    def test_no_report_is_made_of_rounds_that_others_followed(self):
        for name in ("mon", "tue"):
            done(*day(name, "--report", f"{name}.html"))
        before = contents()
        assert "no report" in done(*day("mon", "--report", "mon.html")).stderr
        assert contents() == before

    def test_standard_output_is_written_again(self):
        words = ["mon.csv", "-o", "-", *OPTIONS, *HELD]
        first = done(*words).stdout
        assert done(*words).stdout == first
        assert state.load("kept").rows == 300

    @pytest.mark.parametrize("refit", [False, True])
    def test_a_refused_file_leaves_the_state_byte_for_byte(self, refit):
        done(*day("mon"))
        more = ["--holdout", "new.csv", "--refit"] if refit else []
        assert f"row {N - 4:,}" in refused(*day("broken"), *more)
        assert "nothing was done" in done(*day("mon")).stdout
        done(*day("tue"))
        assert state.load("kept").files == 2

    def test_the_last_file_done_again_and_refused_is_still_done(self):
        table, _ = frame(N, seed=9)
        write(table.with_columns(truth=pl.Series(["cat"] * (N - 1) + ["fish"])), Path("long.csv"))
        done(*day("mon"))
        done(*day("long"))
        assert "fish" in refused(*day("long", "--labels", "truth"))
        assert "nothing was done" in done(*day("long")).stdout


class TestUnfinishedFiles:
    @pytest.fixture(autouse=True)
    def labelled(self):
        table, _ = frame(N, seed=9)
        shop = pl.Series(["north"] * N)
        write(table.with_columns(truth=pl.Series(["eel"] * N), shop=shop), Path("long.csv"))

    @pytest.mark.parametrize("first", [False, True])
    def test_a_command_that_is_refused_loses_nothing(self, first, monkeypatch):
        if not first:
            done(*day("mon"))
        killed_in_the_midst(day("long", "--labels", "truth"), monkeypatch)
        same = day("long", "--labels", "truth")
        for words, named in [
            (day("long", "--labels", "truht"), "--labels"),
            (day("long"), "--labels"),
            ([*same, "--rounds", "100"], "--rounds"),
            ([*same, "-o", "other.csv"], "-o, --rounds-file"),
            ([*same, "--id", "id"], "--id"),
            ([*same, "--holdout", "new.csv"], "--holdout"),
            ([*same, "--holdout", "new.csv", "--refit"], "--holdout"),
        ]:
            said = refused(*words)
            assert f"in {named}. Run the same command" in said
            assert "--restart" in said
        refused(*day("tue"))
        refused(*same, "--holdout", "none.csv")
        if not first:
            refused(*same, "--key", "shop", "--restart")
            refused(*same, "--holdout", "new.csv", "--restart")
        refused(*day("long", "--labels", "truht"), "--restart")
        assert json.loads(done(*same, "--json").stdout)["resumed_at_row"] > 0
        done(*["long.csv", "-o", "whole.csv", "--rounds", "50", *HELD, "--labels", "truth"])
        if first:
            assert Path("long.out.csv").read_bytes() == Path("whole.csv").read_bytes()
        assert "nothing was done" in done(*same).stdout
        assert not [name for name in files() if name.startswith(".")]

    def test_restart_goes_back_to_the_state_before(self, monkeypatch):
        done(*day("mon"))
        before = Path("kept").read_bytes()
        killed_in_the_midst(day("long", "--refit", "--holdout", "new.csv"), monkeypatch)
        assert "nothing was done" in done(*day("mon", "--restart")).stdout
        assert Path("kept").read_bytes() == before
        assert not [name for name in files() if name.startswith(".")]

    def test_a_first_file_is_begun_anew_with_any_holdout_or_none(self, monkeypatch):
        killed_in_the_midst(day("long"), monkeypatch)
        done("long.csv", "-o", "long.out.csv", *OPTIONS, "--restart")
        none = Path("long.out.csv").read_bytes()
        done("long.csv", "-o", "whole.csv", "--rounds", "50", *HELD)
        assert none == Path("whole.csv").read_bytes()
        Path("kept").unlink()
        killed_in_the_midst(day("long"), monkeypatch)
        done(*day("long", "--holdout", "new.csv", "--restart"))
        assert Path("long.out.csv").read_bytes() != none

    def test_the_holdout_of_a_redeployed_model_goes_on(self, monkeypatch):
        done(*day("mon"))
        words = day("long", "--refit", "--holdout", "new.csv")
        killed_in_the_midst(words, monkeypatch)
        assert json.loads(done(*words, "--json").stdout)["resumed_at_row"] > 0


class TestTheEndOfAFile:
    @pytest.mark.parametrize("piped", [False, True])
    def test_what_is_counted_is_moved_into_its_place_by_the_next_run(self, piped, monkeypatch):
        words, data = (["-", *day("mon")[1:]], Path("mon.csv").read_text()) if piped else (day("mon"), None)
        with monkeypatch.context() as patch:
            killer = Killer(patch)
            done(*words, data=data)
        whole = Path("mon.out.csv").read_bytes()
        for name in ("kept", "mon.out.csv", "mon.out.rounds.csv"):
            Path(name).unlink()
        with monkeypatch.context() as patch:
            Killer(patch, killer.count - 3)  # as the first output is about to be moved
            with pytest.raises(Killed):
                adapt(*words, data=data)
        assert "mon.out.csv" not in files()
        assert state.load("kept").files == 1
        done(*day("tue"))
        assert Path("mon.out.csv").read_bytes() == whole
        assert "mon.out.rounds.csv" in files()
        assert not [name for name in files() if name.startswith(".")]

    @pytest.mark.parametrize("kept", [False, True])
    def test_ctrl_c_does_not_come_between_the_state_and_the_output(self, kept, monkeypatch):
        data = Path("mon.csv").read_text()
        words = ["-", "-o", "o.csv", *HELD, *(OPTIONS if kept else [])]

        def finish(self, real=FileRun._finish):
            _thread.interrupt_main()
            time.sleep(0.2)  # so that it comes now, if it comes
            real(self)

        with monkeypatch.context() as patch:
            patch.setattr(FileRun, "_finish", finish)
            done(*words, data=data)
        assert Path("o.csv").read_text().count("\n") == 301
        assert not kept or state.load("kept").rows == 300

    def test_an_output_that_cannot_be_moved_is_not_lost(self, monkeypatch):
        def stopped(self, target, real=Path.replace):
            if target.name == "o.csv":
                raise OSError(30, "Read-only file system", str(target))
            return real(self, target)

        words = ["-", "-o", "o.csv", *OPTIONS, *HELD]
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", stopped)
            result = adapt(*words, data=Path("mon.csv").read_text())
        assert result.exit_code == 1
        assert "the state counts it" in result.stderr
        done(*day("tue"))
        assert pl.read_csv("o.csv").height == 300

    def test_a_part_of_the_same_file_done_again_is_not_taken_for_its_output(self, monkeypatch):
        done(*day("long"))
        whole = Path("long.out.csv").read_bytes()
        Path("long.out.csv").unlink()
        with monkeypatch.context() as patch:
            Killer(patch, 3)  # some rows are written, and the state still says that the file is done
            with pytest.raises(Killed):
                adapt(*day("long"))
        done(*day("long"))
        assert Path("long.out.csv").read_bytes() == whole


def test_a_state_grows_by_little_with_each_file():
    done(*day("mon"))
    done(*day("tue"))
    before = len(Path("kept").read_bytes())
    rng = np.random.default_rng(0)
    for i in range(5):
        write(frame(100, seed=int(rng.integers(1 << 30)))[0], Path("more.csv"))
        done("more.csv", "-o", f"more{i}.csv", *OPTIONS)
    assert state.load("kept").finished_files.nbytes == 7 * 32
    assert len(Path("kept").read_bytes()) < 1.2 * before  # each does not hold the one before it, and so on
