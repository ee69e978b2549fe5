"""Texts as arrays of bytes."""

import pytest

from baserate_lab.datasets._texts import one_line, pack, unpack


@pytest.mark.parametrize("texts", [["one", "", "dreißig 漢字\n"], [""], []])
def test_texts_survive_packing(texts):
    packed = pack("X", texts)
    assert {array.dtype.kind for array in packed.values()} <= {"u", "i"}
    restored = unpack(packed, "X")
    assert restored.dtype == object
    assert restored.tolist() == texts


def test_half_a_character_is_replaced():
    assert unpack(pack("X", ["a\ud800b"]), "X").tolist() == ["a?b"]


def test_one_line():
    assert one_line("  a\n  b\t c ") == "a b c"
