"""Tables of alarms, and what is drawn of them."""

from baserate_lab.bench.trust.assumption_tables import delays, summary_table

from .cases import case


def test_the_summary_names_cases_with_too_few_alarms():
    found = [case("a", "class 1", 5.0, 10), case("b", "", 5.0, 8), case("b", "", 1.0, 0)]
    lines = summary_table(found).splitlines()
    assert lines[2:] == ["| noise | 5 | 2 | 90 | b (8 of 10) |", "| noise | 1 | 1 | 0 | b (0 of 10) |"]


def test_the_figure_has_each_kind_that_comes_in_sizes_and_no_logistic_models():
    found = [case("mnist mlp", "", 5.0, 1), case("mnist mlp", "", 1.0, 0), case("mnist logistic", "", 5.0, 9)]
    found.append(case("synthetic linear", "", 29.0, 0)._replace(kind="onto"))
    assert delays(found) == {"noise": {"mnist": {5.0: [100.0] + [400.0] * 9, 1.0: [400.0] * 10}}}
