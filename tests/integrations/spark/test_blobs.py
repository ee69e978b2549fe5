"""Blobs: one run of bytes below 128, of the same object; older ones are read, damaged ones refused."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

from baserate.integrations.spark.blobs import pack, unpack
from baserate.integrations.spark.bucket import Bucket, read_blob
from baserate.integrations.spark.processing import process
from baserate.state import dumps
from baserate.trackers import FollowTheFixedWindow

from .streams import COLUMNS, plan, table


def moved(n=5, k=3):
    tracker = FollowTheFixedWindow(k)
    for z in np.random.default_rng(0).dirichlet(np.ones(k), n):
        tracker.update(z)
    return tracker


def plain(value):
    """The value with arrays as bytes, so that it can be compared."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def test_a_blob_is_the_object_and_of_bytes_that_are_one_character_of_text_each():
    tracker = moved()
    blob = pack(tracker)
    assert max(blob) < 128
    assert dumps(unpack(blob, "a blob")) == dumps(tracker)
    assert pack(unpack(blob, "a blob")) == blob


def test_a_bucket_with_long_arrays_some_of_which_are_compressed():
    blob = process(None, table(3000, seed=5, n_keys=200), plan(), COLUMNS).blob
    state = read_blob(blob)
    whole = sum(array.nbytes for part in (state["trackers"], state["signs"]) for array in part.values())
    assert max(blob) < 128
    assert len(blob) < 0.7 * whole
    again = pack(Bucket().set_state(state))
    assert again == blob
    assert plain(read_blob(again)) == plain(state)


def test_blobs_that_were_state_files_are_read():
    file = dumps(moved())
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as stream:
        stream.write(file)
    for older in (file, sink.getvalue().to_pybytes()):
        assert dumps(unpack(older, "a blob")) == file


@pytest.mark.parametrize("seed", range(30))
def test_damaged_blobs_are_refused_or_read(seed):
    rng, blob = np.random.default_rng(seed), bytearray(process(None, table(40, seed=1), plan(), COLUMNS).blob)
    for place in rng.integers(8, len(blob), 3):
        blob[place] = rng.integers(0, 128)
    if seed % 3 == 0:
        del blob[int(rng.integers(8, len(blob))) :]
    try:
        read_blob(bytes(blob))
    except ValueError as error:
        assert str(error).startswith("a bucket of Spark's state")  # noqa: PT017


def lied(change):
    """A blob whose description of arrays says something else."""
    from baserate.integrations.spark import blobs

    data = blobs._in_eight_bits(pack(moved())).tobytes()
    size = int.from_bytes(data[:8], "little")
    manifest, described = json.loads(data[8 : 8 + size])
    change(described[0])
    head = json.dumps([manifest, described]).encode()
    head += b" " * (-len(head) % 8)
    return blobs._in_seven_bits(len(head).to_bytes(8, "little") + head + data[8 + size :])


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.__setitem__(0, "|O8"),
        lambda one: one.__setitem__(1, [-1, *one[1][1:]]),
        lambda one: one.__setitem__(1, [2**40]),
        lambda one: one.__setitem__(2, "<u2"),
        lambda one: one.__setitem__(2, "|O8"),
        lambda one: one.__setitem__(4, one[4] + 8),
        lambda one: one.__setitem__(4, -8),
        lambda one: one.__setitem__(4, 2**40),
        lambda one: one.__setitem__(5, False),
        lambda one: (one.__setitem__(1, [2**33]), one.__setitem__(5, False)),
    ],
)
def test_a_blob_that_describes_other_arrays_is_refused(change):
    with pytest.raises(ValueError, match="a blob "):
        unpack(lied(change), "a blob")


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([3], "u1"),
        ([-1, 254], "u1"),
        ([-1, 255], "u2"),
        ([10**15, 10**15 + 65_536], "u4"),
        ([-(2**63), 2**63 - 1], "i8"),
        ([0, 2**32], "i8"),
        ([-(2**63), -(2**63) + 7], "u1"),
    ],
)
def test_whole_numbers_take_as_few_bytes_as_they_need(numbers, kind):
    from baserate.integrations.spark import blobs

    narrow, least = blobs._narrowed(np.array(numbers))
    assert narrow.dtype == np.dtype(kind)
    assert (narrow.astype(np.int64) + np.int64(least)).tolist() == numbers


@pytest.mark.parametrize("n", [0, 1, 6, 7, 8, 13, 14, 15, 49, 1000])
def test_seven_bits(n):
    from baserate.integrations.spark import blobs

    data = os.urandom(n)
    folded = blobs._in_seven_bits(data)
    assert max(folded) < 128
    assert blobs._in_eight_bits(folded).tobytes() == data
