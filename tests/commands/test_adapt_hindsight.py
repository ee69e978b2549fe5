"""``baserate adapt --hindsight``: a complete file, each round by the class mix of all rounds."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from baserate import RegressAndReweight, reweight, smooth
from baserate.cli import app
from baserate.reports.prevalence_rows import CAUSAL, HINDSIGHT


def outputs(y, rng):
    odds = np.exp(2.0 * (rng.normal(size=len(y)) + 2.0 * y - 1.0))
    return odds / (1.0 + odds)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where, rng = tmp_path_factory.mktemp("hindsight"), np.random.default_rng(0)
    held = rng.integers(2, size=500)
    p = outputs(held, rng)
    pl.DataFrame({"p_a": 1 - p, "p_b": p, "label": np.array(["a", "b"])[held]}).write_csv(where / "holdout.csv")
    y = (rng.random(600) < 0.1).astype(int)
    p = outputs(y, rng)
    key = np.where(np.arange(600) % 3 == 0, "x", "y")
    pl.DataFrame({"id": np.arange(600), "shop": key, "p_a": 1 - p, "p_b": p}).write_csv(where / "log.csv")
    return where


def run(folder, *words):
    return CliRunner().invoke(app, ["adapt", str(folder / "log.csv"), "--hindsight", *map(str, words)])


def test_rows_are_predicted_by_the_smoothed_mix(folder):
    out = folder / "out.csv"
    found = run(folder, "--holdout", folder / "holdout.csv", "--rounds", "50", "-o", out)
    assert found.exit_code == 0, found.output
    assert "600 rows in 12 rounds" in found.output
    held, log, adapted = (pl.read_csv(folder / name) for name in ("holdout.csv", "log.csv", "out.csv"))
    y = (held["label"] == "b").to_numpy().astype(int)
    adapter = RegressAndReweight().fit(held[["p_a", "p_b"]].to_numpy(), y)
    proba = log[["p_a", "p_b"]].to_numpy()
    mix = smooth(adapter, proba, np.arange(0, 601, 50))
    expected = reweight(adapter.calibrate(proba)[50:100], adapter.source_prior_, mix.prior[1])
    np.testing.assert_allclose(adapted[["adapted_p_a", "adapted_p_b"]].to_numpy()[50:100], expected, atol=1e-12)
    assert adapted.columns[:4] == log.columns
    assert adapted["adapted_round"].to_list() == (1 + np.arange(600) // 50).tolist()
    table = pl.read_csv(folder / "out.rounds.csv")
    np.testing.assert_allclose(table[["prior_a", "prior_b"]].to_numpy(), mix.prior, atol=1e-12)


def test_keys_have_mixes_of_their_own(folder):
    out = folder / "keyed.parquet"
    found = run(folder, "--holdout", folder / "holdout.csv", "--key", "shop", "-o", out, "--json")
    assert found.exit_code == 0, found.output
    table = pl.read_csv(folder / "keyed.rounds.csv")
    assert set(table["key"]) == {"x", "y"}
    assert table["rows"].sum() == 600
    assert len(pl.read_parquet(out)) == 600


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--state", "s.baserate"], "a state resumes a stream where it was left"),
        (["--restart"], "without one every run begins anew"),
        (["--refit"], "model was replaced"),
        (["--wait", "5", "--id", "id"], "put labels into the column of --labels"),
        (["--ask", "5"], "draw rows at random"),
        (["--id", "shop"], "ids must be unique"),
        (["--id", "nothing"], "no such column"),
        (["--report", "log.csv/no/report.html"], "there is no folder"),
    ],
)
def test_what_needs_a_stream_is_refused(folder, words, said):
    found = run(folder, "--holdout", folder / "holdout.csv", "-o", folder / "refused.csv", *words)
    assert found.exit_code == 2
    assert said in found.output
    assert not (folder / "refused.csv").exists()


def test_a_pipe_is_refused(folder):
    words = ["adapt", "-", "--hindsight", "--holdout", str(folder / "holdout.csv"), "-o", str(folder / "x.csv")]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 2
    assert "cannot take a pipe" in found.output


def test_decisions_are_by_the_adapted_probabilities(folder):
    out = folder / "decided.csv"
    words = ["--holdout", folder / "holdout.csv", "--costs", "1:20", "--positive", "b", "-o", out, "--json"]
    found = run(folder, *words)
    assert found.exit_code == 0, found.output
    told, table = json.loads(found.stdout), pl.read_csv(out)
    expected = np.where(table["adapted_p_b"].to_numpy() * 20 >= table["adapted_p_a"].to_numpy(), "b", "a")
    assert table["adapted_decision"].to_list() == expected.tolist()
    assert told["decisions"] == {name: int((expected == name).sum()) for name in ("a", "b")}
    cost = np.where(expected == "b", table["adapted_p_a"].to_numpy(), 20 * table["adapted_p_b"].to_numpy()).mean()
    assert told["expected_cost"] == pytest.approx(cost)
    found = run(folder, "--holdout", folder / "holdout.csv", "--threshold", "0.3", "--positive", "b", "-o", out)
    table = pl.read_csv(out)
    assert ((table["adapted_decision"] == "b") == (table["adapted_p_b"] >= 0.3)).all()
    assert f"b {(table['adapted_decision'] == 'b').sum()}" in found.output


def test_ids_stay_with_their_rows(folder):
    out = folder / "ids.csv"
    found = run(folder, "--holdout", folder / "holdout.csv", "--id", "id", "--only", "-o", out)
    assert found.exit_code == 0, found.output
    table = pl.read_csv(out)
    assert table["id"].to_list() == list(range(600))
    assert "shop" not in table.columns


def test_wide_rows_have_the_mix_of_their_round(folder):
    out = folder / "wide.csv"
    found = run(folder, "--holdout", folder / "holdout.csv", "--rounds", "100", "--wide", "-o", out)
    assert found.exit_code == 0, found.output
    table, rounds = pl.read_csv(out), pl.read_csv(folder / "wide.rounds.csv")
    for name in ("prior_b", "low_b", "high_a"):
        expected = np.repeat(rounds[name].to_numpy(), 100)
        np.testing.assert_allclose(table[f"adapted_{name}"].to_numpy(), expected, atol=1e-12)


def test_the_report_has_both_paths(folder):
    out, report = folder / "reported.csv", folder / "report.html"
    words = ["--holdout", folder / "holdout.csv", "--rounds", "50", "-o", out, "--report", report]
    found = run(folder, *words)
    assert found.exit_code == 0, found.output
    page = report.read_text()
    assert "baserate adapt --hindsight" in page
    for word in (HINDSIGHT, CAUSAL, "round 12"):
        assert word in page
    assert str(report) in found.output.replace("\n", "")
    plain = folder / "plain.csv"
    run(folder, "--holdout", folder / "holdout.csv", "--rounds", "50", "-o", plain)
    assert plain.read_text() == out.read_text()


def test_a_warning_where_more_than_the_mix_has_changed(folder, tmp_path):
    rng = np.random.default_rng(5)
    y = (rng.random(4000) < 0.4).astype(int)
    p = outputs(y, rng)
    told = [["a", "b"][0 if i >= 2000 else c] if i % 10 == 0 else "" for i, c in enumerate(y)]
    p[2000:] = 0.5 + 0.3 * (p[2000:] - 0.5)
    log, report = tmp_path / "log.csv", tmp_path / "report.html"
    pl.DataFrame({"p_a": 1 - p, "p_b": p, "told": told}).write_csv(log)
    words = ["adapt", log, "--hindsight", "--holdout", folder / "holdout.csv", "--labels", "told", "--rounds", "200"]
    words += ["-o", tmp_path / "out.csv", "--json"]
    for more in ([], ["--report", report]):
        found = CliRunner().invoke(app, list(map(str, [*words, *more])))
        assert found.exit_code == 0, found.output
        alarm, *_ = json.loads(found.stdout)["warnings"]
        assert alarm.startswith("ALARM since round 12: drift beyond the class mix")
        assert alarm.endswith("Adapt the file without --hindsight: then the correction is reduced where it does harm.")
    assert "ALARM since round 12" in report.read_text()
