"""Runs of `baserate adapt`, and runs that are killed, for the tests of what is kept."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from baserate import state
from baserate.cli import app
from baserate.files.adapting import lock, save_schedule
from baserate.files.adapting.run import FileRun
from baserate.files.adapting.state import StreamState
from baserate.files.formats._sinks import TextSink
from baserate.files.formats.parquet import ParquetSink


class Killed(BaseException):
    """Stands for SIGKILL: nothing cleans up after it."""


def adapt(*arguments, data=None):
    return CliRunner().invoke(app, ["adapt", *map(str, arguments)], input=data)


def done(*arguments, data=None):
    result = adapt(*arguments, data=data)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def files():
    return sorted(path.name for path in Path().iterdir())


class Killer:
    """Counts what happens to files, and kills at one of these moments."""

    def __init__(self, monkeypatch, moment=None):
        self.count, self._moment = 0, moment
        for owner, name in [
            (TextSink, "append"),
            (ParquetSink, "append"),
            (ParquetSink, "finish"),
            (StreamState, "save"),
            (Path, "replace"),
        ]:
            monkeypatch.setattr(owner, name, self._watched(getattr(owner, name)))
        for name in ("_remove", "_take_back"):
            monkeypatch.setattr(FileRun, name, lambda self: None)
        monkeypatch.setattr(
            save_schedule, "SPENT", float("inf")
        )  # so that moments do not depend on how long saving takes
        if moment is not None:
            monkeypatch.setattr(lock, "_release", lambda file, path: os.close(file))

    def _watched(self, function):
        def watched(*arguments, **options):
            self._moment_passes()
            found = function(*arguments, **options)
            self._moment_passes()
            return found

        return watched

    def _moment_passes(self):
        self.count += 1
        if self.count == self._moment:
            raise Killed


def killed_in_the_midst(words, monkeypatch, moment=60):
    with monkeypatch.context() as patch:
        Killer(patch, moment)
        with pytest.raises(Killed):
            adapt(*words)
    assert not state.load("kept").file.finished
