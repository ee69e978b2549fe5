"""Bars and page, checked on made-up results; and the command."""

import numpy as np
import pytest

from baserate_lab.bench.efficiency import page as pages
from baserate_lab.bench.efficiency.__main__ import main
from baserate_lab.bench.efficiency.cells import DEFAULT, Cell, block, bootstrap
from baserate_lab.bench.efficiency.page import PAGE, SECTIONS, bars, page

from .made_up import broken, only, well


def test_all_is_well():
    assert broken(bars(well())) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            only("efficiency", DEFAULT, "mse_500", 10.0, lambda c: c.n == 10),
            "maximum likelihood since the change, n = 10",
        ),
        (only("efficiency", DEFAULT, "mse_mean", 3.0, lambda c: c.n == 1), "light profile's, n = 1"),
        (only("fraud", DEFAULT, "cost", 3.0, lambda c: c.n == 500 and c.case == "AUC 0.80"), "the best window"),
        (only("one-batch", DEFAULT, "mse", 1.2, lambda c: c.n == 100), "distance of `prior_`"),
        (only("one-batch", DEFAULT, "accuracy", 0.9, lambda c: c.n == 100), "labels of the batch"),
        (only("one-batch", DEFAULT, "largest", 0.9), "batches of one class"),
        (only("weak-models", DEFAULT, "mse", 5.0), "weak models"),
    ],
)
def test_what_breaks_a_bar(change, says):
    (text,) = broken(bars(well(change)))
    assert says in text


def test_one_case_may_be_far_off_and_two_may_not():
    def far(*sizes):
        return only(
            "efficiency", DEFAULT, "mse_2000", 5.0, lambda c: c.n in sizes and c.case[0] == "f" and "start" in c.variant
        )

    assert broken(bars(well(far(100)))) == []
    (text,) = broken(bars(well(far(100, 1))))
    assert "more than 5 times" in text


def test_the_way_left_is_of_costs_added_up():
    (text,) = broken(bars(well(only("fraud", DEFAULT, "cost", 2.0))))
    assert "way from the best window" in text


def test_every_bar_is_on_the_page():
    kept = well()
    lines = page(kept).splitlines()
    for part in bars(kept).values():
        for bar in part:
            assert f"| {bar.text} | {bar.limit} | {bar.measured} | holds | {bar.where} |" in lines
    for section in SECTIONS.values():
        assert f"## {section.title}" in lines


def test_nothing_run_is_said():
    text = page({})
    assert "not run |" in text
    assert "| holds |" not in text
    assert "does not hold |" not in text


def test_without_quapy_the_other_windows_are_compared():
    kept = well()
    kept["fraud"] = {cell: result for cell, result in kept["fraud"].items() if "QuaPy" not in cell.method}
    assert broken(bars(kept)) == []
    assert "QuaPy EMQ, last" not in page(kept)


def test_a_block_has_the_seeds_that_all_have():
    kept = well(n_seeds=3)["weak-models"]
    problems = [problem for problem, _ in SECTIONS["weak-models"].plan()]
    missing = Cell(*problems[0], DEFAULT, 1)
    found = block({cell: result for cell, result in kept.items() if cell != missing}, problems, (DEFAULT,), "mse")
    assert found.values.shape == (len(problems), 2, 1)


def test_the_command_resumes_and_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    section = SECTIONS["one-batch"]
    small = [entry for entry in section.plan() if entry[0][2] == 100]
    monkeypatch.setitem(pages.SECTIONS, "one-batch", section._replace(plan=lambda: small))
    asked = ["--sections", "one-batch", "--seeds", "2", "--design", "--out", str(tmp_path / "out")]
    assert main(asked) == 0
    first = (tmp_path / "out" / PAGE).read_text()
    assert "\n## One batch" in first
    assert (tmp_path / "out" / "efficiency.svg").exists()
    written = (tmp_path / "out" / "one-batch.parquet").stat().st_mtime_ns
    assert main(asked) == 0
    assert (tmp_path / "out" / "one-batch.parquet").stat().st_mtime_ns == written  # nothing was run again
    assert main([*asked, "--again"]) == 0
    assert (tmp_path / "out" / PAGE).read_text() == first
    assert main([*asked[:-2], "--no-run", "--out", str(tmp_path / "out")]) == 0
    # The streams that judge are others, and have no results yet.
    assert main(["--no-run", "--out", str(tmp_path / "out")]) == 0
    assert "\n## One batch" not in (tmp_path / "out" / PAGE).read_text()
    assert "One batch" in capsys.readouterr().err


def test_the_command_refuses_no_seeds(capsys):
    with pytest.raises(SystemExit):
        main(["--seeds", "0"])
    assert "--seeds is 0" in capsys.readouterr().err


def test_the_error_bar_of_a_mean():
    values = np.random.default_rng(0).normal(5.0, 2.0, 50)
    found = bootstrap(values.reshape(1, 50, 1), lambda means: means[..., 0, 0])
    assert found.value == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / np.sqrt(50), rel=0.1)
    assert np.isnan(bootstrap(values[:1].reshape(1, 1, 1), lambda means: means[..., 0, 0]).error)
