"""Cases of the benchmark of alarms, made up."""

from baserate_lab.bench.trust.assumption_tables import Case, Run


def case(model, details, size, alarms):
    return Case("noise", model, details, size, [Run(100.0, "odd")] * alarms + [Run(400.0, "late")] * (10 - alarms))
