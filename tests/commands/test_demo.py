"""The command that shows what there is."""

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import baserate
import baserate.demo
from baserate.cli import app
from baserate.demo import run_demo, train_model
from baserate.reports.demo_rows import conclusion, demo_rows, standing, summary_rows

from .ended import status_of

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")
SMALL = ["--rounds", "30", "--batch-size", "5", "--seed", "2"]


@pytest.fixture(scope="module")
def expected():
    return demo_rows(run_demo(train_model(2), 30, 5, seed=2))


def run(*arguments):
    return CliRunner().invoke(app, arguments)


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "baserate", *arguments], capture_output=True, text=True, check=False)


def shown(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def test_the_first_table_has_the_default_between_doing_nothing_and_the_oracle(expected):
    result = run("demo", *SMALL, "--no-report")
    assert result.exit_code == 0
    lines = [re.split(r"\s{2,}", line.strip()) for line in result.stdout.splitlines()]
    assert lines[0] == ["errors in %", "doing nothing", "baserate", "told the true mix"]
    for row in summary_rows(expected):
        assert [row["shift"], *(f"{100 * row[method]:.2f}" for method in ("Base", "baserate", "Oracle"))] in lines
    assert conclusion(expected) in " ".join(result.stdout.split())
    assert re.search(r"^All \d+ methods: .*python\S* -m baserate demo --all$", result.stdout, re.MULTILINE)
    assert "Arrows" not in result.stdout


def test_all_methods_are_shown_on_demand(expected):
    result = run("demo", *SMALL, "--no-report", "--all")
    assert result.exit_code == 0
    first, _, second = result.stdout.partition("shift / method")
    assert "doing nothing" in first
    lines = [re.split(r"\s{2,}", line.strip()) for line in second.splitlines()]
    for row in expected:
        cells = [
            row["method"],
            f"{100 * row['error']:.2f}",
            shown(row["mse"], 4),
            shown(row["mse_to_frequencies"], 4),
            shown(row["dynamic_regret"], 1),
        ]
        assert cells + row["best"] * ["best"] in lines
    assert [line for (line, *_) in lines if line in ("Monotone", "Square", "Sinusoidal", "Bernoulli")] == [
        "Monotone",
        "Square",
        "Sinusoidal",
        "Bernoulli",
    ]
    said = " ".join(result.stdout.split())
    assert conclusion(expected) in said
    assert standing(expected) in said
    assert "OptimalFixed: Re-weights every round to one and the same mix" in said
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_json_is_the_same_results_and_nothing_else(expected, tmp_path):
    done = command("demo", *SMALL, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["rows"] == expected
    assert found["conclusion"] == conclusion(expected)
    assert found["standing"] == standing(expected)
    assert (found["rounds"], found["batch_size"], found["seed"]) == (30, 5, 2)
    assert found["baserate"] == baserate.__version__
    assert done.stderr == f"Report: {tmp_path / 'baserate-demo.html'}\n"


def test_the_report_goes_where_it_is_wanted(tmp_path):
    (tmp_path / "deep").mkdir()
    done = command("demo", *SMALL, "--out", "deep/my report.html")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == f"Report: {tmp_path / 'deep' / 'my report.html'}"
    assert [path.name for path in tmp_path.rglob("*.*")] == ["my report.html"]
    assert "\x1b" not in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if not line.startswith("Report"))


def test_without_a_report_nothing_is_written(tmp_path):
    assert run("demo", *SMALL, "--no-report").exit_code == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--rounds", "0"], ["--rounds", "1"]),
        (["demo", "--rounds", "many"], ["--rounds", "integer"]),
        (["demo", "--batch-size", "-1"], ["--batch-size", "1"]),
        (["demo", "--seed", "-1"], ["--seed", "0"]),
        (["demo", "--batch-size", "1000"], ["--batch-size is 1000", "58"]),
        (["demo", "--out", "missing/report.html"], ["no folder missing"]),
        (["demo", "--out", "."], ["is a folder", "baserate-demo.html"]),
        (["demo", "--bogus"], ["--bogus"]),
        (["dmeo"], ["dmeo", "Did you mean 'demo'?"]),
    ],
)
def test_a_bad_command_gets_one_line(arguments, words, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(baserate.demo, "run_demo", lambda *_, **__: pytest.fail("the work had begun"))
    assert status_of(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("baserate: ")
    assert said.err.count("\n") == 1
    for word in words:
        assert word in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_costs_the_report_but_not_the_table(capsys, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    assert status_of("demo", *SMALL) == 1
    said = capsys.readouterr()
    assert "doing nothing" in said.out
    assert said.err == "baserate: could not write the report to baserate-demo.html (No space left on device).\n"
    assert list(tmp_path.iterdir()) == []


WITHOUT_MATPLOTLIB = "import sys; sys.modules['matplotlib'] = None; from baserate.cli import main; main()"


@pytest.mark.parametrize(("more", "status"), [([], 2), (["--no-report"], 0)])
def test_only_the_report_needs_matplotlib(more, status):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MATPLOTLIB, "demo", *SMALL, *more], capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    if status:
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert 'pip install "baserate[plot]"' in done.stderr
        assert "--no-report" in done.stderr
