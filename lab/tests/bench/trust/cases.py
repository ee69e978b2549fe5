"""Cases of the benchmark of alarms, made up."""

from baserate_lab.bench.trust.assumption_tables import Case, CheckedStream


def case(model, details, size, alarms):
    return Case(
        "noise",
        model,
        details,
        size,
        [CheckedStream(100.0, "odd")] * alarms + [CheckedStream(400.0, "late")] * (10 - alarms),
    )
