"""The rows of the demo, and the conclusion that is drawn from them."""

import pytest

from baserate.demo.experiment import BASE, OPTIMAL, REFERENCES
from baserate.reports.demo_rows import conclusion, demo_rows

from ..demo.small_runs import small_demo


@pytest.fixture(scope="module")
def demo():
    return small_demo()


def test_one_adaptive_method_is_best_on_each_shift(demo):
    rows = demo_rows(demo)
    for shift in ("Monotone", "Square", "Sinusoidal", "Bernoulli"):
        (best,) = (row for row in rows if row["shift"] == shift and row["best"])
        rivals = [row for row in rows if row["shift"] == shift and row["method"] not in REFERENCES]
        assert best in rivals
        assert best["error"] == min(row["error"] for row in rivals)


def test_what_a_method_has_not_is_none(demo):
    rows = {(row["shift"], row["method"]): row for row in demo_rows(demo)}
    for key in ("mse", "mse_to_frequencies", "dynamic_regret"):
        assert rows["Square", "UOGD"][key] is None
        assert rows["Square", "ROGD"][key] > 0
    assert rows["Square", "RetrainLastLayer"]["mse"] > 0
    assert rows["Square", "RetrainLastLayer"]["dynamic_regret"] is None
    assert rows["Square", OPTIMAL]["error"] <= rows["Square", BASE]["error"]


def results(**errors):
    return [{"method": name, "error": e} for name, both in errors.items() for e in both]


def test_the_conclusion_is_computed():
    text = conclusion(
        results(
            Base=(0.1, 0.2),
            Good=(0.05, 0.07),
            Bad=(0.3, 0.2),
            Fair=(0.1, 0.1),
            OptimalFixed=(0.0, 0.0),
            Oracle=(0.01, 0.02),
        )
    )
    assert text == (
        "Left alone, the model is wrong on 15.0 % of all samples; Good, the best of 3 methods, brings that to 6.0 % "
        "without seeing one label, and being told the true class mix gives 1.5 %. Adapting badly is worse than not "
        "adapting: Bad is wrong on 25.0 %."
    )


def test_the_conclusion_does_not_boast():
    text = conclusion(results(Base=(0.1,), Same=(0.1,), Oracle=(0.12,)))
    assert text == (
        "Left alone, the model is wrong on 10.0 % of all samples; no method improves on that without labels (the best, "
        "Same, is wrong on 10.0 %), and being told the true class mix gives 12.0 %."
    )
