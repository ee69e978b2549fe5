"""The rows of the demo, and the conclusion that is drawn from them."""

import numpy as np
import pytest

from baserate.demo.experiment import BASE, OPTIMAL, REFERENCES
from baserate.reports.demo_rows import conclusion, demo_rows, standing, summary_rows

from ..demo.small_runs import small_demo


@pytest.fixture(scope="module")
def demo():
    return small_demo()


def test_the_best_are_those_with_the_fewest_mistakes_and_those_that_tie(demo):
    rows = demo_rows(demo)
    wrong = {(cell.shift, cell.method): cell.evaluation.wrong / cell.evaluation.n for cell in demo.cells}
    marked = set()
    for shift in ("Monotone", "Square", "Sinusoidal", "Bernoulli"):
        rivals = [row for row in rows if row["shift"] == shift and row["method"] not in REFERENCES]
        winner = min(rivals, key=lambda row: row["error"])
        for row in rivals:
            behind = wrong[shift, row["method"]] - wrong[shift, winner["method"]]
            assert row["best"] == (behind.mean() <= 2 * behind.std() / np.sqrt(len(behind)) + 1e-12)
            marked.add(row["best"])
    assert marked == {True, False}
    assert not any(row["best"] for row in rows if row["method"] in REFERENCES)


def test_noise_is_the_standard_error_of_the_difference_to_the_default(demo):
    cells = {cell.method: cell.evaluation for cell in demo.cells if cell.shift == "Square"}
    (row,) = (row for row in demo_rows(demo) if (row["shift"], row["method"]) == ("Square", "LastSighting"))
    difference = (cells["LastSighting"].wrong - cells["baserate"].wrong) / cells["baserate"].n
    assert row["noise"] == pytest.approx(difference.std() / np.sqrt(len(difference)))
    assert all(row["noise"] == 0.0 for row in demo_rows(demo) if row["method"] == "baserate")


def test_the_summary_has_three_figures_for_each_shift_and_for_all(demo):
    rows = demo_rows(demo)
    summary = summary_rows(rows)
    assert [row["shift"] for row in summary] == ["Monotone", "Square", "Sinusoidal", "Bernoulli", "all"]
    for row in summary:
        assert list(row) == ["shift", "Base", "baserate", "Oracle"]
        for method in ("Base", "baserate", "Oracle"):
            errors = [r["error"] for r in rows if r["method"] == method and row["shift"] in (r["shift"], "all")]
            assert row[method] == pytest.approx(np.mean(errors))


def test_what_a_method_has_not_is_none(demo):
    rows = {(row["shift"], row["method"]): row for row in demo_rows(demo)}
    for key in ("mse", "mse_to_frequencies"):
        assert rows["Square", "UOGD"][key] is None
        assert rows["Square", "ROGD"][key] > 0
    assert rows["Square", "RetrainLastLayer"]["mse"] > 0
    assert rows["Square", OPTIMAL]["error"] <= rows["Square", BASE]["error"]


def results(noise=0.0, **errors):
    return [
        {"shift": shift, "method": name.replace("_", " "), "error": e, "noise": noise}
        for name, both in errors.items()
        for shift, e in zip("ab", both, strict=False)
    ]


def test_the_conclusion_is_about_doing_nothing_the_default_and_the_oracle():
    text = conclusion(results(Base=(0.1, 0.2), baserate=(0.05, 0.07), Better=(0.0, 0.01), Oracle=(0.01, 0.02)))
    assert text == (
        "Left alone, the model is wrong on 15.0 % of all samples; baserate brings that to 6.0 % without seeing one "
        "label, and being told the true class mix gives 1.5 %."
    )


def test_the_conclusion_does_not_boast():
    text = conclusion(results(Base=(0.1,), baserate=(0.1,), Oracle=(0.12,)))
    assert text == (
        "Left alone, the model is wrong on 10.0 % of all samples; baserate does not improve on that without labels "
        "(10.0 %), and being told the true class mix gives 12.0 %."
    )


@pytest.mark.parametrize(
    ("noise", "arrows", "ungated"),
    [
        (0.001, "6.60 % (difference +0.60 points, standard error 0.07)", "5.90 % and ties (difference -0.10"),
        (0.0001, "6.60 % (difference +0.60 points, standard error 0.01)", "5.90 % (difference -0.10"),
        (0.01, "6.60 % and ties (difference +0.60 points, standard error 0.71)", "5.90 % and ties (difference -0.10"),
    ],
)
def test_a_difference_within_noise_is_told_as_a_tie(noise, arrows, ungated):
    text = standing(
        results(
            noise,
            Base=(0.1, 0.2),
            baserate=(0.05, 0.07),
            LikelihoodMixture=(0.05, 0.068),
            Arrows=(0.06, 0.072),
            Bad=(0.3, 0.2),
            OptimalFixed=(0.0, 0.0),
            Oracle=(0.01, 0.02),
        )
    )
    assert text.startswith("baserate is wrong on 6.00 % of all samples. The best of 2 other methods, Arrows, is wrong ")
    assert f"Arrows, is wrong on {arrows}." in text
    assert f"baserate without its gate (LikelihoodMixture) is wrong on {ungated}" in text
    assert text.endswith("Adapting badly is worse than not adapting: Bad is wrong on 25.0 %.")


def test_nobody_is_called_worse_than_doing_nothing_who_is_not():
    text = standing(results(Base=(0.1,), baserate=(0.05,), LikelihoodMixture=(0.05,), Arrows=(0.1,), Oracle=(0.01,)))
    assert "Adapting badly" not in text
