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


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs O_NOFOLLOW")
def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / ".kept.lock").symlink_to(mine)
    with (
        pytest.raises(ValueError, match=r"its lock, .*\.kept\.lock, is a link; remove it"),
        lock.locked(tmp_path / "kept"),
    ):
        pass
    (tmp_path / ".kept.lock").unlink()
    (tmp_path / ".kept.lock").symlink_to(tmp_path / "none")
    with pytest.raises(ValueError, match="is a link"), lock.locked(tmp_path / "kept"):
        pass
    assert mine.read_text() == "mine"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("text", ["[" * 60_000, "{}", "5", '[5, null, "/a.part", "\\u0000.part"]'])
def test_a_lock_that_says_nonsense_names_no_parts(text, tmp_path):
    (tmp_path / ".kept.lock").write_text(text)
    with lock.locked(tmp_path / "kept") as held:
        held.sweep((), {tmp_path})
