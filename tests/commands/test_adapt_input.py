"""Files as people have them: scores, percentages, logits, other separators, compressed."""

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from baserate.cli import app

from ..files.killing import Killed, Killer
from ..files.killing import adapt as bare_adapt
from ..files.killing import done as bare_done
from ..files.streams import P, frame, holdout, write
from .adapting import adapt, done
from .backtested import found as backtested
from .backtested import log

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")
ADAPTED = [f"adapted_{name}" for name in P]


def refused(result):
    assert result.exit_code == 2, (result.output, result.exception)
    (line,) = result.stderr.splitlines()
    return line


def adapted(name="o.csv"):
    return pl.read_csv(name).select("^adapted_p_.*$")


class TestScore:
    @staticmethod
    def files(n_held=600, n=1500, names=("good", "fraud")):
        """A fraud model: a column for each class, and the same as one score, and as its logit."""
        found = []
        for n_rows, share, seed in ((n_held, 0.1, 0), (n, 0.01, 1)):
            rng = np.random.default_rng(seed)
            y = (rng.random(n_rows) < share).astype(int)
            logit = 2.0 * (rng.normal(size=n_rows) + 2.0 * y) - 2.0 - np.log(9.0)
            p = 1.0 / (1.0 + np.exp(-logit))
            table = pl.DataFrame({"score": p, "logit": logit, "percent": 100.0 * p, "label": np.array(names)[y]})
            both = pl.DataFrame({f"p_{names[0]}": 1.0 - p, f"p_{names[1]}": p, "label": table["label"]})
            found.append((table, both))
        (held, held_both), (stream, stream_both) = found
        held.write_csv("h.csv")
        stream.write_csv("s.csv")
        held_both.write_csv("hb.csv")
        stream_both.drop("label").write_csv("sb.csv")

    def test_a_proposed_name_can_be_pasted_into_a_shell(self):
        self.files()
        pl.read_csv("h.csv").select("label", pl.col("score").alias("Risk Score (%)")).write_csv("spaced.csv")
        assert "add --score 'Risk Score (%)'" in refused(adapt("s.csv", "-o", "o.csv", holdout="spaced.csv"))

    @pytest.mark.parametrize(
        "words", [["--score", "score"], ["--score", "percent", "--percent"], ["--score", "logit", "--logits"]]
    )
    def test_it_is_as_a_column_for_each_class(self, words):
        self.files()
        done("sb.csv", "-o", "both.csv", holdout="hb.csv")
        result = done("s.csv", "-o", "o.csv", *words, "--positive", "fraud", "--labels", "label", holdout="h.csv")
        done("sb.csv", "-o", "both.csv", holdout="hb.csv")
        assert "note" not in result.stderr
        assert set(adapted().columns) == {"adapted_p_good", "adapted_p_fraud"}
        # Labels were used here, and not there: the first round knows nothing of that.
        first, expected = adapted().head(100), adapted("both.csv").head(100)
        np.testing.assert_allclose(first["adapted_p_fraud"], expected["adapted_p_fraud"], rtol=1e-9)
        done("s.csv", "-o", "o.csv", *words, "--positive", "fraud", holdout="h.csv")
        np.testing.assert_allclose(adapted()["adapted_p_fraud"], adapted("both.csv")["adapted_p_fraud"], rtol=1e-6)

    def test_the_positive_class_is_asked_for_or_has_a_usual_name(self):
        self.files()
        words = ["s.csv", "-o", "o.csv", "--score", "score"]
        said = refused(adapt(*words, holdout="h.csv"))
        assert "--positive fraud or --positive good" in said
        assert "give one of fraud, good" in refused(adapt(*words, "--positive", "Fraud", holdout="h.csv"))
        self.files(names=("0", "1"))
        done(*words, holdout="h.csv")
        truth = pl.read_csv("s.csv")["score"]
        assert np.corrcoef(truth, adapted()["adapted_p_1"])[0, 1] > 0.9

    @pytest.mark.parametrize("names", [("-1", "1"), ("false", "true"), ("10", "9"), ("0.0", "1.0")])
    def test_names_of_classes(self, names):
        """Also -1, which elsewhere stands for no label."""
        self.files(names=names)
        positive = names[1].removesuffix(".0")
        words = ["s.csv", "-o", "o.csv", "--score", "score", "--positive", positive, "--labels", "label"]
        result = done(*words, "--json", holdout="h.csv")
        assert json.loads(result.stdout)["labelled"] == 1500
        assert np.corrcoef(pl.read_csv("s.csv")["score"], adapted()[f"adapted_p_{positive}"])[0, 1] > 0.5

    def test_labels_must_be_two(self):
        self.files()
        pl.read_csv("h.csv").with_columns(label=pl.lit("good")).write_csv("one.csv")
        words = ["s.csv", "-o", "o.csv", "--score", "score", "--positive", "fraud"]
        assert "two classes, and the labels are good; expected two values" in refused(adapt(*words, holdout="one.csv"))
        write(holdout().with_columns(score=0.5), Path("three.csv"))
        assert "the labels are cat, dog, eel" in refused(adapt(*words, holdout="three.csv"))

    def test_a_state_goes_on_with_the_same_options_or_is_refused(self):
        self.files()
        pl.read_csv("s.csv").head(700).write_csv("monday.csv")
        pl.read_csv("s.csv").slice(700).write_csv("tuesday.csv")
        words = ["--score", "score", "--positive", "fraud", "--rounds", "100"]
        done("s.csv", "-o", "whole.csv", *words, holdout="h.csv")
        done("monday.csv", "-o", "m.csv", *words, "--state", "kept", holdout="h.csv")
        kept = Path("kept").read_bytes()
        for other in (
            [],
            ["--score", "logit"],
            ["--score", "percent", "--percent"],
            ["--score", "score", "--logits"],
            ["--score", "score", "--positive", "good"],
        ):
            said = refused(adapt("tuesday.csv", "-o", "t.csv", *other, "--state", "kept", holdout=None))
            assert "--state kept was begun with --score score --positive fraud; add" in said
            assert Path("kept").read_bytes() == kept
        done("tuesday.csv", "-o", "t.csv", "--score", "score", "--rounds", "100", "--state", "kept", holdout=None)
        both = pl.concat([adapted("m.csv"), adapted("t.csv")])
        np.testing.assert_allclose(both, adapted("whole.csv"), rtol=1e-12)
        result = CliRunner().invoke(app, ["inspect", "kept", "--json"])
        assert json.loads(result.stdout)["classes"] == ["fraud", "good"]

    def test_a_state_of_columns_is_not_continued_with_a_score(self):
        self.files()
        done("sb.csv", "-o", "o.csv", "--state", "kept", holdout="hb.csv")
        said = refused(adapt("s.csv", "-o", "t.csv", "--score", "score", "--state", "kept", holdout=None))
        assert "leave --score, --percent and --logits out" in said

    def test_a_positive_class_without_a_score_must_be_one(self):
        self.files()
        done("sb.csv", "-o", "o.csv", "--positive", "fraud", "--state", "kept", holdout="hb.csv")
        for state in ([], ["--state", "kept"]):
            said = refused(adapt("sb.csv", "-o", "p.csv", "--positive", "frod", *state, holdout="hb.csv"))
            assert "--positive frod is no class" in said

    def test_backtest(self):
        self.files(n=4000)
        whole = pl.concat([pl.read_csv("h.csv"), pl.read_csv("s.csv")])
        whole.write_csv("log.csv")
        score = pl.col("score")
        whole.select(p_fraud=score, p_good=1.0 - score, label="label").write_csv("logb.csv")
        one = backtested("log.csv", "--label", "label", "--score", "score", "--positive", "fraud")
        both = backtested("logb.csv", "--label", "label")
        assert one["verdict"] == both["verdict"]
        assert one["sentence"] == both["sentence"]


def in_another_scale(table, how):
    """A file of which the columns of probabilities are in percent, or logits."""
    expr = {"percent": pl.col(P) * 100.0, "logits": pl.col(P).log() + 3.0}[how]
    return table.with_columns(expr)


@pytest.mark.parametrize("how", ["percent", "logits"])
def test_percentages_and_logits(how, tmp_path):
    stream = frame(400)[0]
    write(stream, tmp_path / "s.csv")
    done("s.csv", "-o", "expected.csv")
    write(in_another_scale(stream, how), tmp_path / "t.csv")
    write(in_another_scale(holdout(), how), tmp_path / "h.csv")
    said = refused(adapt("t.csv", "-o", "o.csv", holdout="h.csv"))
    assert f"add --{how}" in said
    done("t.csv", "-o", "o.csv", f"--{how}", holdout="h.csv")
    np.testing.assert_allclose(adapted(), adapted("expected.csv"), rtol=1e-6)
    assert f"leave --{how} out" in refused(adapt("s.csv", "-o", "o.csv", f"--{how}"))
    # The holdout is right, and the stream is not.
    assert f"leave --{how} out" in refused(adapt("s.csv", "-o", "o.csv", f"--{how}", holdout="h.csv"))


@pytest.mark.parametrize("between", [";", "\t", "|"])
def test_other_separators_are_found_and_told_of(between, tmp_path):
    stream = frame(300, shop=["a, b"] * 300)[0]
    write(stream, tmp_path / "s.csv")
    done("s.csv", "-o", "expected.csv")
    stream.write_csv("t.csv", separator=between)
    holdout().write_csv("h.csv", separator=between)
    shown = "tab" if between == "\t" else f"'{between}'"
    result = done("t.csv", "-o", "o.csv", holdout="h.csv")
    for name in ("t.csv", "h.csv"):
        assert f"note: {name} is read with {shown} between its columns" in result.stderr
    assert Path("o.csv").read_bytes() == Path("expected.csv").read_bytes()
    word = "tab" if between == "\t" else between
    assert "between its columns" not in done("t.csv", "-o", "o.csv", "--separator", word, holdout="h.csv").stderr
    assert Path("o.csv").read_bytes() == Path("expected.csv").read_bytes()


def test_a_separator_that_is_not_in_the_header(tmp_path):
    write(frame(50)[0], tmp_path / "s.csv")
    said = refused(adapt("s.csv", "-o", "o.csv", "--separator", ";"))
    assert "the header has no ';', which --separator asks for" in said
    assert "leave --separator out" in said
    Path("t.csv").write_text("id;p_cat|p_dog\n1;0.5|0.5\n")
    assert "add --separator ';' or add --separator '|'" in refused(adapt("t.csv", "-o", "o.csv"))
    Path("t.csv").write_text("id;name,p_cat;p_dog;p_eel\n1;x,y;0.5;0.3;0.2\n")
    said = refused(adapt("t.csv", "-o", "o.csv"))
    assert "column p_cat: the column is missing" in said
    assert "add --separator ';'" in said
    write(frame(50)[0], tmp_path / "s.parquet")
    write(holdout(), tmp_path / "h.parquet")
    said = refused(adapt("s.parquet", "-o", "o.csv", "--separator", ";", holdout="h.parquet"))
    assert "--separator is for CSV files" in said


def test_the_separator_of_late_labels(tmp_path):
    table, _ = frame(200)
    write(table.head(100), tmp_path / "monday.csv")
    write(table.slice(100), tmp_path / "tuesday.csv")
    words = ["--id", "id", "--wait", "1000", "--state", "kept"]
    done("monday.csv", "-o", "m.csv", *words)
    Path("late.csv").write_text("id;label\n3;cat\n4;dog\n")
    result = done("tuesday.csv", "-o", "t.csv", *words, "--late", "late.csv", "--json", holdout=None)
    assert json.loads(result.stdout)["late_labels"] == 2
    assert "note: late.csv is read with ';'" in result.stderr


class TestDecimalCommas:
    @staticmethod
    def text(separator=";"):
        return frame(300)[0].write_csv(separator=separator).replace(".", ",")

    def test_are_read_where_commas_do_not_separate(self, tmp_path):
        write(frame(300)[0], tmp_path / "s.csv")
        done("s.csv", "-o", "expected.csv")
        Path("t.csv").write_text(self.text())
        result = done("t.csv", "-o", "o.csv")
        assert "note: t.csv has decimal commas: 0,25 is read as 0.25" in result.stderr
        np.testing.assert_allclose(adapted(), adapted("expected.csv"), rtol=1e-12)

    def test_that_begin_after_many_rows_are_read(self, tmp_path, monkeypatch):
        monkeypatch.setattr("baserate.files.formats._lines.blocks.__kwdefaults__", {"size": 2000})
        write(frame(300)[0], tmp_path / "s.csv")
        done("s.csv", "-o", "expected.csv")
        lines = frame(300)[0].write_csv(separator=";").splitlines()
        lines[200:] = [line.replace(".", ",") for line in lines[200:]]
        Path("t.csv").write_text("\n".join(lines))
        done("t.csv", "-o", "o.csv")
        np.testing.assert_allclose(adapted(), adapted("expected.csv"), rtol=1e-12)

    def test_are_refused_among_commas(self):
        rows = [line.split(";") for line in self.text().splitlines()]
        Path("t.csv").write_text("\n".join(",".join(f'"{field}"' for field in row) for row in rows))
        said = refused(adapt("t.csv", "-o", "o.csv"))
        assert "row 1, column p_cat: holds '0," in said
        assert "with a decimal point" in said

    def test_do_not_hide_what_is_wrong(self):
        lines = self.text().splitlines()
        lines[5] = "4;0,5;much;0,1"
        Path("t.csv").write_text("\n".join(lines))
        assert "row 1, column p_cat: holds '0," in refused(adapt("t.csv", "-o", "o.csv"))

    def test_percent_signs(self):
        Path("t.csv").write_text("id,p_cat,p_dog,p_eel\n1,50 %,30 %,20 %\n")
        said = refused(adapt("t.csv", "-o", "o.csv"))
        assert "read with --percent, and written without the sign" in said


@pytest.mark.parametrize("form", ["csv", "jsonl"])
class TestCompressed:
    def test_it_is_read_as_what_is_in_it(self, form, tmp_path):
        write(frame(700)[0], tmp_path / f"s.{form}")
        done(f"s.{form}", "-o", "expected.csv")
        Path(f"z.{form}.gz").write_bytes(gzip.compress(Path(f"s.{form}").read_bytes()))
        Path("h.csv.gz").write_bytes(gzip.compress(Path("holdout.csv").read_bytes()))
        done(f"z.{form}.gz", "-o", "o.csv", holdout="h.csv.gz")
        assert Path("o.csv").read_bytes() == Path("expected.csv").read_bytes()
        assert Path("o.rounds.csv").read_bytes() == Path("expected.rounds.csv").read_bytes()

    def test_a_killed_run_goes_on(self, form, tmp_path, monkeypatch):
        monkeypatch.setattr("baserate.files.formats._lines.blocks.__kwdefaults__", {"size": 5000})  # several blocks
        write(frame(6000)[0], tmp_path / f"s.{form}")
        Path(f"z.{form}.gz").write_bytes(gzip.compress(Path(f"s.{form}").read_bytes()))
        words = [f"z.{form}.gz", "--holdout", "holdout.csv", "--rounds", "50"]
        bare_done(*words, "-o", "whole.csv")
        with monkeypatch.context() as patch:
            killer = Killer(patch)
            bare_done(*words, "-o", "o.csv", "--state", "kept")
        assert killer.count > 50
        resumed = 0
        for moment in (1, killer.count // 3, killer.count // 2, killer.count - 4):
            for name in ("kept", "o.csv", "o.rounds.csv"):
                Path(name).unlink(missing_ok=True)
            with monkeypatch.context() as patch:
                Killer(patch, moment)
                with pytest.raises(Killed):
                    bare_adapt(*words, "-o", "o.csv", "--state", "kept")
            result = bare_done(*words, "-o", "o.csv", "--state", "kept", "--json")
            resumed += json.loads(result.stdout)["resumed_at_row"] > 0
            assert Path("o.csv").read_bytes() == Path("whole.csv").read_bytes()
        assert resumed
        result = bare_done(*words, "-o", "o.csv", "--state", "kept", "--json")
        assert json.loads(result.stdout)["nothing_to_do"]

    def test_a_file_that_is_cut_off_leaves_nothing(self, form, tmp_path):
        write(frame(700)[0], tmp_path / f"s.{form}")
        data = gzip.compress(Path(f"s.{form}").read_bytes())
        Path(f"z.{form}.gz").write_bytes(data[: len(data) // 2])
        there = sorted(Path().iterdir())
        assert f"z.{form}.gz: is compressed, and damaged or cut off" in refused(adapt(f"z.{form}.gz", "-o", "o.csv"))
        assert sorted(Path().iterdir()) == there


def test_compressed_output_and_a_compressed_pipe_are_refused(tmp_path):
    write(frame(50)[0], tmp_path / "s.csv")
    assert "write -o o.csv" in refused(adapt("s.csv", "-o", "o.csv.gz"))
    data = gzip.compress(Path("s.csv").read_bytes())
    said = refused(bare_adapt("-", "--holdout", "holdout.csv", "-o", "o.csv", data=data))
    assert "gzip -dc FILE | baserate" in said


class TestTimes:
    TIMES = pl.Series(np.arange(400) * 60 * 10**6 + 1_772_368_200 * 10**6).cast(pl.Datetime("us"))

    @pytest.mark.parametrize(
        ("form", "words"),
        [
            ("%Y-%m-%d %H:%M:%S+00:00", []),
            ("%d/%m/%Y %H:%M", ["--time-format", "%d/%m/%Y %H:%M"]),
            ("%Y%m%d%H%M%S", ["--time-format", "%Y%m%d%H%M%S"]),
        ],
    )
    def test_formats(self, form, words, tmp_path):
        write(frame(400, at=self.TIMES)[0], tmp_path / "s.parquet")
        write(frame(400, at=self.TIMES.dt.strftime(form))[0], tmp_path / "t.csv")
        done("s.parquet", "-o", "expected.csv", "--time", "at", "--rounds", "1h")
        done("t.csv", "-o", "o.csv", "--time", "at", "--rounds", "1h", *words)
        np.testing.assert_array_equal(adapted(), adapted("expected.csv"))

    @pytest.mark.parametrize("rounds", [[], ["--rounds", "50"], ["--rounds", "1min"]])
    def test_rows_that_go_back(self, rounds, tmp_path):
        times = self.TIMES.dt.strftime("%Y-%m-%dT%H:%M").to_list()
        times[7], times[8] = times[8], times[7]
        write(frame(400, at=times)[0], tmp_path / "s.csv")
        said = refused(adapt("s.csv", "-o", "o.csv", "--time", "at", *rounds))
        assert f"s.csv, row 9, column at: {times[8]} comes after {times[7]}" in said
        assert "sort('at')" in said

    def test_within_a_window_the_order_is_free(self, tmp_path):
        times = self.TIMES.dt.strftime("%Y-%m-%dT%H:%M").to_list()
        times[7], times[8] = times[8], times[7]
        write(frame(400, at=times)[0], tmp_path / "s.csv")
        done("s.csv", "-o", "o.csv", "--time", "at", "--rounds", "1h")

    def test_a_format_without_a_column(self, tmp_path):
        write(frame(50)[0], tmp_path / "s.csv")
        assert "name that with --time" in refused(adapt("s.csv", "-o", "o.csv", "--time-format", "%d/%m/%Y"))

    def test_a_resumed_run_with_another_format_is_refused(self, tmp_path, monkeypatch):
        write(frame(4000, at=["01/02/2026"] * 4000)[0], tmp_path / "s.csv")
        words = [
            "s.csv",
            "--holdout",
            "holdout.csv",
            "-o",
            "o.csv",
            "--state",
            "kept",
            "--time",
            "at",
            "--rounds",
            "50",
        ]
        with monkeypatch.context() as patch:
            Killer(patch, 60)
            with pytest.raises(Killed):
                bare_adapt(*words, "--time-format", "%d/%m/%Y")
        said = refused(bare_adapt(*words, "--time-format", "%m/%d/%Y"))
        assert "differs from the one that began it in --time-format" in said
        bare_done(*words, "--time-format", "%d/%m/%Y")

    def test_backtest(self, tmp_path):
        table, _, _ = log()
        stamps = pl.from_epoch(table["minute"] + 1_772_368_200).dt.strftime("%d.%m.%Y %H:%M")
        table.with_columns(at=stamps).sample(fraction=1.0, shuffle=True, seed=0).write_csv("log.csv")
        table.write_csv("sorted.csv")
        expected = backtested("sorted.csv", "--label", "truth", "--time", "minute", "--rounds", "1h")
        words = ["log.csv", "--label", "truth", "--time", "at", "--rounds", "1h"]
        found = backtested(*words, "--time-format", "%d.%m.%Y %H:%M")
        assert found["sentence"] != ""
        assert found["verdict"] == expected["verdict"]


def test_rows_of_the_holdout_without_a_label_are_left_out_and_counted(tmp_path):
    table = pl.read_csv("holdout.csv")
    labels = [None if i % 10 == 3 else label for i, label in enumerate(table["label"])]
    write(table.with_columns(label=pl.Series(labels)), tmp_path / "gaps.csv")
    write(table.filter(pl.int_range(pl.len()) % 10 != 3), tmp_path / "whole.csv")
    write(frame(300)[0], tmp_path / "s.csv")
    result = adapt("s.csv", "-o", "a.csv", holdout="gaps.csv")
    assert result.exit_code == 0, result.output
    n = len(table)
    assert f"gaps.csv, column label: {n // 10:,} of {n:,} rows have no label, and are left out." in result.stderr
    done("s.csv", "-o", "b.csv", holdout="whole.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
