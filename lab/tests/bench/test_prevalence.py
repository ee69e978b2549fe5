"""The benchmark of weekly shares."""

from baserate_lab.bench.prevalence import measure, table


def test_audits_and_model_hold_the_rate_in_narrower_limits_than_audits_alone():
    rows = measure("season", 2, rows=500, audits=50, broken=False, quantifiers=[])
    by = {row.method: row for row in rows}
    assert by["audits and model"].coverage >= 0.8
    assert by["audits and model"].width < 0.8 * by["audits of the week"].width
    assert by["hindsight"].rmse < by["audits of the week"].rmse
    assert table(rows).count("\n") == len(rows) + 1
