"""What is kept between runs: after a kill, over several files, and after a file that cannot be used."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import baserate
from baserate import state
from baserate.cli import app
from baserate.files.adapting.state import StreamState
from baserate.files.adapting.steppers import StreamStepper
from baserate.files.adapting.unique_ids import UniqueIds
from baserate.files.content import ReadMark, samples_of
from baserate.files.formats._sinks import TextSink
from baserate.files.rounds import ReadPosition
from baserate.state import decoding

from ..files.killing import Killed, Killer, adapt, done, files, killed_in_the_midst
from ..files.streams import CLASSES, P, frame, holdout, read, write

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")
N = 9000


@pytest.mark.parametrize(("form", "keyed"), [("csv", False), ("parquet", False), ("jsonl", False), ("parquet", True)])
def test_a_killed_run_goes_on_and_its_output_is_the_same_byte_for_byte(form, keyed, tmp_path, monkeypatch):
    table, y = frame(N, shop=(["north", "south", "west"] * N)[:N])
    labels = [CLASSES[c] if i % 7 == 0 else None for i, c in enumerate(y)]
    write(table.with_columns(truth=pl.Series(labels)), tmp_path / f"s.{form}")
    words = [f"s.{form}", "--holdout", "holdout.csv", "--rounds", "50", "--labels", "truth", "--id", "id"]
    words += ["--key", "shop"] if keyed else []
    done(*words, "-o", f"whole.{form}")
    with monkeypatch.context() as patch:
        killer = Killer(patch)
        done(*words, "-o", f"o.{form}", "--state", "kept")
    assert killer.count > 100
    whole = Path(f"whole.{form}").read_bytes(), Path("whole.rounds.csv").read_bytes()
    assert (Path(f"o.{form}").read_bytes(), Path("o.rounds.csv").read_bytes()) == whole
    kept = state.load("kept")
    last = range(killer.count - 7, killer.count + 1)  # where the run ends, every moment counts
    some = np.random.default_rng([keyed, len(form)]).integers(1, killer.count, 4)
    for moment in sorted({1, *some.tolist(), *last}):
        for name in ("kept", f"o.{form}", "o.rounds.csv"):
            Path(name).unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            Killer(patch, moment)
            with pytest.raises(Killed):
                adapt(*words, "-o", f"o.{form}", "--state", "kept")
        done(*words, "-o", f"o.{form}", "--state", "kept")
        assert (Path(f"o.{form}").read_bytes(), Path("o.rounds.csv").read_bytes()) == whole, moment
        again = state.load("kept")
        assert state.dumps(again.adapter) == state.dumps(kept.adapter)
        assert (again.rows, again.files, again.label_counts) == (N, 1, kept.label_counts)
        assert not [name for name in files() if name.startswith(".")]


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_a_run_killed_at_nine_tenths_does_little_again(form, tmp_path, monkeypatch):
    n = 20_000
    write(frame(n)[0], tmp_path / f"s.{form}")
    words = [f"s.{form}", "-o", f"o.{form}", "--holdout", "holdout.csv", "--rounds", "100", "--state", "kept"]
    with monkeypatch.context() as patch:
        rows = 0

        def step(self, piece, real=StreamStepper.step):
            nonlocal rows
            rows += len(piece.proba)
            if rows > 0.9 * n:
                raise Killed
            return real(self, piece)

        patch.setattr(StreamStepper, "step", step)
        with pytest.raises(Killed):
            adapt(*words)
    found = json.loads(done(*words, "--json").stdout)
    assert n - found["resumed_at_row"] <= 0.15 * n
    assert found["rows"] == n


def test_the_output_does_not_depend_on_how_long_saving_takes(tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / "s.parquet")
    words = ["s.parquet", "--rounds", "50", "--holdout", "holdout.csv", "-o"]
    done(*words, "whole.parquet")
    saves = 0

    def slow(self, path, real=StreamState.save):
        nonlocal saves
        saves += 1
        time.sleep(0.7)
        real(self, path)

    monkeypatch.setattr(StreamState, "save", slow)
    done(*words, "o.parquet", "--state", "kept")
    assert 2 <= saves <= 6
    assert Path("o.parquet").read_bytes() == Path("whole.parquet").read_bytes()


def test_killed_by_a_signal_at_random_moments(tmp_path):
    write(
        frame(300_000, seed=3)[0], tmp_path / "s.parquet"
    )  # enough to be killed in the middle, on a busy machine, too
    words = [sys.executable, "-m", "baserate", "adapt", "s.parquet", "--holdout", "holdout.csv"]
    words += ["--rounds", "50"]
    subprocess.run([*words, "-o", "whole.parquet"], check=True, capture_output=True)
    rng = np.random.default_rng(8)
    kills = 0
    for _ in range(3):
        with subprocess.Popen([*words, "-o", "o.parquet", "--state", "kept"], stdout=subprocess.DEVNULL) as process:
            before = Path("kept").stat().st_mtime_ns if Path("kept").exists() else 0
            while process.poll() is None and (not Path("kept").exists() or Path("kept").stat().st_mtime_ns == before):
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
        kills += process.returncode == -signal.SIGKILL
    assert kills
    subprocess.run([*words, "-o", "o.parquet", "--state", "kept"], check=True, capture_output=True)
    assert Path("o.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    assert Path("o.rounds.csv").read_bytes() == Path("whole.rounds.csv").read_bytes()


def _hears():
    """Where tests run in the background or by nohup, signals are ignored, and would be by what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "kept"), [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, False), (signal.SIGHUP, True)]
)
def test_ctrl_c_leaves_no_half_of_an_output(number, kept, tmp_path):
    write(frame(300_000)[0], tmp_path / "s.csv")
    there = {"holdout.csv", "s.csv"}
    words = [sys.executable, "-m", "baserate", "adapt", "s.csv", "-o", "o.csv", "--holdout", "holdout.csv"]
    # Small rounds take long: a busy machine must not be done with the file before the signal comes.
    words += ["--rounds", "10", "--state", "kept"] if kept else ["--rounds", "10"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=_hears) as process:
        # With a state, wait until something is in it.
        while not (Path("kept").exists() if kept else any(name.endswith(".part") for name in files())):
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(number)
        said = process.stderr.read()
    assert process.returncode == 130
    assert said.endswith("baserate: stopped.\n")
    assert "o.csv" not in files()
    if kept:
        assert "the same command goes on" in said
        result = subprocess.run([*words, "--json"], check=True, capture_output=True)
        assert json.loads(result.stdout)["resumed_at_row"] > 0
        assert set(files()) == there | {"o.csv", "o.rounds.csv", "kept"}
    else:
        assert "nothing was written" in said
        assert set(files()) == there


def running_in_the_midst(words):
    """A run of its own that is stopped while it works, after its state was saved."""
    process = subprocess.Popen([sys.executable, "-m", "baserate", "adapt", *words], stdout=subprocess.DEVNULL)
    while not Path("kept").exists():
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGSTOP)
    return process


def test_a_state_is_used_by_one_run_at_a_time(tmp_path):
    for name, n in (("s", 300_000), ("t", 300)):
        write(frame(n)[0], tmp_path / f"{name}.csv")
    options = ["--rounds", "10", "--state", "kept", "--holdout", "holdout.csv"]
    process = running_in_the_midst(["s.csv", "-o", "o.csv", *options])
    try:
        there = {name: Path(name).read_bytes() for name in files()}
        for words in (["s.csv", "-o", "o.csv"], ["t.csv", "-o", "p.csv"], ["t.csv", "-o", "p.csv", "--restart"]):
            result = adapt(*words, *options)
            assert result.exit_code == 2
            assert "--state kept is used by another run" in result.stderr
        assert {name: Path(name).read_bytes() for name in files()} == there
        process.send_signal(signal.SIGCONT)
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
    assert state.load("kept").rows == 300_000
    done("t.csv", "-o", "p.csv", *options)
    assert not [name for name in files() if name.startswith(".")]


def test_the_next_run_removes_what_a_killed_one_has_left(tmp_path, monkeypatch):
    for i in range(2):
        write(frame(N, seed=i)[0], tmp_path / f"s{i}.csv")
    (tmp_path / "elsewhere").mkdir()
    options = ["--rounds", "50", "--state", "kept", "--holdout", "holdout.csv"]
    with monkeypatch.context() as patch:
        Killer(patch, 1)  # before the state knows of it
        with pytest.raises(Killed):
            adapt("s0.csv", "-o", "elsewhere/o.csv", *options)
    assert [path.suffix for path in Path("elsewhere").iterdir()] == [".part", ".part"]
    assert ".kept.lock" in files()
    Path(".kept.0123abcd.tmp").touch()  # a state that was being written
    others = {".kept.mine.tmp", ".kept2.0123abcd.tmp"}
    for name in others:
        Path(name).touch()
    done("s1.csv", "-o", "elsewhere/p.csv", *options)
    assert sorted(path.name for path in Path("elsewhere").iterdir()) == ["p.csv", "p.rounds.csv"]
    assert {name for name in files() if name.startswith(".")} == others


def test_what_a_killed_run_has_left_elsewhere_is_told_of_and_not_touched(tmp_path, monkeypatch):
    """The file of a lock may have been written by anybody: it cannot have files removed."""
    write(frame(N)[0], tmp_path / "s.csv")
    (tmp_path / "elsewhere").mkdir()
    mine = tmp_path / "elsewhere" / ".o.csv.0123abcd.part"
    names = [str(mine), "elsewhere/../.o.csv.0123abcd.part", "/etc/passwd", "\0.part", str(tmp_path / ".mine.part"), 5]
    for name in (".mine.part", ".o.csv.0123abcd.part"):
        Path(name).touch()
    mine.touch()
    Path(".kept.lock").write_text(json.dumps(names))
    result = done("s.csv", "-o", "o.csv", "--state", "kept", "--holdout", "holdout.csv")
    assert f"has left {mine}; remove it" in result.stderr
    assert mine.exists()
    assert [name for name in files() if name.startswith(".")] == [".mine.part", ".o.csv.0123abcd.part"]


def crafted(change, words, monkeypatch, *, finished=False):
    """Save a state as one that somebody has changed: of a file that is finished, or in the midst of it."""
    if finished:
        done(*words)
    else:
        killed_in_the_midst(words, monkeypatch)
    held = state.load("kept")
    held.file = change(held.file)
    held.save(Path("kept"))
    return held


@pytest.mark.parametrize("finished", [False, True])
def test_a_state_cannot_point_at_files_elsewhere(finished, tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / "s.csv")
    write(frame(100, seed=3)[0], tmp_path / "t.csv")
    options = ["--holdout", "holdout.csv", "--rounds", "50", "--state", "kept"]
    (tmp_path / "elsewhere").mkdir()
    target, part = (tmp_path / "elsewhere" / name for name in ("mine.csv", ".mine.csv.0123abcd.part"))
    target.write_text("mine")
    part.write_text("whatever" * 10_000)
    paths = {"-o": str(target), "--rounds-file": str(tmp_path / "elsewhere" / "other.csv")}
    change = lambda file: file._replace(token="0123abcd", options=file.options | paths)  # noqa: E731
    crafted(change, ["s.csv", "-o", "o.csv", *options], monkeypatch, finished=finished)
    words = ["t.csv", "-o", "p.csv", *options]
    result = adapt(*words, *([] if finished else ["--restart"]))
    assert result.exit_code == (2 if finished else 0)
    assert str(target) in result.stderr or f"has left {part}; remove it" in result.stderr
    assert target.read_text() == "mine"
    assert part.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"token": "../../x"},
        {"token": ""},
        {"options": {"-o": "relative.csv"}},
        {"options": {"-o": "/a/../b.csv"}},
        {"options": {"-o": "/"}},
        {"options": {"-o": "/a\0b"}},
        {"options": {"--key": "shop"}},
        {"options": {"more": 1}},
        {"position": ReadPosition(10**9, 0, 0)},
        {"position": ReadPosition(50, 0, 60)},
        {"piece_rows": 1 << 40},
        {"ids": None},
        {"out": None},
        {"finished": True},
        {"fingerprint": "../x"},
        {"read": ReadMark(10, "zz")},
    ],
    ids=str,
)
def test_a_state_of_a_file_that_cannot_be(change, tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / "s.csv")
    words = ["s.csv", "-o", "o.csv", "--holdout", "holdout.csv", "--rounds", "50", "--state", "kept", "--id", "id"]
    other = dict(change)

    def changed(file):
        if "options" in other:
            other["options"] = file.options | other["options"]
        return file._replace(**other)

    crafted(changed, words, monkeypatch)
    Path(".kept.lock").unlink()  # the killed run's, which a run takes and removes
    before = files(), Path("kept").read_bytes()
    result = adapt(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("baserate: kept ")
    assert (files(), Path("kept").read_bytes()) == before


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_link_in_the_place_of_a_part_is_not_followed(form, tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / f"s.{form}")
    words = [f"s.{form}", "-o", f"o.{form}", "--holdout", "holdout.csv", "--rounds", "50", "--state", "kept"]
    killed_in_the_midst(words, monkeypatch)
    part = next(Path().glob(f".o.{form}.*.part"))
    Path("mine").write_bytes(b"mine" * 10**6)
    part.unlink()
    part.symlink_to("mine")
    done(*words)
    assert Path("mine").read_bytes() == b"mine" * 10**6
    assert not Path(f"o.{form}").is_symlink()


def test_a_mark_that_is_no_end_of_a_parquet_file(tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / "s.parquet")
    words = ["s.parquet", "-o", "o.parquet", "--holdout", "holdout.csv", "--rounds", "50", "--state", "kept"]
    crafted(lambda file: file._replace(out=file.out._replace(footer=b"\x4c" * 50)), words, monkeypatch)
    result = adapt(*words)
    assert result.exit_code == 2
    assert "does not know the end of the output" in result.stderr


def test_a_new_file_continues_the_stream(tmp_path):
    table, _ = frame(900)
    write(table, tmp_path / "all.csv")
    done("all.csv", "-o", "all.out.csv", "--holdout", "holdout.csv", "--rounds", "100")
    for i in range(3):
        write(table.slice(300 * i, 300), tmp_path / f"s{i}.csv")
        more = ["--holdout", "holdout.csv"] if i != 1 else []  # which the state has
        done(f"s{i}.csv", "-o", f"o{i}.csv", "--rounds", "100", "--state", "kept", *more)
    parts = pl.concat([pl.read_csv(f"o{i}.csv") for i in range(3)])
    assert_frame_equal(parts, pl.read_csv("all.out.csv"))
    rounds = pl.concat([pl.read_csv(f"o{i}.rounds.csv") for i in range(3)]).drop("first_row")
    assert_frame_equal(rounds, pl.read_csv("all.out.rounds.csv").drop("first_row"))
    found = json.loads(CliRunner().invoke(app, ["inspect", "kept", "--json"]).stdout)
    assert (found["files"], found["rows"], found["rounds"]) == (3, 900, 9)


def test_the_night_between_two_files_goes_by(tmp_path):
    times = np.concatenate([np.arange(0, 7200, 10), np.arange(30000, 40000, 10)])
    table, _ = frame(len(times), at=times)
    for name, part in (("all", table), ("monday", table[:720]), ("tuesday", table[720:])):
        write(part, tmp_path / f"{name}.csv")
    clock = ["--time", "at", "--rounds", "10min"]
    done("all.csv", "-o", "all.out.csv", "--holdout", "holdout.csv", *clock)
    done("monday.csv", "-o", "m.csv", "--holdout", "holdout.csv", "--state", "s", *clock)
    done("tuesday.csv", "-o", "t.csv", "--state", "s", *clock)
    whole, night = pl.read_csv("all.out.csv"), pl.read_csv("t.csv")
    assert_frame_equal(whole[720:], night)
    assert night["adapted_round"][0] == 51  # 12 windows on Monday, 38 in the night


def late_files(tmp_path, form="csv"):
    table, y = frame(3000)
    for name, part in (("monday", table[:2000]), ("tuesday", table[2000:])):
        write(part, tmp_path / f"{name}.{form}")
    told = np.arange(1500, 2000)
    label = pl.Series([CLASSES[c] if i % 3 else None for i, c in enumerate(y[told])])
    write(pl.DataFrame({"id": [*told, 7], "label": [*label, "eel"]}), tmp_path / "late.csv")  # row 7 waits no more
    return table, y, told


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_labels_that_come_later_find_their_rows(form, tmp_path):
    table, y, told = late_files(tmp_path, form)
    waiting = ["--state", "s", "--id", "id", "--wait", "800", "--rounds", "100"]
    done(f"monday.{form}", "-o", f"m.{form}", "--holdout", "holdout.csv", *waiting)
    result = done(f"tuesday.{form}", "-o", f"t.{form}", "--late", "late.csv", "--json", *waiting)
    said = json.loads(result.stdout)
    assert (said["late_labels"], said["missed_labels"]) == (333, 1)
    held = pl.read_csv("holdout.csv")
    adapter = baserate.RegressAndReweight(max_waiting=800)
    adapter.fit(held.select(P).to_numpy(), [CLASSES.index(name) for name in held["label"]])
    proba = table.select(P).to_numpy()
    for i in range(0, 3000, 100):
        if i == 2000:
            adapter.update_labels([str(j) for j in told], np.where(np.arange(500) % 3 > 0, y[told], -1))
        step = adapter.step(proba[i : i + 100], ids=[str(j) for j in range(i, i + 100)])
    found = read(tmp_path / f"t.{form}").select(f"adapted_{p}" for p in P).to_numpy()
    np.testing.assert_allclose(found[-100:], step.proba, rtol=1e-9)
    assert said["waiting"] == adapter.waiting_


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--late", "late.csv"], "--id"),
        (["--late", "late.csv", "--id", "id"], "--state"),
        (["--wait", "10"], "--id"),
        (["--wait", "10", "--id", "id", "--key", "p_cat"], "--key"),
        (["--wait", "-1", "--id", "id"], "--wait"),
    ],
)
def test_what_late_labels_need(arguments, words, tmp_path):
    late_files(tmp_path)
    result = adapt("monday.csv", "-o", "o.csv", "--holdout", "holdout.csv", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not Path("o.csv").exists()


def test_late_labels_that_cannot_be_used_leave_the_state_as_it_was(tmp_path):
    late_files(tmp_path)
    waiting = ["--state", "s", "--id", "id", "--wait", "800"]
    done("monday.csv", "-o", "m.csv", "--holdout", "holdout.csv", *waiting)
    before = Path("s").read_bytes()
    for content, words in [
        ("id,label\n1500,fish\n", "row 1, column label"),
        ("id,truth\n1500,eel\n", "no such column"),
        ("id,label\n,eel\n", "late.csv, row 1, column id"),
        ("id,label\n1500,eel\n1501,\n1500,dog\n", "late.csv, row 3, column id: the id '1500' stands in row 1 already"),
    ]:
        Path("late.csv").write_text(content)
        result = adapt("tuesday.csv", "-o", "t.csv", "--late", "late.csv", *waiting)
        assert result.exit_code == 2
        assert words in result.stderr
        assert Path("s").read_bytes() == before
        assert not Path("t.csv").exists()
    result = adapt("tuesday.csv", "-o", "t.csv", *waiting[:-1], "9")
    assert result.exit_code == 2
    assert "was begun with 800" in result.stderr


@pytest.mark.parametrize("again", [1701, 2001])  # of the file before, and of this one
def test_an_id_that_waits_must_not_come_again(again, tmp_path):
    table, _, _ = late_files(tmp_path)
    waiting = ["--state", "s", "--id", "id", "--wait", "800", "--rounds", "100"]
    done("monday.csv", "-o", "m.csv", "--holdout", "holdout.csv", *waiting)
    ids = table["id"][2000:].to_list()
    ids[250] = again
    write(table[2000:].with_columns(id=pl.Series(ids)), tmp_path / "tuesday.csv")
    result = adapt("tuesday.csv", "-o", "t.csv", *waiting)
    assert result.exit_code == 2
    assert f"tuesday.csv, row 251, column id: the id '{again}' came before" in result.stderr
    ids[250] = ids[249]
    write(table[2000:].with_columns(id=pl.Series(ids)), tmp_path / "tuesday.csv")
    assert (
        "tuesday.csv, row 251, column id: the id '2249' came before"
        in adapt("tuesday.csv", "-o", "t.csv", *waiting).stderr
    )


@pytest.mark.parametrize("option", ["--holdout", "--late"])
def test_a_file_that_is_not_there(option, tmp_path):
    late_files(tmp_path)
    waiting = ["--state", "s", "--id", "id", "--wait", "800"]
    done("monday.csv", "-o", "m.csv", "--holdout", "holdout.csv", *waiting)
    result = adapt("tuesday.csv", "-o", "t.csv", option, "none.csv", *waiting)
    assert result.exit_code == 2
    assert "none.csv: there is no such file" in result.stderr


def test_standard_input_only_continues(tmp_path):
    table, _ = frame(400)
    text = table.slice(0, 200).write_csv()
    words = ["-", "-o", "-", "--rounds", "50", "--state", "kept", "--holdout", "holdout.csv"]
    first = done(*words, data=text)
    second = done(*words, data=table.slice(200).write_csv())
    assert state.load("kept").rows == 400
    write(table, tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv", "--rounds", "50", "--holdout", "holdout.csv")
    whole = Path("o.csv").read_text().splitlines()
    assert first.stdout.splitlines() + second.stdout.splitlines()[1:] == whole
    done(*words, data=text)  # the same bytes are a new stretch of the stream
    assert state.load("kept").rows == 600


def test_a_file_that_is_done_is_not_counted_twice(tmp_path):
    table, _ = frame(300)
    write(table, tmp_path / "s.csv")
    words = ["s.csv", "-o", "o.csv", "--rounds", "50", "--state", "kept", "--holdout", "holdout.csv"]
    done(*words)
    kept, out = Path("kept").read_bytes(), Path("o.csv").read_bytes()
    result = done(*words)
    assert "nothing was done" in result.stdout
    assert Path("kept").read_bytes() == kept
    Path("o.csv").unlink()
    Path("s.csv").rename("moved.csv")  # known again by what is in it
    result = done("moved.csv", *words[1:])
    assert "nothing was done" not in result.stdout
    assert Path("o.csv").read_bytes() == out
    assert state.load("kept").rows == 300


def changed_between_samples(path):
    """Other content of the same length, which samples of the file do not show."""
    lines = path.read_bytes().split(b"\n")
    place = next(i for i in range(len(lines)) if sum(map(len, lines[:i])) + i > 70_000)
    lines[place], lines[place + 1] = lines[place + 1], lines[place]
    path.write_bytes(b"\n".join(lines))


def long_file(path, n=100_000):
    write(frame(n)[0], path)
    assert path.stat().st_size > 5 << 20
    return path


@pytest.mark.parametrize("limit", ["_MANIFEST", "_NESTED"])
def test_a_state_that_became_large_is_taken_if_that_is_asked_for(limit, tmp_path, monkeypatch):
    """The next run must be able to read a state that a run has kept."""
    monkeypatch.setattr(decoding, limit, 50)
    for name, n in (("s", 200), ("t", 100)):
        write(frame(n)[0], tmp_path / f"{name}.csv")
    options = ["--holdout", "holdout.csv", "--state", "kept"]
    done("s.csv", "-o", "o.csv", *options)
    refused = adapt("t.csv", "-o", "p.csv", *options)
    assert refused.exit_code == 2
    assert refused.stderr.count("\n") == 1
    allowed = re.search(r"\(in a command: (--max-bytes \d+)\)\.$", refused.stderr.strip())[1].split()
    inspected = [CliRunner().invoke(app, ["inspect", "kept", *more]).exit_code for more in ([], allowed)]
    assert inspected == [2, 0]
    done("t.csv", "-o", "p.csv", *options, *allowed)
    assert state.load("kept", max_bytes=10**9).rows == 300


def test_a_long_file_with_some_other_lines_is_another_file(tmp_path):
    options = ["--holdout", "holdout.csv", "--state", "kept", "--rounds", "1000"]
    path = long_file(tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv", *options)
    before, samples = Path("o.csv").read_bytes(), samples_of(path)
    changed_between_samples(path)
    assert samples_of(path) == samples
    result = done("s.csv", "-o", "o.csv", *options, "--json")
    assert not json.loads(result.stdout)["nothing_to_do"]
    assert Path("o.csv").read_bytes() != before
    held = state.load("kept")
    assert (held.files, held.rows) == (2, 200_000)
    assert json.loads(done("s.csv", "-o", "o.csv", *options, "--json").stdout)["nothing_to_do"]
    write(frame(100)[0], tmp_path / "t.csv")
    done("t.csv", "-o", "p.csv", *options)
    for again in range(2):  # both contents are known after others, too
        assert json.loads(done("s.csv", "-o", "o.csv", *options, "--json").stdout)["earlier_file"], again
        long_file(path)
    assert state.load("kept").files == 3


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_an_edit_between_a_kill_and_the_next_run_is_noticed(form, tmp_path, monkeypatch):
    words = [f"s.{form}", "-o", f"o.{form}", "--holdout", "holdout.csv", "--rounds", "1000", "--state", "kept"]
    path = write(frame(200_000)[0], tmp_path / f"s.{form}")
    killed_in_the_midst(words, monkeypatch)
    read = state.load("kept").file.read
    assert 0 < read.size <= path.stat().st_size
    data = path.read_bytes()
    place = next(i for i in range(70_000, read.size) if data[i : i + 1].isdigit() and data[i : i + 1] != b"1")
    samples, kept = samples_of(path), Path("kept").read_bytes()
    path.write_bytes(data[:place] + b"1" + data[place + 1 :])
    assert samples_of(path) == samples
    result = adapt(*words)
    assert result.exit_code == 2
    assert "rows before that have changed since" in result.stderr
    assert Path("kept").read_bytes() == kept
    path.write_bytes(data)
    done(*words)
    assert state.load("kept").rows == 200_000


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_file_that_grows_while_it_is_read_is_refused(form, earlier, tmp_path, monkeypatch):
    words = ["--holdout", "holdout.csv", "--rounds", "50", "--state", "kept"]
    if earlier:
        write(frame(200, seed=5)[0], tmp_path / "before.csv")
        done("before.csv", "-o", "before.out.csv", *words)
    path = write(frame(N)[0], tmp_path / f"s.{form}")
    before, kept = files(), Path("kept").read_bytes() if earlier else None

    def grow(self, *arguments, real=StreamStepper.step):
        with path.open("ab") as file:
            file.write(b"\n")
        return real(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(StreamStepper, "step", grow)
        result = adapt(path.name, "-o", f"o.{form}", *words)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "has changed while it was read" in result.stderr or form == "parquet"  # which polars may find damaged
    assert files() == before
    assert (Path("kept").read_bytes() if earlier else None) == kept


def test_another_file_waits_until_the_first_is_finished(tmp_path, monkeypatch):
    for i in range(2):
        write(frame(N, seed=i)[0], tmp_path / f"s{i}.csv")
    words = [
        ["--rounds", "50", "--state", "kept", "--holdout", "holdout.csv", f"s{i}.csv", "-o", f"o{i}.csv"]
        for i in (0, 1)
    ]
    killed_in_the_midst(words[0], monkeypatch)
    result = adapt(*words[1])
    assert result.exit_code == 2
    assert "in the midst of s0.csv" in result.stderr
    assert "--restart" in result.stderr
    shown = CliRunner().invoke(app, ["inspect", "kept"]).stdout
    assert "Unfinished file: s0.csv" in " ".join(shown.split())
    done(*words[1], "--restart")
    assert state.load("kept").rows == N
    assert files() == ["holdout.csv", "kept", "o1.csv", "o1.rounds.csv", "s0.csv", "s1.csv"]


@pytest.mark.parametrize("change", ["options", "parts"])
def test_what_cannot_be_resumed_is_done_again_from_its_start(change, tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / "s.csv")
    words = ["s.csv", "-o", "o.csv", "--state", "kept", "--holdout", "holdout.csv", "--rounds"]
    killed_in_the_midst([*words, "50"], monkeypatch)
    n = "100" if change == "options" else "50"
    if change == "parts":
        next(Path().glob(".o.csv.*.part")).unlink()
    done(*words, n, *(["--restart"] if change == "options" else []))
    assert not [name for name in files() if name.startswith(".")]
    assert state.load("kept").rows == N
    done("s.csv", "-o", "fresh.csv", "--holdout", "holdout.csv", "--rounds", n)
    assert Path("o.csv").read_bytes() == Path("fresh.csv").read_bytes()


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_file_that_cannot_be_used_is_taken_back(earlier, resumed, tmp_path, monkeypatch):
    words = ["-o", "o.csv", "--rounds", "50", "--state", "kept", "--holdout", "holdout.csv"]
    if earlier:
        write(frame(500, seed=9)[0], tmp_path / "first.csv")
        done("first.csv", *words)
        Path("o.csv").unlink()
    kept = Path("kept").read_bytes() if earlier else None
    there = files()
    table, _ = frame(N)
    broken = pl.when(pl.col("id") == N - 5).then(2.0).otherwise("p_eel").alias("p_eel")
    write(table.with_columns(broken), tmp_path / "s.csv")
    if resumed:
        killed_in_the_midst(["s.csv", *words], monkeypatch)
    result = adapt("s.csv", *words)
    assert result.exit_code == 2
    assert f"s.csv, row {N - 4:,}" in result.stderr
    assert files() == sorted([*there, "s.csv"])
    if earlier:
        assert Path("kept").read_bytes() == kept
    write(table, tmp_path / "s.csv")
    done("s.csv", *words)
    assert state.load("kept").rows == N + 500 * earlier


def test_an_id_that_came_twice_is_found_where_no_rows_are_left(tmp_path, monkeypatch):
    n = 9600  # so that the last rows are a piece of the usual size, after which the state is saved
    table, _ = frame(n)
    write(table.with_columns(id=pl.Series([*range(n - 1), 7])), tmp_path / "s.csv")
    words = ["s.csv", "-o", "o.csv", "--state", "kept", "--holdout", "holdout.csv", "--rounds", "50", "--id", "id"]
    there = files()

    def killed(self):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(UniqueIds, "check", killed)
        with pytest.raises(Killed):
            adapt(*words)
    assert state.load("kept").file.position.row == n
    result = adapt(*words)
    assert result.exit_code == 2
    assert f"row {n:,}, column id: the id stands in row 8 already" in result.stderr
    assert files() == there


def test_a_full_disk_keeps_what_is_done(tmp_path, monkeypatch):
    write(frame(N)[0], tmp_path / "s.csv")
    words = ["s.csv", "-o", "o.csv", "--rounds", "50", "--state", "kept", "--holdout", "holdout.csv"]
    appended = 0

    def full(self, table, real=TextSink.append):
        nonlocal appended
        appended += 1
        if appended == 40:
            raise OSError(28, "No space left on device")
        real(self, table)

    with monkeypatch.context() as patch:
        patch.setattr(TextSink, "append", full)
        result = adapt(*words)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "the same command goes on" in result.stderr
    assert "o.csv" not in files()
    assert json.loads(done(*words, "--json").stdout)["resumed_at_row"] > 0
    done("s.csv", "-o", "whole.csv", "--holdout", "holdout.csv", "--rounds", "50")
    assert Path("o.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_another_holdout_is_taken_over_only_if_asked_for(tmp_path):
    for i in range(2):
        write(frame(300, seed=i)[0], tmp_path / f"s{i}.csv")
    write(holdout(seed=5), tmp_path / "new.csv")
    words = ["--rounds", "50", "--state", "kept"]
    done("s0.csv", "-o", "o0.csv", "--holdout", "holdout.csv", *words)
    result = adapt("s1.csv", "-o", "o1.csv", "--holdout", "new.csv", *words)
    assert result.exit_code == 2
    assert "--refit" in result.stderr
    prior = state.load("kept").adapter.prior_
    done("s1.csv", "-o", "o1.csv", "--holdout", "new.csv", "--refit", *words)
    first = pl.read_csv("o1.rounds.csv").select(f"prior_{name}" for name in CLASSES).row(0)
    np.testing.assert_allclose(first, prior, atol=1e-9)
    assert json.loads(done("s1.csv", "-o", "o1.csv", *words, "--json").stdout)["nothing_to_do"]


def test_a_state_has_keys_or_none(tmp_path):
    table, _ = frame(300, shop=["north"] * 300)
    write(table, tmp_path / "s.csv")
    write(table.slice(0, 100), tmp_path / "t.csv")
    done("s.csv", "-o", "o.csv", "--state", "kept", "--holdout", "holdout.csv", "--key", "shop")
    result = adapt("t.csv", "-o", "p.csv", "--state", "kept")
    assert result.exit_code == 2
    assert "--key" in result.stderr
    assert "p.csv" not in files()


@pytest.mark.parametrize("forms", [("csv", "parquet"), ("parquet", "jsonl")])
def test_a_key_is_the_same_in_every_format(forms, tmp_path):
    for i, form in enumerate(forms):
        write(frame(300, seed=i, shop=[1, 7] * 150)[0], tmp_path / f"s.{form}")
    done(f"s.{forms[0]}", "-o", "o.csv", "--state", "kept", "--holdout", "holdout.csv", "--key", "shop")
    said = done(f"s.{forms[1]}", "-o", "p.csv", "--state", "kept", "--key", "shop", "--json")
    assert json.loads(said.stdout)["keys"] == 2


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04"])
def test_a_file_that_is_no_state(content, tmp_path):
    write(frame(50)[0], tmp_path / "s.csv")
    Path("kept").write_bytes(content)
    for words in (["adapt", "s.csv", "-o", "o.csv", "--state", "kept"], ["inspect", "kept"]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2
        assert "kept is not a baserate state file" in " ".join(result.stderr.split())
    assert Path("kept").read_bytes() == content
