"""Files are written whole or not at all."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from baserate import load, save
from baserate.trackers import FLHFTL, FollowTheHistory


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        save(FollowTheHistory(2), tmp_path / "nowhere" / "file")


def test_a_failed_write_leaves_the_old_file_and_no_other(file, monkeypatch):
    before = file.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(FLHFTL(3), file)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_killed_while_saving_leaves_a_whole_file(tmp_path):
    """A process that does nothing but save is killed; what is there loads."""
    script = textwrap.dedent("""
        import sys, numpy as np, baserate
        from baserate.trackers import FLHFTL
        tracker = FLHFTL(50)
        for z in np.random.default_rng(0).dirichlet(np.ones(50), size=2000):
            tracker.update(z)
        baserate.save(tracker, sys.argv[1])
        print("go", flush=True)
        while True:
            baserate.save(tracker, sys.argv[1])
    """)
    path = tmp_path / "state"
    for delay in (0.0, 0.003, 0.011):
        child = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
        child.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert load(path)._t == 2000


def test_permissions_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        save(FollowTheHistory(2), tmp_path / "file")
    finally:
        os.umask(old)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
