"""One run at a time with a state."""

import os

import pytest

from baserate.files.adapting import lock


def test_a_lock_is_removed_without_a_race(tmp_path):
    """Whoever opened the file of a lock before it was removed must not take the removed one for the lock."""
    path = tmp_path / ".kept.lock"
    first = lock._take(path)
    with pytest.raises(BlockingIOError):
        lock._take(path)
    real, late = os.open, []

    def slow(*arguments):
        file = real(*arguments)
        if not late:
            late.append(file)
            lock._release(first, path)
        return file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", slow)
        second = lock._take(path)
    with pytest.raises(BlockingIOError):
        lock._take(path)
    lock._release(second, path)
    assert not path.exists()
