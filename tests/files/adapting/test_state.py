"""The state of a stream: what is saved, and what an older layout becomes."""

from pathlib import Path

import numpy as np
import pytest

from baserate import state
from baserate.files.adapting.state import FileProgress, LabelCounts, StreamState, load_stream_state
from baserate.files.formats._parquet_footer import part_of_footer
from baserate.files.rounds import ReadPosition
from baserate.state.unreadable import UnreadableError

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


def mark_in_layout_1(mark):
    """As a sink told its mark then: for Parquet the footer was in parts."""
    if mark is None or not mark.footer:
        return {} if mark is None else {"size": mark.size}
    part = part_of_footer(mark.footer)
    groups = np.frombuffer(b"".join(part.groups), dtype=np.uint8)
    ends = np.cumsum([len(group) for group in part.groups], dtype=np.int64)
    frame = np.frombuffer(part.frame, dtype=np.uint8)
    return {"size": mark.size, "rows": part.n_rows, "frame": frame, "groups": groups, "ends": ends}


def in_layout_1(held):
    """The plain data that layout 1 saved."""
    file = held.file
    found = {} if file.finished else {"found": None if file.found is None else np.frombuffer(file.found, np.uint8)}
    return {
        "adapter": held.adapter,
        "classes": held.classes._asdict(),
        "holdout": held.holdout,
        "files": held.files,
        "rows": held.rows,
        "done": held.finished_files,
        **held.label_counts._asdict(),
        "late": held.late_labels,
        "clock": held.clock,
        "file": {
            "name": file.name,
            "fingerprint": file.fingerprint,
            "options": file.options,
            "token": file.token,
            "size": file.piece_rows,
            "row": file.position.row,
            "mark": file.position.mark,
            "mark_row": file.position.mark_row,
            "out": mark_in_layout_1(file.out),
            "rounds": mark_in_layout_1(file.rounds),
            "before": np.frombuffer(file.before, np.uint8),
            "finished": file.finished,
            **found,
            **({} if file.ids is None else {"ids": file.ids}),
        },
    }


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_unfinished_file_of_layout_1_is_resumed(form, monkeypatch):
    command = words(form)
    done(*command)
    whole = Path(f"o.{form}").read_bytes()
    for name in (f"o.{form}", "o.rounds.csv", "kept"):
        Path(name).unlink()
    killed_in_the_midst(command, monkeypatch)
    held = state.load("kept")
    params, upgraded = StreamState.upgrade(1, {}, in_layout_1(held))
    again = StreamState(**params).set_state(upgraded)
    assert state.dumps(again) == state.dumps(held)
    again.save(Path("kept"))
    assert "Resumed at row" in done(*command).stdout
    assert Path(f"o.{form}").read_bytes() == whole


def test_a_finished_file_of_layout_1():
    done(*words("csv"))
    held = state.load("kept")
    again = StreamState().set_state(StreamState.upgrade(1, {}, in_layout_1(held))[1])
    assert state.dumps(again) == state.dumps(held)
    assert again.file.finished
    assert again.unfinished is None


def test_a_layout_that_never_was():
    with pytest.raises(UnreadableError, match="layout 0"):
        StreamState.upgrade(0, {}, {})


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
