"""How commands end that were stopped, or have an error of ours."""

import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

import baserate
import baserate.demo
from baserate.cli import main

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_an_error_of_ours_is_not_hidden(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(baserate.demo, "train_model", broken)
    with pytest.raises(ZeroDivisionError):
        main(["demo", "--no-report"])


def test_ctrl_c_stops_with_one_line_and_leaves_nothing(tmp_path):
    # On a terminal, so that the progress bar tells when the work has begun.
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "baserate", "demo", "--rounds", "6000"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    said, deadline = b"", time.monotonic() + 60
    while b"FLH-FTL" not in said:
        assert time.monotonic() < deadline, said
        said += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    after = b""
    try:
        while chunk := os.read(ours, 4096):
            after += chunk
    except OSError:  # how Linux says that the other side has closed
        pass
    os.close(ours)
    assert re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", after).splitlines()[-1] == b"baserate: stopped."
    assert b"Traceback" not in said + after
    assert process.stdout is not None
    assert process.stdout.read() == b""
    process.stdout.close()
    assert list(tmp_path.iterdir()) == []
