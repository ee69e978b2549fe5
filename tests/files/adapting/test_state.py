"""The state of a stream: what is saved, and typed again."""

from pathlib import Path

import pytest

from baserate import state
from baserate.files.adapting.state import DecisionCounts, FileProgress, LabelCounts, StreamState, load_stream_state
from baserate.files.rounds import ReadPosition

from ..killing import done, killed_in_the_midst
from ..streams import frame, holdout, write

N = 9000


@pytest.fixture(autouse=True)
def with_a_holdout(in_an_empty_folder):
    write(holdout(), Path("holdout.csv"))


def words(form):
    write(frame(N)[0], Path(f"s.{form}"))
    options = ["--holdout", "holdout.csv", "--rounds", "50", "--id", "id"]
    return [f"s.{form}", "-o", f"o.{form}", *options, "--state", "kept"]


def test_a_state_is_typed_again_when_it_is_loaded(monkeypatch):
    killed_in_the_midst(words("parquet"), monkeypatch)
    held = load_stream_state(Path("kept").read_bytes(), Path("kept"))
    file = held.unfinished
    assert isinstance(file, FileProgress)
    assert isinstance(file.position, ReadPosition)
    assert 0 < file.position.row == held.rows < N
    assert file.out.size <= next(Path().glob(".o.parquet.*.part")).stat().st_size
    assert file.out.footer.endswith(b"PAR1")
    assert file.rounds.footer == b""
    assert len(file.ids) == file.position.row
    assert file.found is None
    assert state.loads(file.before).file is None
    assert isinstance(held.label_counts, LabelCounts)


def test_what_is_loaded_shares_nothing_with_where_it_came_from():
    done(*words("csv"))
    held = state.load("kept")
    plain = held.get_state()
    other = StreamState().set_state(plain)
    plain["classes"]["names"].append("more")
    plain["file"]["options"]["--rounds"] = None
    assert other.classes.names == ["cat", "dog", "eel"]
    assert other.file.options["--rounds"] == [50, 0.0]


def test_decisions_are_those_of_the_rows(monkeypatch):
    Path("c.csv").write_text("true,cat,dog,eel\ncat,0,1,1\ndog,1,0,1\neel,1,1,0\n")
    killed_in_the_midst([*words("csv"), "--costs", "c.csv"], monkeypatch)
    held = load_stream_state(Path("kept").read_bytes(), Path("kept"))
    file = held.unfinished
    assert isinstance(file.decided, DecisionCounts)
    assert sum(file.decided.counts) == file.position.row > 0
    for wrong in (file.decided._replace(counts=(0, 0, 0)), None):
        held.file = file._replace(decided=wrong)
        with pytest.raises(ValueError, match="does not have the decisions on its rows"):
            state.loads(state.dumps(held))
    held.file = file
    assert state.loads(state.dumps(held)).file.decided == file.decided
