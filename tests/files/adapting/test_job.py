"""The checks of a job before anything is read."""

import json
from pathlib import Path

import pytest

from baserate.files import formats
from baserate.files.adapting import AdaptJob, ColumnRoles
from baserate.files.adapting.job import check_job
from baserate.files.errors import FileProblemError
from baserate.files.formats import source_named

from ..killing import adapt, done
from ..streams import frame, holdout, write

WAITING = ["--id", "id", "--wait", "100", "--state", "kept"]


@pytest.fixture(autouse=True)
def with_files(in_an_empty_folder):
    write(holdout(), Path("holdout.csv"))
    for i, name in enumerate(("mon", "tue")):
        write(frame(300, seed=i)[0], Path(f"{name}.csv"))
    Path("late.csv").write_text("id,label\n290,eel\n")


@pytest.fixture
def checked(monkeypatch):
    """The names of the files whose readability was checked."""
    names, real = [], formats._check_readable
    monkeypatch.setattr(formats, "_check_readable", lambda source: (names.append(source.name), real(source)))
    return names


@pytest.mark.parametrize("state", [[], ["--state", "kept"]])
def test_every_input_is_checked_once(state, checked):
    done("mon.csv", "-o", "o.csv", "--holdout", "holdout.csv", *state)
    assert sorted(checked) == ["holdout.csv", "mon.csv"]


def test_late_labels_and_a_holdout_that_the_state_has_are_checked_once(checked):
    done("mon.csv", "-o", "m.csv", "--holdout", "holdout.csv", *WAITING)
    checked.clear()
    said = done("tue.csv", "-o", "t.csv", "--holdout", "holdout.csv", "--late", "late.csv", *WAITING, "--json")
    assert sorted(checked) == ["holdout.csv", "late.csv", "tue.csv"]
    assert json.loads(said.stdout)["late_labels"] == 1


@pytest.mark.parametrize("option", ["stream", "holdout", "late"])
@pytest.mark.parametrize(
    ("name", "words"), [("none.csv", "there is no such file"), ("empty.csv", "is empty"), ("folder.csv", "is a folder")]
)
def test_an_input_that_cannot_be_read_is_refused_before_anything_happens(option, name, words):
    Path("empty.csv").touch()
    Path("folder.csv").mkdir()
    done("mon.csv", "-o", "m.csv", "--holdout", "holdout.csv", *WAITING)
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    named = {"stream": "tue.csv", "holdout": "holdout.csv", "late": "late.csv", option: name}
    job = AdaptJob(
        source_named(named["stream"]),
        source_named("o.csv"),
        source_named(named["holdout"]),
        late=source_named(named["late"]),
        state=Path("kept"),
        columns=ColumnRoles(id="id"),
        wait=100,
    )
    with pytest.raises(FileProblemError, match=f"{name}: {words}"):
        check_job(job)
    result = adapt(named["stream"], "-o", "o.csv", "--holdout", named["holdout"], "--late", named["late"], *WAITING)
    assert result.exit_code == 2
    assert f"{name}: {words}" in result.stderr
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before
