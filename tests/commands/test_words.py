"""Words of the command line, and notes without advice about Python."""

import polars as pl
import pytest

from ..files.streams import P, frame, holdout, write
from .adapting import done

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")


def test_blanks_between_names_of_columns(tmp_path):
    write(frame(50)[0], tmp_path / "s.csv")
    done("s.csv", "-o", "o.csv", "--columns", ", ".join(P))
    assert "adapted_p_eel" in pl.read_csv("o.csv").columns


def test_notes_give_no_advice_that_is_about_python(tmp_path):
    write(frame(50)[0], tmp_path / "s.csv")
    write(holdout(40), tmp_path / "holdout.csv")
    notes = done("s.csv", "-o", "o.csv").stderr
    assert "note: with 40 samples the holdout cannot tell" in notes
    assert "Label more samples." in notes
    assert "calibrator" not in notes
