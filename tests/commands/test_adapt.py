"""A stream in a file, adapted: what comes out, rounds, keys, pipes, and what is refused."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import baserate
from baserate.cli import app, main
from baserate.files.formats._sinks import TextSink

from ..files.streams import CLASSES, P, frame, holdout, read, write
from .adapting import adapt, done

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")
FORMATS = ["csv", "tsv", "parquet", "jsonl"]


def command(*arguments, data=None):
    return subprocess.run(
        [sys.executable, "-m", "baserate", *map(str, arguments)], input=data, capture_output=True, check=False
    )


def by_hand(table, n, labels=None):
    """What the adapter itself makes of a table, in rounds of n rows."""
    held = read_holdout()
    adapter = baserate.RegressAndReweight().fit(*held)
    proba = table.select(P).to_numpy()
    steps = [
        adapter.step(proba[i : i + n], None if labels is None else labels[i : i + n]) for i in range(0, len(proba), n)
    ]
    return np.concatenate([step.proba for step in steps]), np.array([step.prior for step in steps]), adapter


def read_holdout():
    table = pl.read_csv("holdout.csv")
    return table.select(P).to_numpy(), np.array([CLASSES.index(name) for name in table["label"]])


@pytest.mark.parametrize("form", FORMATS)
def test_it_does_what_the_adapter_does(form, tmp_path):
    table, _ = frame(1100)
    write(table, tmp_path / f"stream.{form}")
    done(f"stream.{form}", "-o", f"out.{form}", "--rounds", "100")
    found = read(tmp_path / f"out.{form}")
    adapted, priors, adapter = by_hand(read(tmp_path / f"stream.{form}"), 100)
    assert_frame_equal(found.select(table.columns), table)
    np.testing.assert_allclose(found.select(f"adapted_{name}" for name in P).to_numpy(), adapted, rtol=1e-12)
    assert found["adapted_label"].to_list() == [CLASSES[c] for c in adapted.argmax(axis=1)]
    assert found["adapted_round"].to_list() == [1 + i // 100 for i in range(1100)]
    rounds = pl.read_csv("out.rounds.csv")
    np.testing.assert_allclose(rounds.select(f"prior_{name}" for name in CLASSES).to_numpy(), priors, rtol=1e-12)
    assert rounds["round"].to_list() == list(range(1, 12))
    assert rounds["first_row"].to_list() == list(range(1, 1101, 100))
    assert rounds["rows"].to_list() == [100] * 11
    low, high = (rounds.select(f"{what}_{name}" for name in CLASSES).to_numpy() for what in ("low", "high"))
    assert (low <= priors + 1e-9).all()
    assert (priors <= high + 1e-9).all()
    assert adapter.prior_[2] > 0.5


def test_the_output_may_have_another_format(tmp_path):
    table, _ = frame(300)
    write(table, tmp_path / "s.jsonl")
    done("s.jsonl", "-o", "a.parquet")
    done("s.jsonl", "-o", "b.csv")
    assert_frame_equal(pl.read_parquet("a.parquet"), pl.read_csv("b.csv"))


def test_text_that_is_not_needed_stays_as_it_is(tmp_path):
    table, _ = frame(50)
    odd = ["007", "1.50", "", 'a "quoted", word', "two\nlines", "ä"] * 9
    table = table.with_columns(note=pl.Series(odd[:50])).drop("id")
    write(table, tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv", "--rounds", "7")
    assert pl.read_csv("o.csv", infer_schema=False)["note"].to_list() == odd[:50]


def test_a_block_may_end_within_quotes(tmp_path, monkeypatch):
    monkeypatch.setattr("baserate.files.formats._lines.blocks.__kwdefaults__", {"size": 97})
    table, _ = frame(40)
    table = table.with_columns(note=pl.Series(["a\nb", 'c "d"\n\ne', ""] * 13 + ["f"]))
    write(table, tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv")
    assert_frame_equal(pl.read_csv("o.csv").select(table.columns), table)


def test_windows_line_ends_and_a_byte_order_mark(tmp_path):
    table, _ = frame(30)
    text = table.write_csv()
    (tmp_path / "s.csv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    done("s.csv", "-o", "o.csv")
    assert_frame_equal(pl.read_csv("o.csv").select(table.columns), table)


def test_columns_may_be_named_and_are_matched_by_name(tmp_path):
    table, _ = frame(200)
    other = {"p_cat": "Katze", "p_dog": "Hund", "p_eel": "Aal"}
    write(table.select(reversed(table.columns)).rename(other), tmp_path / "s.csv")
    write(holdout().rename(other).with_columns(label=pl.Series(read_holdout()[1])), tmp_path / "h.parquet")
    done("s.csv", "-o", "o.csv", "--columns", "Katze,Hund,Aal", "--rounds", "20", holdout="h.parquet")
    found = pl.read_csv("o.csv")
    np.testing.assert_allclose(
        found.select("adapted_Katze", "adapted_Hund", "adapted_Aal").to_numpy(), by_hand(table, 20)[0], rtol=1e-9
    )
    assert set(found["adapted_label"]) <= set(other.values())


def test_labels_are_used_when_their_row_is_taken_in(tmp_path):
    table, y = frame(400)
    told = np.where(np.arange(400) % 3 == 0, y, -1)
    names = pl.Series([CLASSES[c] if c >= 0 else None for c in told])
    for form in FORMATS:
        write(table.with_columns(truth=names), tmp_path / f"s.{form}")
        result = done(f"s.{form}", "-o", f"o.{form}", "--labels", "truth", "--rounds", "50", "--json")
        adapted, _, _ = by_hand(table, 50, told)
        np.testing.assert_allclose(
            read(tmp_path / f"o.{form}").select(f"adapted_{name}" for name in P).to_numpy(), adapted, rtol=1e-9
        )
        summary = json.loads(result.stdout)
        known = told >= 0
        assert summary["labelled"] == known.sum()
        assert summary["adapted_right"] == pytest.approx((adapted.argmax(axis=1) == y)[known].mean())
        assert summary["model_right"] == pytest.approx((table.select(P).to_numpy().argmax(axis=1) == y)[known].mean())


@pytest.mark.parametrize("none", [None, "nan", "-1"])
@pytest.mark.parametrize("number", ["{}", "{}.0"])
def test_labels_may_be_numbers_of_columns(number, none, tmp_path):
    table, y = frame(300)
    texts = [number.format(c) if i % 2 else none for i, c in enumerate(y)]
    write(table.with_columns(truth=pl.Series(texts)), tmp_path / "s.csv")
    held = holdout().with_columns(label=pl.Series([number.format(c) for c in read_holdout()[1]]))
    write(held, tmp_path / "h.csv")
    done("s.csv", "-o", "o.csv", "--labels", "truth", "--rounds", "50", holdout="h.csv")
    told = np.where(np.arange(300) % 2, y, -1)
    found = pl.read_csv("o.csv").select(f"adapted_{name}" for name in P).to_numpy()
    np.testing.assert_allclose(found, by_hand(table, 50, told)[0], rtol=1e-9)


@pytest.mark.parametrize("keys", [["north", "south", "north"], [7, 8, 7]])
@pytest.mark.parametrize("form", FORMATS)
def test_a_tracker_for_each_key(form, keys, tmp_path):
    table, _ = frame(300)
    key = pl.Series((keys * 100)[:300])
    write(table.with_columns(shop=key), tmp_path / f"s.{form}")
    done(f"s.{form}", "-o", f"o.{form}", "--key", "shop", "--rounds", "60", "--wide")
    found = read(tmp_path / f"o.{form}")
    bank = baserate.Bank(baserate.RegressAndReweight().fit(*read_holdout()))
    names = key.cast(pl.String).to_list() if form in ("csv", "tsv") else key.to_list()
    proba = table.select(P).to_numpy()
    for i in range(0, 300, 60):
        before = dict(zip(set(names), bank.prior(list(set(names))), strict=True))
        step = bank.step(names[i : i + 60], proba[i : i + 60])
        part = found.slice(i, 60)
        np.testing.assert_allclose(part.select(f"adapted_{p}" for p in P).to_numpy(), step.proba, rtol=1e-9)
        np.testing.assert_allclose(
            part.select(f"adapted_prior_{c}" for c in CLASSES).to_numpy(), [before[k] for k in names[i : i + 60]]
        )
    rounds = pl.read_csv("o.rounds.csv")
    assert len(rounds) == 10
    assert rounds["rows"].to_list() == [40, 20] * 5
    assert rounds["key"].to_list() == keys[:2] * 5


def hours(*counts):
    """So many time stamps within each hour."""
    return [f"2026-03-01T{hour:02d}:{minute % 60:02d}:00" for hour, n in enumerate(counts) for minute in range(n)]


@pytest.mark.parametrize("kind", ["text", "datetime", "seconds", "date"])
def test_rounds_by_time(kind, tmp_path):
    times = hours(5, 0, 17, 1, 40)
    table, _ = frame(len(times))
    column = pl.Series(times)
    window = "1h"
    if kind != "text":
        column = column.str.to_datetime(time_unit="us")
    if kind == "seconds":
        column = column.dt.epoch("s")
    if kind == "date":
        window = "1d"
        column = pl.Series(np.repeat(np.array(["2026-03-01", "2026-03-02", "2026-03-09"], "M8[D]"), [5, 17, 41]))
    write(table.with_columns(at=column), tmp_path / "s.parquet")
    done("s.parquet", "-o", "o.parquet", "--time", "at", "--rounds", window)
    rounds = pl.read_csv("o.rounds.csv")
    assert rounds["rows"].to_list() == ([5, 17, 41] if kind == "date" else [5, 17, 1, 40])
    assert len(rounds["time"].unique()) == len(rounds)


def test_a_long_window_is_several_rounds(tmp_path, monkeypatch):
    monkeypatch.setattr("baserate.files.rounds.LONGEST", 16)
    times = hours(20, 5, 40)
    table, _ = frame(len(times), at=times)
    write(table, tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv", "--time", "at", "--rounds", "1h")
    assert pl.read_csv("o.rounds.csv")["rows"].to_list() == [16, 4, 5, 16, 16, 8]


def test_an_empty_window_is_a_round_in_which_nothing_came(tmp_path):
    times = hours(30, 30, 0, 0, 0, 30, 30)
    table, _ = frame(len(times), at=times)
    write(table, tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv", "--time", "at", "--rounds", "1h", "--rounds-file", "r.csv")
    adapter = baserate.RegressAndReweight().fit(*read_holdout())
    proba = table.select(P).to_numpy()
    for first in (0, 30, 60, 90):
        if first == 60:
            adapter.idle(3)
            band = adapter.prior_interval()
        step = adapter.step(proba[first : first + 30])
    found, rounds = pl.read_csv("o.csv"), pl.read_csv("r.csv")
    np.testing.assert_allclose(found.select(f"adapted_{p}" for p in P).to_numpy()[90:], step.proba, rtol=1e-12)
    assert rounds["round"].to_list() == [1, 2, 6, 7]
    assert found["adapted_round"].unique(maintain_order=True).to_list() == [1, 2, 6, 7]
    np.testing.assert_allclose(rounds.select("low_eel", "high_eel").row(2), band[2], rtol=1e-12)


def test_each_key_has_its_own_empty_windows(tmp_path):
    """North has rows in windows 0, 1, 5 and 6; south in 0, 3, 5; west comes first in 5."""
    shops = {0: "nnsnss", 1: "nn", 3: "sss", 5: "nswnsw", 6: "n"}
    names = {"n": "north", "s": "south", "w": "west"}
    times = [3600 * hour + i for hour, word in shops.items() for i in range(len(word))]
    keys = [names[letter] for word in shops.values() for letter in word]
    table, _ = frame(len(times), at=times, shop=keys)
    write(table, tmp_path / "s.csv")
    clock = ["--time", "at", "--rounds", "1h", "--key", "shop"]
    done("s.csv", "-o", "o.csv", *clock)
    proba = table.select(P).to_numpy()
    alone = {key: baserate.RegressAndReweight(gate=False).fit(*read_holdout()) for key in names.values()}
    expected, last, first = np.empty_like(proba), {}, 0
    for hour, word in shops.items():
        rows = np.arange(first, first + len(word))
        for letter in dict.fromkeys(word):
            key = names[letter]
            mine = rows[[names[c] == key for c in word]]
            if hour - last.get(key, hour) - 1 > 0:
                alone[key].idle(hour - last[key] - 1)
            expected[mine] = alone[key].step(proba[mine]).proba
            last[key] = hour
        first += len(word)
    found = pl.read_csv("o.csv").select(f"adapted_{p}" for p in P).to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # The same in two files, cut within the gaps of both.
    cut = times.index(3600 * 5)
    write(table[:cut], tmp_path / "a.csv")
    write(table[cut:], tmp_path / "b.csv")
    done("a.csv", "-o", "a.out.csv", "--state", "kept", *clock)
    done("b.csv", "-o", "b.out.csv", "--state", "kept", *clock)
    assert (
        pl.read_csv("b.out.csv")
        .select(f"adapted_{p}" for p in P)
        .equals(pl.read_csv("o.csv")[cut:].select(f"adapted_{p}" for p in P))
    )


def test_rows_of_a_window_need_no_order_but_windows_do(tmp_path):
    table, _ = frame(4)
    write(table.with_columns(at=pl.Series([50, 20, 70, 65])), tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv", "--time", "at", "--rounds", "1m")
    write(table.with_columns(at=pl.Series([50, 70, 20, 65])), tmp_path / "s.csv")
    result = adapt("s.csv", "-o", "o2.csv", "--time", "at", "--rounds", "1min")
    assert result.exit_code == 2
    assert "s.csv, row 3, column at" in result.stderr
    assert "sort" in result.stderr


def test_only_and_wide(tmp_path):
    table, _ = frame(250, note=["x"] * 250)
    write(table, tmp_path / "s.parquet")
    done("s.parquet", "-o", "o.parquet", "--only", "--id", "id", "--wide", "--rounds", "100")
    found, rounds = pl.read_parquet("o.parquet"), pl.read_csv("o.rounds.csv")
    flags = ["adapted_alarm", "adapted_fallback"]
    shares = [f"{what}_{name}" for what in ("prior", "low", "high") for name in CLASSES]
    assert found.columns == [
        *("id", *P),
        *(f"adapted_{name}" for name in P),
        *("adapted_label", "adapted_round", *flags),
        *(f"adapted_{name}" for name in shares),
    ]
    places = [0] * 100 + [1] * 100 + [2] * 50
    assert_frame_equal(
        found.select(pl.col(f"adapted_{name}").alias(name) for name in shares), rounds.select(shares)[places]
    )


def test_rounds_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("baserate.files.rounds.LARGEST", 130)
    write(frame(14_000)[0], tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv")
    rows = pl.read_csv("o.rounds.csv")["rows"].to_list()
    assert rows[:101] == [100] * 101
    assert rows[101:103] == [101, 102]
    assert rows[-2] == 130
    assert sum(rows) == 14_000


def test_standard_input_and_output():
    table, _ = frame(120)
    whole = command(
        "adapt", "-", "--holdout", "holdout.csv", "-o", "-", "--rounds", 50, data=table.write_csv().encode()
    )
    assert whole.returncode == 0, whole.stderr
    found = pl.read_csv(whole.stdout)
    np.testing.assert_allclose(found.select(f"adapted_{p}" for p in P).to_numpy(), by_hand(table, 50)[0], rtol=1e-12)
    assert b"120 rows in 3 rounds" in whole.stderr
    lines = command(
        *("adapt", "-", "--format", "jsonl", "--holdout", "holdout.csv", "-o", "-", "--rounds", 50),
        data=table.write_ndjson().encode(),
    )
    assert_frame_equal(pl.read_ndjson(lines.stdout), found)


def test_a_pipe_is_answered_round_by_round():
    table, _ = frame(25)
    head, *lines = table.write_csv().encode().splitlines(keepends=True)
    words = [sys.executable, "-m", "baserate", "adapt", "-", "--holdout", "holdout.csv", "-o", "-", "--rounds", "10"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdin.write(head + b"".join(lines[:11]))
        process.stdin.flush()
        first = [process.stdout.readline() for _ in range(11)]  # the input is still open
        assert first[-1].startswith(b"9,")
        process.stdin.write(b"".join(lines[11:]))
        process.stdin.close()
        assert len(process.stdout.read().splitlines()) == 15
    assert process.returncode == 0


def test_a_bad_row_ends_it_while_the_pipe_is_open():
    text = frame(10)[0].write_csv().encode()
    words = [sys.executable, "-m", "baserate", "adapt", "-", "--holdout", "holdout.csv", "-o", "-", "--rounds", "10"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        process.stdin.write(text + b"10,0.5,0.6,0.7\n" * 11)
        process.stdin.flush()
        assert process.wait(60) == 2
        assert b"standard input, row 11, column p_cat to p_eel" in process.stderr.read()


def test_the_summary_says_it_in_words(tmp_path):
    table, _ = frame(2000)
    write(table, tmp_path / "s.csv")
    result = done("s.csv", "-o", "o.csv", "--rounds", "100")
    lines = result.stdout.splitlines()
    eel = next(line.split() for line in lines if re.match(r"eel +\d", line))
    # class, holdout, lowest (round n), highest (round n), now, band; each with its " %".
    now = float(eel[11])
    assert 60 < now < 80
    # Cats became a fifth of what they were, which is more than that eels doubled.
    assert re.fullmatch(
        r"cat fell from [\d.]+ % to [\d.]+ % and has stayed low since round \d, and .* moved: eel.*", lines[0]
    )
    assert max(map(len, lines[1 : lines.index("2,000 rows in 20 rounds.")])) <= 80
    assert "2,000 rows in 20 rounds." in lines
    assert lines[-1] == "Written: o.csv, rounds: o.rounds.csv"
    found = json.loads(done("s.csv", "-o", "o.csv", "--rounds", "100", "--json").stdout)
    assert found["prior"]["eel"] == pytest.approx(now / 100, abs=6e-4)
    assert found["low"]["eel"] < found["prior"]["eel"] < found["high"]["eel"]
    assert found["headline"] == lines[0]
    assert found["path"]["eel"]["highest"] >= found["prior"]["eel"] > found["path"]["eel"]["start"]
    assert found["path"]["eel"]["moved"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["s.csv", "-o", "o.csv", "--rounds", "0"], ["--rounds", "1000", "1h"]),
        (["s.csv", "-o", "o.csv", "--rounds", "1y"], ["--rounds", "1h"]),
        (["s.csv", "-o", "o.csv", "--rounds", "1h"], ["--time"]),
        (["s.csv", "-o", "o.csv", "--rounds", "1M"], ["--rounds", "small letters"]),
        (["s.csv", "-o", "o.csv", "--rounds-file", "r.parquet"], ["--rounds-file", "CSV"]),
        (["s.csv", "-o", "o.csv", "--holdout", "h.dat"], ["h.dat", "suffix", ".csv"]),
        (["s.csv", "-o", "o.csv", "--late", "l.dat"], ["l.dat", "suffix", ".csv"]),
        (["s.csv", "-o", "o.txt"], ["o.txt", "--out-format"]),
        (["s.csv", "-o", "s.csv"], ["-o s.csv", "another"]),
        (["s.csv", "-o", "holdout.csv"], ["-o holdout.csv", "another"]),
        (["s.csv", "-o", "o.csv", "--state", "o.csv"], ["--state o.csv"]),
        (["s.csv", "-o", "o.csv", "--report", "s.csv"], ["--report s.csv is read", "another"]),
        (["s.csv", "-o", "o.csv", "--report", "holdout.csv"], ["--report holdout.csv is read"]),
        (["s.csv", "-o", "o.csv", "--report", "o.csv"], ["--report o.csv is the file of -o"]),
        (["s.csv", "-o", "o.csv", "--report", "o.rounds.csv"], ["--report o.rounds.csv", "of --rounds-file"]),
        (["s.csv", "-o", "o.csv", "--state", "kept", "--report", "kept"], ["--report kept", "of --state"]),
        (["s.csv", "-o", "missing/o.csv"], ["no folder missing"]),
        (["s.csv", "-o", "."], ["-o .", "folder", "adapted.csv"]),
        (["none.csv", "-o", "o.csv"], ["none.csv", "no such file"]),
        (["s.csv", "-o", "o.csv", "--format", "xml"], ["xml", "parquet"]),
        (["s.csv", "-o", "o.csv", "--level", "1.5"], ["--level"]),
        (["s.csv", "-o", "o.csv", "--columns", "p_cat,p_cat"], ["twice"]),
        (["s.csv", "-o", "-", "--out-format", "parquet"], ["Parquet"]),
        (["-", "-o", "o.csv", "--format", "parquet"], ["pipe"]),
        (["s.csv"], ["--out"]),
    ],
)
def test_a_bad_command_gets_one_line(arguments, words, capsys, tmp_path):
    write(frame(20)[0], tmp_path / "s.csv")
    with pytest.raises(SystemExit) as ended:
        main(["adapt", "--holdout", "holdout.csv", *arguments])
    said = capsys.readouterr()
    assert (".dat" in said.err) <= ("--format" not in said.err)  # which is about other files
    assert ended.value.code == 2
    assert said.out == ""
    assert said.err.startswith("baserate: ")
    assert said.err.count("\n") == 1
    for word in words:
        assert word in said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["holdout.csv", "s.csv"]


def test_a_holdout_is_needed_without_a_state():
    result = adapt("s.csv", "-o", "o.csv", holdout=None)
    assert result.exit_code == 2
    assert "--holdout is missing" in result.stderr


def test_without_polars_it_says_what_to_install(monkeypatch, tmp_path):
    write(frame(20)[0], tmp_path / "s.csv")
    monkeypatch.setitem(sys.modules, "polars", None)
    result = adapt("s.csv", "-o", "o.csv")
    assert result.exit_code == 2
    assert 'pip install "baserate[files]"' in result.stderr


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    write(frame(2000)[0], tmp_path / "s.csv")
    left = 3

    def append(self, table, real=TextSink.append):
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(28, "No space left on device")
        real(self, table)

    monkeypatch.setattr(TextSink, "append", append)
    result = adapt("s.csv", "-o", "o.csv")
    assert left <= 0
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "nothing was written" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["holdout.csv", "s.csv"]


def test_an_output_that_is_there_is_kept_until_the_new_one_is_whole(tmp_path):
    table, _ = frame(20)
    write(table, tmp_path / "s.csv")
    (tmp_path / "o.csv").write_text("old")
    write(table.with_columns(p_cat=pl.lit(0.7)), tmp_path / "bad.csv")
    assert adapt("bad.csv", "-o", "o.csv").exit_code == 2
    assert (tmp_path / "o.csv").read_text() == "old"
    done("s.csv", "-o", "o.csv")
    assert len(pl.read_csv("o.csv")) == 20


def test_help_does_not_wait_for_polars():
    code = """import sys
sys.argv = ['baserate', 'adapt', '--help']
from baserate.cli import app, main
try: main()
finally: assert not {'polars', 'numpy'} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_report_needs_its_table_and_matplotlib(tmp_path, monkeypatch):
    write(frame(50)[0], tmp_path / "s.csv")
    result = adapt("s.csv", "-o", "-", "--report", "r.html")
    assert result.exit_code == 2
    assert "--rounds-file" in result.stderr
    result = adapt("s.csv", "-o", "o.csv", "--report", "missing/r.html")
    assert result.exit_code == 2
    assert "no folder missing" in result.stderr
    done("s.csv", "-o", "-", "--report", "r.html", "--rounds-file", "rounds.csv")
    assert (tmp_path / "r.html").exists()


def test_links_are_followed(tmp_path):
    write(frame(300)[0], tmp_path / "s.csv")
    (tmp_path / "disk").mkdir()
    for name in ("o.csv", "o.rounds.csv", "kept", "r.html"):
        (tmp_path / name).symlink_to(f"disk/{name}")
    words = ["s.csv", "-o", "o.csv", "--state", "kept", "--report", "r.html"]
    done(*words)
    for name in ("o.csv", "o.rounds.csv", "kept", "r.html"):
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "disk" / name).is_file()
    assert "nothing was done" in done(*words).stdout
    (tmp_path / "x.csv").symlink_to("s.csv")
    before = (tmp_path / "s.csv").read_bytes()
    assert adapt("s.csv", "-o", "x.csv").exit_code == 2
    assert (tmp_path / "s.csv").read_bytes() == before
    (tmp_path / "y.csv").symlink_to("nowhere/y.csv")
    result = adapt("s.csv", "-o", "y.csv")
    assert result.exit_code == 2
    assert "no folder" in result.stderr


def test_a_pipe_on_the_disk_is_not_replaced(tmp_path):
    write(frame(50)[0], tmp_path / "s.csv")
    os.mkfifo("pipe.csv")
    for words, hint in (
        (["-o", "pipe.csv"], "write with -o -"),
        (["-o", "o.csv", "--rounds-file", "pipe.csv"], "--rounds-file pipe.csv is a pipe or a device"),
        (["-o", "o.csv", "--state", "pipe.csv"], "--state pipe.csv is a pipe or a device"),
    ):
        result = adapt("s.csv", *words)
        assert result.exit_code == 2
        assert hint in result.stderr
        assert (tmp_path / "pipe.csv").is_fifo()


@pytest.mark.parametrize("thousands", [1, 2, 3])
def test_time_stamps_tell_their_unit_by_their_size(thousands, tmp_path):
    times = np.arange(400) * 60 + 1_772_368_200
    write(frame(400, at=times)[0], tmp_path / "s.csv")
    write(frame(400, at=times * 1000**thousands)[0], tmp_path / "t.csv")
    words = ["--time", "at", "--rounds", "1h"]
    assert "since 1970" not in done("s.csv", "-o", "s.o.csv", *words).stderr
    unit = ["milliseconds", "microseconds", "nanoseconds"][thousands - 1]
    assert f"are taken for {unit} since 1970" in done("t.csv", "-o", "t.o.csv", *words).stderr
    expected, found = (pl.read_csv(f"{name}.o.rounds.csv").drop("time") for name in "st")
    assert expected.equals(found)
    assert len(found) == 8  # from half past on


def test_dates_far_away_are_dates(tmp_path):
    table, _ = frame(10)
    write(table.with_columns(at=pl.Series(["2026-03-01"] * 9 + ["9999-12-31"]).str.to_date()), tmp_path / "s.parquet")
    done("s.parquet", "-o", "o.csv", "--time", "at", "--rounds", "1d")


def test_rounds_and_summary_say_how_dependent_samples_are_and_how_much_is_corrected(tmp_path):
    table, _ = frame(3000)
    write(pl.concat([table.drop("id")[[i]] for i in range(1000) for _ in range(3)]), tmp_path / "s.csv")  # in threes
    said = json.loads(done("s.csv", "-o", "o.csv", "--rounds", "300", "--state", "kept", "--json").stdout)
    rounds = pl.read_csv("o.rounds.csv")
    assert rounds.columns[-3:] == ["unknown_mass", "serial_correlation", "correction_weight"]
    held = pl.read_csv("holdout.csv")
    adapter = baserate.RegressAndReweight().fit(held.select(P).to_numpy(), [CLASSES.index(c) for c in held["label"]])
    expected = []
    for start in range(0, 3000, 300):
        expected.append((adapter.serial_correlation_, adapter.correction_weight_))
        adapter.step(pl.read_csv("s.csv").select(P).to_numpy()[start : start + 300])
    np.testing.assert_allclose(rounds.select("serial_correlation", "correction_weight").to_numpy(), expected)
    assert rounds["serial_correlation"][-1] > 0.5
    assert rounds["correction_weight"][0] == 1.0
    assert rounds["correction_weight"][-1] < 1.0
    for found in (said, json.loads(CliRunner().invoke(app, ["inspect", "kept", "--json"]).stdout)):
        assert found["serial_correlation"] == pytest.approx(adapter.serial_correlation_)
        assert found["correction_weight"] == adapter.correction_weight_
    shown = " ".join(CliRunner().invoke(app, ["inspect", "kept"]).stdout.split())
    assert f"Weight of the correction: {100 * adapter.correction_weight_:.0f} %." in shown
    assert f"Serial correlation of the samples: {adapter.serial_correlation_:z.2f} " in shown


def test_keys_have_flags_of_their_own(tmp_path):
    table, _ = frame(1500, shop=["north", "south", "west"] * 500)
    rows = table.select(P).to_numpy()
    west = np.arange(1500) % 3 == 2
    rows[west] = (rows[west] ** 0.2) / (rows[west] ** 0.2).sum(axis=1, keepdims=True)  # the model is no longer sure
    broken = table.with_columns(**{name: rows[:, c] for c, name in enumerate(P)})
    write(broken, tmp_path / "s.csv")
    said = json.loads(done("s.csv", "-o", "o.csv", "--key", "shop", "--json").stdout)
    assert said["keys_changed"] == said["keys_in_alarm"] == said["keys_held_back"] == 1
    assert said["changed"] == ["west"]
    lines, out = pl.read_csv("o.rounds.csv"), pl.read_csv("o.csv")
    last = lines.filter(pl.col("round") == pl.col("round").max()).sort("key")
    assert last["alarm"].to_list() == last["fallback"].to_list() == [False, False, True]
    assert last["correction_weight"].to_list() == [1.0, 1.0, 0.5]
    assert last["evidence"].to_list()[2] > 20.0
    assert set(out.filter("adapted_alarm")["shop"]) == {"west"}
    printed = done("s.csv", "-o", "p.csv", "--key", "shop").stdout
    assert "Drift beyond the class mix in 1 key (about one in ten by chance): west." in " ".join(printed.split())
