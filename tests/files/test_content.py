"""The hash by which a file is known again, made while it is read."""

import contextlib
import os

import pytest

from baserate.files.content import Content, ReadMark, fingerprint, is_known_as, samples_of
from baserate.files.errors import FileProblemError

LONG = bytes(range(256)) * (3 << 12) + b"end"  # so long that samples do not touch every byte: 64 KB each would be 4 MB
LONG = LONG * 3


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "a"
    found.write_bytes(LONG)
    return found


@pytest.fixture
def content(path):
    with contextlib.closing(Content(path, "a.csv")) as found:
        yield found


@pytest.mark.parametrize("size", [0, 1, 1000, 5 << 20])
def test_a_fingerprint_is_of_the_content(size, tmp_path):
    data = bytes(range(256)) * (size // 256 + 1)
    one, other, third = (tmp_path / name for name in ("a", "b", "c"))
    one.write_bytes(data[:size])
    other.write_bytes(data[:size])
    assert fingerprint(one) == fingerprint(other)
    third.write_bytes(data[: size + 1])
    assert fingerprint(third) != fingerprint(one)
    if size:
        third.write_bytes(bytes([data[0] ^ 1]) + data[1:size])
        assert fingerprint(third) != fingerprint(one)


def test_a_byte_between_samples_counts(path):
    before, samples = fingerprint(path), samples_of(path)
    with path.open("r+b") as file:
        file.seek(70_000)
        file.write(b"?")
    assert samples_of(path) == samples
    assert fingerprint(path) != before


def test_samples_alone_are_what_earlier_versions_knew(path):
    mine = fingerprint(path)
    assert is_known_as(mine, mine)
    assert is_known_as(mine, samples_of(path))
    assert not is_known_as(mine, "")
    assert not is_known_as(mine, None)
    assert not is_known_as(mine, mine[:-1] + ("0" if mine[-1] != "0" else "1"))


@pytest.mark.parametrize("step", [1000, 1 << 20, 1 << 30])
def test_what_is_handed_over_is_hashed(step, path, content):
    for start in range(0, len(LONG), step):
        content.take(start, LONG[start : start + step])
    assert content.mark().size == len(LONG)
    assert content.fingerprint() == fingerprint(path)


def test_the_rest_is_read_and_nothing_is_counted_twice(path, content):
    content.take(0, LONG[:5000])
    content.take(2000, LONG[2000:6000])
    content.take(100, LONG[100:300])
    content.read_to(100_000)
    assert content.mark().size == 100_000
    content.read_to(50_000)
    content.take(0, LONG[:100_001])
    assert content.fingerprint() == fingerprint(path)


def test_what_was_read_before(path, content):
    content.read_to(1 << 20)
    mark = content.mark()
    for taken in (0, 3 << 20):
        with contextlib.closing(Content(path, "a.csv")) as again:
            again.take(0, LONG[:taken])
            assert again.begins_with(mark)
            assert not again.begins_with(ReadMark(mark.size + 1, mark.digest))
            assert not again.begins_with(ReadMark(1 << 60, mark.digest))


def test_a_known_file_is_read_only_if_its_samples_are_the_same(path, content):
    assert not content.is_known_as("0" * 128)
    assert not content.is_known_as(None)
    assert content.mark().size == 0
    assert content.is_known_as(fingerprint(path))
    assert content.mark().size == len(LONG)


@pytest.mark.parametrize("change", ["grown", "shorter", "other", "another", "gone"])
def test_a_file_that_changes_while_it_is_read(change, path, content):
    content.take(0, LONG[:200_000])
    if change == "grown":
        with path.open("ab") as file:
            file.write(b"more")
    elif change == "shorter":
        os.truncate(path, 1 << 20)
    elif change == "other":
        with path.open("r+b") as file:
            file.write(b"?")
    elif change == "another":
        path.with_name("b").write_bytes(LONG[::-1])
        path.with_name("b").replace(path)
    else:
        path.unlink()
    with pytest.raises(FileProblemError, match=r"^a\.csv: has changed while it was read"):
        content.fingerprint()


def test_a_file_that_only_seems_to_have_changed(path, content):
    content.take(0, LONG)
    os.utime(path, (0, 0))
    path.with_name("link").hardlink_to(path)
    assert content.fingerprint() == fingerprint(path)
