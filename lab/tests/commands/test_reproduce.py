"""The command that makes the paper's tables and figures."""

import json
import sys

import polars
import pytest

from baserate.cli import main
from baserate_lab.bench.store import StoreError
from baserate_lab.commands import reproduce
from baserate_lab.datasets import DataNotFoundError
from baserate_lab.models.output_files import COMMITTED
from baserate_lab.paper import reproduce as paper
from baserate_lab.paper.artefacts import ARTEFACTS

QUICK = ["reproduce", "table-uols", "--quick", "--data", "mnist", "--methods", "Base", "FTH", "--seeds", "2"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)


def status_of(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code or 0


@pytest.fixture
def _apart(tmp_path, monkeypatch):
    monkeypatch.setenv("BASERATE_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_apart")
class TestReproduce:
    def test_without_a_name_it_lists_what_there_is(self, capsys, tmp_path):
        assert status_of("reproduce") == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines[:-2]] == list(ARTEFACTS)
        assert lines[0].split(maxsplit=1)[1].startswith("Table 1: Error, and squared error")
        assert "baserate reproduce table-uols --quick" in lines[-1]
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["tabel-uols"], ["no artefact 'tabel-uols'", "Did you mean table-uols?"]),
            (["table-uols", "--data", "minst"], ["no data set 'minst'", "Did you mean mnist?"]),
            (["table-uols", "--methods", "FTL"], ["no method 'FTL'", "Choose from Base"]),
            (["table-rf", "--data", "synthetic"], ["none of these artefacts has such cells"]),
            (["table-uols", "--seeds", "0"], ["--seeds"]),
            (["table-uols", "--data"], ["--data"]),
            (["table-uols", "--data", ","], ["no data set ','"]),
            (["table-uols", "--out", "taken"], ["--out taken is a file; name a folder."]),
            (["table-uols", "--out", "taken/in"], ["--out taken/in", "cannot be made", "name another"]),
            (["table-uols", "--jobs", "0"], ["--jobs is 0", "-1 for one per core"]),
            (["table-uols", "--results", "missing/r.parquet"], ["--results missing/r.parquet", "no folder missing;"]),
            (["all", "tabel-uols"], ["no artefact 'tabel-uols'"]),
            (["table-uols", "--json", "."], ["--json . is a folder", "records.json"]),
            (["table-uols", "--json", "missing/r.json"], ["no folder missing"]),
            (["table-uols", "--outputs", "missing.npz"], ["missing.npz is not a readable npz archive"]),
            (["table-uols", "--outputs", "taken"], ["taken is not a readable npz archive"]),
        ],
    )
    def test_a_bad_command_gets_one_line(self, arguments, words, capsys, monkeypatch, tmp_path):
        (tmp_path / "taken").write_text("a file")
        monkeypatch.setattr(paper, "reproduce", lambda *_, **__: pytest.fail("the work had begun"))
        assert status_of("reproduce", *arguments) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("baserate: ")
        assert said.err.count("\n") == 1
        for word in words:
            assert word in said.err
        assert [path.name for path in tmp_path.iterdir() if path.name != "baserate-reproduce"] == ["taken"]

    @pytest.mark.parametrize(
        ("typed", "meant"),
        [
            ("--data a b,c", "--data a --data b --data c"),
            ("--data a,b --methods X Y table-uols", "--data a --data b --methods X --methods Y table-uols"),
            ("fig-shl --methods X --quick Y", "fig-shl --methods X --quick Y"),
            ("--data a all", "--data a all"),
            ("--data a fig-shl b", "--data a fig-shl b"),
            ("--data=a,b c", "--data a --data b --data c"),
            ("--data a --data b", "--data a --data b"),
            ("--data", "--data"),
            ("--data --methods X", "--data --methods X"),
            ("--out a,b --jobs 2", "--out a,b --jobs 2"),
        ],
    )
    def test_several_names_after_one_option(self, typed, meant):
        assert reproduce._repeated(typed.split()) == meant.split()

    def test_only_what_is_asked_for_is_run_and_written(self, capsys, tmp_path):
        assert status_of(*QUICK, "--json", "records.json", "--results", "kept.parquet", "--jobs", "1") == 0
        said = capsys.readouterr().out
        assert said.rstrip().splitlines()[-1] == f"Report: {tmp_path / 'baserate-reproduce' / 'report.html'}"
        records = json.loads((tmp_path / "records.json").read_text())
        assert {(r["dataset"], r["shift"], r["method"], r["seeds"]) for r in records} == {
            ("mnist", shift, method, 2) for shift in ("ber", "sin") for method in ("Base", "FTH")
        }
        rows = polars.read_parquet(tmp_path / "kept.parquet")
        assert sorted(rows.select("dataset", "shift", "method", "seed", "model_seed").iter_rows()) == [
            ("mnist", shift, method, seed, 0)
            for shift in ("ber", "sin")
            for method in ("Base", "FTH")
            for seed in (0, 1)
        ]
        folder = tmp_path / "baserate-reproduce"
        assert sorted(path.name for path in folder.iterdir()) == ["report.html", "tables.md", "tables.tex"]
        error = next(r for r in records if (r["shift"], r["method"], r["metric"]) == ("ber", "FTH", "error"))
        for text in (said, *(path.read_text() for path in folder.iterdir())):
            assert f"{error['ours_mean']:.2f}" in text
        assert not (tmp_path / "cache" / "reproduce").exists()

    def test_a_quick_run_says_what_it_leaves_out(self, capsys, tmp_path):
        methods = ["--methods", "Base,UOGD", "--seeds", "1", "--jobs", "1", "--json", "r.json"]
        assert status_of("reproduce", "table-uols", "--quick", "--data", "mnist", "synthetic", *methods) == 0
        said = capsys.readouterr().out
        assert "UOGD on MNIST (mlp)." in " ".join(said.split())
        absent = [r for r in json.loads((tmp_path / "r.json").read_text()) if r["ours_mean"] is None]
        assert {(r["dataset"], r["method"], r["seeds"]) for r in absent} == {("mnist", "UOGD", 0)}
        assert {r["shift"] for r in absent} == {"sin", "ber"}

    def test_own_outputs_take_the_place_of_the_papers_data(self, capsys, tmp_path):
        arguments = ["table-uols", "table-sols-mnist", "--seeds", "1", "--jobs", "1", "--json", "r.json"]
        file = str(COMMITTED / "hapt-linear.npz")
        assert status_of("reproduce", *arguments, "--outputs", file, "--methods", "FTH,UOGD") == 0
        records = json.loads((tmp_path / "r.json").read_text())
        run = [r for r in records if r["ours_mean"] is not None]
        assert {(r["artefact"], r["dataset"], r["method"], r["shift"]) for r in run} == {
            ("table-uols", "own", "FTH", shift) for shift in ("ber", "sin")
        }
        assert all(r["model"].startswith("hapt-linear-") for r in run)
        assert {(r["paper_mean"], r["stand_in"]) for r in run} == {(None, None)}
        assert {(r["dataset"], r["method"]) for r in records if r["ours_mean"] is None} == {("own", "UOGD")}
        assert "in the place of the paper's data" in " ".join(capsys.readouterr().out.split())

    def test_a_figure_is_drawn_twice(self, capsys, tmp_path):
        narrowed = ["--methods", "Base,FTH", "--seeds", "1", "--jobs", "1", "--out", "deep/er"]
        assert status_of("reproduce", "fig-shl", "--quick", *narrowed) == 0
        folder = tmp_path / "deep" / "er"
        assert sorted(path.name for path in folder.iterdir()) == [
            "fig-shl.png",
            "fig-shl.svg",
            "report.html",
            "tables.md",
            "tables.tex",
        ]
        assert (folder / "fig-shl.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / "fig-shl.svg").read_text()
        assert (tmp_path / "cache" / "reproduce" / "results.parquet").exists()

    def test_without_a_report_only_the_results_are_kept(self, capsys, monkeypatch, tmp_path):
        assert status_of(*QUICK, "--no-report", "--jobs", "1") == 0
        said = capsys.readouterr()
        assert "FTH" in said.out
        assert "Report:" not in said.out
        assert [path.name for path in tmp_path.iterdir()] == ["cache"]
        monkeypatch.setattr(paper, "run_cell", lambda _: pytest.fail("run again"))
        assert status_of(*QUICK, "--no-report", "--no-run") == 0
        assert "FTH" in capsys.readouterr().out

    def test_nothing_is_shown_or_written_of_what_is_not_kept(self, capsys, monkeypatch, tmp_path):
        monkeypatch.setattr(paper, "run_cell", lambda _: pytest.fail("run all the same"))
        assert status_of(*QUICK, "--no-run", "--json", "records.json", "--jobs", "1") == 1
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", "baserate: nothing of this is kept yet; leave --no-run out to run it.\n")
        assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []

    def test_ctrl_c_says_that_what_is_done_is_kept(self, capsys, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(paper, "reproduce", interrupted)
        assert status_of(*QUICK, "--no-report") == 130
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.splitlines() == [
            "baserate: finished cells are stored; run the same command to resume.",
            "baserate: stopped.",
        ]

    def test_what_could_not_be_run_is_said_with_the_reason(self, capsys, monkeypatch, tmp_path):
        def missing(_):
            raise DataNotFoundError("no such data here")

        monkeypatch.setattr(paper, "run_cell", missing)
        assert status_of(*QUICK, "--json", "records.json", "--jobs", "1") == 1
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", "baserate: nothing could be run: no such data here\n")
        assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []

    @pytest.mark.parametrize(
        "error", [StoreError("not of results"), PermissionError(13, "denied"), ModuleNotFoundError("not there")]
    )
    def test_what_the_user_can_mend_gets_one_line(self, error, capsys, monkeypatch):
        def broken(*_, **__):
            raise error

        monkeypatch.setattr(paper, "reproduce", broken)
        assert status_of(*QUICK, "--no-report") == 1
        assert capsys.readouterr().err == f"baserate: {error}\n"

    def test_a_mistake_of_ours_is_not_told_as_one_of_the_user(self, monkeypatch):
        def broken(*_, **__):
            raise ValueError("ours")

        monkeypatch.setattr(paper, "reproduce", broken)
        with pytest.raises(ValueError, match=r"^ours$"):
            main([*QUICK, "--no-report"])

    def test_a_folder_is_no_file_of_results(self, capsys, tmp_path):
        assert status_of(*QUICK, "--no-report", "--results", ".") == 1
        assert capsys.readouterr().err == "baserate: . is a folder; name a file in it, such as results.parquet.\n"
        assert list(tmp_path.iterdir()) == []

    def test_a_damaged_file_of_results_is_named(self, capsys, tmp_path):
        (tmp_path / "kept.parquet").write_bytes(b"no")
        assert status_of(*QUICK, "--no-report", "--results", "kept.parquet") == 1
        said = capsys.readouterr().err
        assert said.startswith("baserate: kept.parquet is not a file of results")
        assert said.count("\n") == 1
        assert (tmp_path / "kept.parquet").read_bytes() == b"no"

    def test_without_polars_it_says_what_to_install(self, capsys, monkeypatch):
        monkeypatch.setitem(sys.modules, "polars", None)
        monkeypatch.setattr(paper, "train_base_model", lambda _: pytest.fail("the work had begun"))
        assert status_of(*QUICK, "--no-report", "--jobs", "1") == 1
        assert 'pip install "baserate[files]"' in capsys.readouterr().err

    def test_records_that_cannot_be_written_are_named(self, capsys, monkeypatch):
        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.write_text", full)
        assert status_of(*QUICK, "--no-report", "--jobs", "1", "--json", "records.json") == 1
        assert (
            capsys.readouterr().err
            == "baserate: could not write the records to records.json (No space left on device).\n"
        )
