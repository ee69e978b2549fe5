"""What a state file is said to know."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import baserate
from baserate.cli import app

from ..files.killing import done
from ..files.streams import CLASSES, P, frame, write

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")


class TestInspect:
    def test_it_says_what_adapt_said(self, tmp_path):
        write(frame(300)[0], tmp_path / "s.csv")
        told = done("s.csv", "-o", "o.csv", "--state", "kept", "--holdout", "holdout.csv", "--rounds", "50")
        shown = CliRunner().invoke(app, ["inspect", "kept"])
        assert shown.exit_code == 0
        # The path is in the table of rounds, which a state does not have; everything else is the same.
        common = [
            out.stdout.splitlines()[out.stdout.splitlines().index("300 rows in 6 rounds.") :] for out in (told, shown)
        ]
        assert common[0][:4] == common[1][:4]
        assert told.stdout.startswith("eel rose from ")
        assert shown.stdout.startswith("class ")
        assert "Last file: s.csv, finished." in shown.stdout

    def test_keys_that_moved_furthest_come_first(self, tmp_path):
        near, far = frame(300, mix=(0.3, 0.3, 0.4), seed=4)[0], frame(300, mix=(0.02, 0.02, 0.96), seed=5)[0]
        table = pl.concat([near.with_columns(shop=pl.lit("near")), far.with_columns(shop=pl.lit("far"))]).sort("id")
        write(table.drop("id"), tmp_path / "s.csv")
        done("s.csv", "-o", "o.csv", "--state", "kept", "--holdout", "holdout.csv", "--key", "shop", "--rounds", "100")
        found = json.loads(CliRunner().invoke(app, ["inspect", "kept", "--json"]).stdout)
        assert [entry["key"] for entry in found["key_priors"]] == ["far", "near"]
        assert found["key_priors"][0]["prior"]["eel"] > 0.8
        assert found["keys"] == 2
        assert "key far" in CliRunner().invoke(app, ["inspect", "kept", "--keys", "1"]).stdout
        assert "key near" not in CliRunner().invoke(app, ["inspect", "kept", "--keys", "1"]).stdout

    @pytest.mark.parametrize("banked", [False, True])
    def test_an_adapter_saved_by_itself(self, banked):
        table, y = frame(200, mix=(1 / 3, 1 / 3, 1 / 3))
        adapter = baserate.RegressAndReweight().fit(table.select(P).to_numpy(), y)
        baserate.save(baserate.Bank(adapter) if banked else adapter, "alone")
        found = json.loads(CliRunner().invoke(app, ["inspect", "alone", "--json"]).stdout)
        assert found["classes"] == ["0", "1", "2"]
        assert found["holds"] == ("Bank" if banked else "RegressAndReweight")

    @pytest.mark.parametrize("banked", [False, True])
    def test_one_that_was_fitted_on_labels_of_text(self, banked):
        table, y = frame(200, mix=(1 / 3, 1 / 3, 1 / 3))
        adapter = baserate.RegressAndReweight().fit(table.select(P).to_numpy(), np.array(CLASSES)[y])
        bank = baserate.Bank(adapter)
        bank.step(["north"] * 200, table.select(P).to_numpy())
        baserate.save(bank if banked else adapter, "alone")
        found = json.loads(CliRunner().invoke(app, ["inspect", "alone", "--json"]).stdout)
        assert found["classes"] == list(found["prior" if not banked else "source_prior"]) == list(CLASSES)
        assert "eel" in CliRunner().invoke(app, ["inspect", "alone"]).stdout

    def test_an_adapter_that_was_not_fitted(self):
        baserate.save(baserate.RegressAndReweight(), "alone")
        result = CliRunner().invoke(app, ["inspect", "alone"])
        assert result.exit_code == 2
        assert "alone: holds a" in result.stderr
        assert "that was not fitted" in result.stderr

    @pytest.mark.parametrize("cls", [baserate.adapters.Base, baserate.adapters.ROGD, baserate.calibrators.BCTS])
    def test_what_is_no_state_of_adapt(self, cls):
        baserate.save(cls(), "other")
        result = CliRunner().invoke(app, ["inspect", "other"])
        assert result.exit_code == 2
        assert f"other: holds a {cls.__name__}" in result.stderr

    def test_an_alarm_says_what_looks_wrong(self, tmp_path):
        blurred = [pl.col(p) * 0.4 + 0.2 for p in P]
        write(frame(6000)[0].with_columns(blurred), tmp_path / "s.csv")
        told = done("s.csv", "-o", "o.csv", "--state", "kept", "--holdout", "holdout.csv", "--rounds", "50").stdout
        found = json.loads(CliRunner().invoke(app, ["inspect", "kept", "--json"]).stdout)
        assert found["alarm"]
        assert 1 <= len(found["findings"]) <= 3
        (line,) = [line for line in told.splitlines() if line.startswith("ALARM")]
        assert found["findings"][0] in line
        assert "class " not in found["findings"][0]  # classes have names
        assert found["fallback"]
        assert f"reduced since round {found['fallback_since']}: " in told

    def test_what_is_not_tested_is_said(self, monkeypatch, tmp_path):
        write(frame(300)[0], tmp_path / "s.csv")
        done("s.csv", "-o", "o.csv", "--state", "kept", "--holdout", "holdout.csv")
        why = "the holdout is too small"
        monkeypatch.setattr(baserate.RegressAndReweight, "assumption_untested_", why, raising=False)
        shown = CliRunner().invoke(app, ["inspect", "kept"]).stdout
        assert f"Drift beyond the class mix is not tested: {why}." in shown
        assert "No sign" not in shown

    def test_other_parts_are_named(self):
        baserate.save(baserate.trackers.FollowTheHistory(2), "tracker")
        result = CliRunner().invoke(app, ["inspect", "tracker"])
        assert result.exit_code == 2
        assert "FollowTheHistory" in result.stderr

    def test_no_file(self):
        result = CliRunner().invoke(app, ["inspect", "none"])
        assert result.exit_code == 2
        assert "none" in result.stderr
