"""Commands whose streams are closed, full or narrow, and whose input is made to do harm: one line, the right status."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from ..files.streams import CLASSES, frame, holdout, write

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")
ESCAPES = ["a\x1b[31mred", "b\x1b]0;title\x07", "c\x9b2J\u202e"]
FORMULAS = ['a"b$x$', "<b>$\\frac{", "back\\slash$$_{^"]
FOREIGN = ["k\u00e4se", "\u65e5\u672c", "\U0001f600"]


def named(names):
    """A stream, a holdout and a labelled log, whose classes have these names."""
    columns = {f"p_{old}": f"p_{new}" for old, new in zip(CLASSES, names, strict=True)}
    labels = dict(zip(CLASSES, names, strict=True))
    table, y = frame(600)
    write(table.rename(columns), Path("s.csv"))
    write(holdout().rename(columns).with_columns(pl.col("label").replace(labels)), Path("h.csv"))
    write(table.rename(columns).with_columns(label=pl.Series([names[c] for c in y])), Path("log.csv"))


ADAPT = ["adapt", "s.csv", "--holdout", "h.csv", "-o", "o.csv"]
BACKTEST = ["backtest", "log.csv", "--label", "label", "--methods", "none"]


def run(words, *, streams="", **environment):
    """The status of the real command, its output and its errors without notes; `streams` as in a shell."""
    command = [sys.executable, "-m", "baserate", *words]
    if streams:
        command = ["sh", "-c", f'exec "$@" {streams}', "sh", *command]
    found = subprocess.run(command, capture_output=True, timeout=120, env={**os.environ, **environment}, check=False)
    told = [line for line in found.stderr.decode().splitlines() if not line.startswith("baserate: note: ")]
    assert "Traceback" not in found.stderr.decode()
    return found.returncode, found.stdout.decode(), told


def left():
    """Files that were left half done."""
    return [path.name for path in Path().iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("streams", [">&-", ">/dev/full"])
@pytest.mark.parametrize("words", [ADAPT, [*ADAPT, "--json"], BACKTEST, ["--help"], ["--version"]])
def test_output_that_cannot_be_written(words, streams):
    named(CLASSES)
    status, _, told = run(words, streams=streams)
    assert status == 1
    assert len(told) == 1
    assert told[0].startswith("baserate: could not write to standard output (")
    assert not left()
    assert Path("o.csv").exists() == (words[0] == "adapt")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("streams", [">&-", ">/dev/full"])
def test_rows_that_cannot_be_written(streams):
    named(CLASSES)
    status, _, told = run([*ADAPT[:-1], "-"], streams=streams)
    assert status == 1
    assert len(told) == 1
    assert told[0].endswith("; the output is not complete.")
    assert sorted(path.name for path in Path().iterdir()) == ["h.csv", "log.csv", "s.csv"]


def test_a_pipe_that_nobody_reads():
    named(CLASSES)
    status, _, told = run(ADAPT, streams="| true")
    assert (status, told) == (0, [])


def test_standard_input_that_is_closed():
    named(CLASSES)
    status, _, told = run(["adapt", "-", *ADAPT[2:]], streams="<&-")
    assert (status, told) == (2, ["baserate: standard input: cannot be read (Bad file descriptor)."])
    assert not Path("o.csv").exists()


def test_errors_that_nobody_hears():
    named(CLASSES)
    assert run(ADAPT, streams="2>&-")[0] == 0
    assert run(["adapt", "none.csv", *ADAPT[2:]], streams="2>&-")[0] == 2
    if Path("/dev/full").exists():
        assert run(["adapt", "none.csv", *ADAPT[2:]], streams="2>/dev/full >/dev/full")[0] == 2


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
@pytest.mark.parametrize("words", [ADAPT, BACKTEST])
def test_names_that_the_output_cannot_spell(words, environment):
    named(FOREIGN)
    status, output, told = run(words, **environment)
    assert (status, told) == (0, [])
    assert output.isascii()
    assert "k\\xe4se" in output or words is BACKTEST
    wrong = ["adapt", "k\u00e4se.csv", *ADAPT[2:]]
    status, _, told = run(wrong, **environment)
    assert (status, len(told)) == (2, 1)
    assert told[0].isascii()
    if words is ADAPT:
        pytest.importorskip("matplotlib")
        status, output, told = run([*words, "--report", "k\u00e4se.html"], **environment)
        assert (status, told) == (0, [])
        assert output.isascii()
        assert Path("k\u00e4se.html").exists()


def test_a_terminal_is_not_told_what_to_do():
    named(ESCAPES)
    wrong = "n\x1b[31m.csv"
    write(frame(100)[0], Path(wrong))
    runs = [
        ([*ADAPT, "--state", "kept"], 0),
        (["inspect", "kept"], 0),
        (BACKTEST, 0),
        (["adapt", wrong, *ADAPT[2:]], 2),
        (["adapt", "none\x1b[31m.csv", *ADAPT[2:]], 2),
        (["adapt", "none\x1b[31m", *ADAPT[2:]], 2),
        ([*ADAPT, "--none\x1b[31m"], 2),
        ([*ADAPT, "--time", "none\x1b[31m"], 2),
    ]
    for words, expected in runs:
        status, output, told = run(words)
        assert status == expected, words
        assert all((line + "-").replace("\u2500", "-").isprintable() for line in output.splitlines() + told), words
        assert len(told) == (expected == 2), words
    assert "a\\x1b[31mred" in run(["inspect", "kept"])[1]


def test_lines_that_end_in_carriage_returns():
    named(CLASSES)
    for name in ("s.csv", "h.csv"):
        data = Path(name).read_bytes()
        Path(name).write_bytes(data.replace(b"\n", b"\r"))
        status, _, told = run(ADAPT)
        assert (status, len(told)) == (2, 1)
        assert told[0].startswith(f"baserate: {name}, row 1: its lines end in carriage returns alone")
        Path(name).write_bytes(data)
    assert not Path("o.csv").exists()


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("depth", [2000, 100_000, 90])
def test_json_within_json(depth, opened, closed, place):
    named(CLASSES)
    table = frame(300)[0]
    write(table, Path("s.jsonl"))
    lines = [line[:-1] + ', "x": null}' for line in Path("s.jsonl").read_text().splitlines()]
    lines[place] = lines[place].replace("null", opened * depth + "1" + closed * depth)
    Path("s.jsonl").write_text("\n".join(lines))
    status, _, told = run(["adapt", "s.jsonl", "--holdout", "h.csv", "-o", "o.jsonl"])
    if depth == 90:
        assert (status, told) == (0, [])
        return
    row = place % 300 + 1
    said = f"baserate: s.jsonl, row {row}: lists and objects are more than 100 deep within each other."
    assert (status, told) == (2, [said])
    assert not Path("o.jsonl").exists()
    assert not left()


@pytest.mark.parametrize(
    "words",
    [
        *([*words, "--rounds", text] for words in (ADAPT, BACKTEST) for text in ("9" * 20, "9" * 400)),
        *([*ADAPT, "--time", "id", "--rounds", text] for text in ("9" * 20 + "d", "0.0000000001s")),
        *([*ADAPT, "--id", "id", "--wait", text] for text in ("9" * 20, str(2**63 - 1), "-1")),
        *([*words, "--level", text] for words in (ADAPT, BACKTEST) for text in ("nan", "1e400", "-1")),
        [*BACKTEST, "--level", "1e-300"],
        *([*BACKTEST, "--holdout-share", text] for text in ("nan", "1e400", "1e-300")),
        [*BACKTEST, "--seed", "-1"],
        *(["demo", "--no-report", option, "9" * 20] for option in ("--rounds", "--batch-size")),
        ["inspect", "kept", "--keys", "-1"],
        ["inspect", "kept", "--level", "nan"],
    ],
    ids=lambda words: f"{words[0]}-{words[-2]}-{words[-1][:24]}",
)  # fmt: skip
def test_absurd_numbers(words):
    named(CLASSES)
    status, _, told = run(words)
    assert (status, len(told)) == (2, 1)
    assert words[-2] in told[0]
    assert sorted(path.name for path in Path().iterdir()) == ["h.csv", "log.csv", "s.csv"]


def test_numbers_that_are_large_and_no_more():
    named(CLASSES)
    many = "9" * 20
    assert run([*ADAPT, "--state", "kept", "--rounds", str(10**9)])[0] == 0
    for words in (["inspect", "kept", "--keys", many], [*BACKTEST, "--seed", many]):
        status, _, told = run(words)
        assert (status, told) == (0, [])


@pytest.mark.parametrize("names", [FORMULAS, FOREIGN, ESCAPES], ids=["formulas", "foreign", "escapes"])
def test_reports_of_any_names(names):
    pytest.importorskip("matplotlib")
    named(names)
    for words in ([*ADAPT, "--report", "r.html"], [*BACKTEST, "--report", "b.html"]):
        status, _, told = run(words)
        assert (status, told) == (0, []), words
        text = Path(words[-1]).read_text()
        assert "<b>" not in text
        assert "ParseException" not in text
    assert "back\\slash$$_{^" in Path("r.html").read_text() or names is not FORMULAS
