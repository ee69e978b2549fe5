"""Words of the command line, and notes without advice about Python."""

import re

import numpy as np
import polars as pl
import pytest

from baserate.commands.words import as_note
from baserate.files.columns import Classes
from baserate.trust import health
from baserate.trust.health import CALIBRATION, CONFUSED, SMALL

from ..files.streams import CLASSES, P, frame, holdout, write
from .adapting import done

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")


def test_blanks_between_names_of_columns(tmp_path):
    write(frame(50)[0], tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv", "--columns", ", ".join(P))
    assert "adapted_p_eel" in pl.read_csv("o.csv").columns


def test_no_warning_about_a_holdout_gives_advice_that_is_about_python():
    """Every warning that there is, on holdouts that are bad in different ways."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=600)
    proba = 0.5 * np.eye(3)[labels] + 0.5 * rng.dirichlet(np.ones(3), 600)
    alike = np.column_stack([proba[:, 0], np.tile(proba[:, 1:].mean(axis=1, keepdims=True), 2)])
    sure = proba**9 / (proba**9).sum(axis=1, keepdims=True)
    biased = proba * [1.0, 1.0, 20.0] / (proba * [1.0, 1.0, 20.0]).sum(axis=1, keepdims=True)
    noisy = np.where(rng.random(600) < 0.3, rng.integers(3, size=600), labels)
    told = [
        problem
        for held, y in ((proba[:20], labels[:20]), (alike, labels), (sure, noisy), (biased, labels))
        for problem in health(held, y, slack=np.full(3, 0.2))
    ]
    assert {problem.kind for problem in told} == {SMALL, CONFUSED, CALIBRATION}
    classes = Classes(P, CLASSES)
    notes = [as_note(str(problem), classes) for problem in told]
    for note in notes:
        assert not re.search(r"baserate\.|calibrator|source_prior|proba\b|class(es)? \d|=None", note), note
        assert note.endswith(".")
    assert any("tells 'dog', 'eel' apart" in note for note in notes)


def test_notes_give_no_advice_that_is_about_python(tmp_path):
    write(frame(50)[0], tmp_path / "s.csv")
    write(holdout(40), tmp_path / "holdout.csv")
    notes = done("s.csv", "-o", "o.csv").stderr
    assert "note: with 40 holdout rows, shifts smaller than" in notes
    assert "Label more rows." in notes
    assert "calibrator" not in notes
