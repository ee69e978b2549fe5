"""The same entries give the same bits, wherever a state was put down and taken up in between."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate.service.definitions import Options, define
from baserate.service.entries import Forgotten, Labels, Shadow, pack, rows_entry, unpack
from baserate.service.problems import InvalidError
from baserate.service.state import StreamState
from tests.service.served import CLASSES, HELD, HELD_Y, named, outputs

FITTED = {
    rows: StreamState.fit(define(CLASSES, HELD, named(HELD_Y), Options(round_rows=rows, max_waiting=15)), 0.0).dumps()
    for rows in (None, 7)
}
NAMES = [f"id{i}" for i in range(12)]


@st.composite
def entries(draw):
    kind = draw(st.sampled_from(["rows"] * 5 + ["labels"] * 3 + ["shadow", "forget"]))
    at = draw(st.floats(0.0, 100.0))
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    if kind == "shadow":
        return Shadow(at, draw(st.booleans()))
    if kind == "forget":
        return Forgotten(at, names)
    if kind == "labels":
        labels = draw(st.lists(st.integers(-1, 2), min_size=len(names), max_size=len(names)))
        return Labels(at, names, np.array(labels, dtype=np.int64).tobytes())
    n = draw(st.integers(0, 8))
    proba, y = outputs(n, draw(st.integers(0, 1000)))
    labels = np.where(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool), y, -1)
    ids = draw(st.lists(st.sampled_from([*NAMES, None, None]), min_size=n, max_size=n))
    return rows_entry(at, proba, labels if draw(st.booleans()) else None, ids if draw(st.booleans()) else None)


@given(st.lists(entries(), max_size=12), st.sampled_from([None, 7]), st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_a_state_goes_on_bit_for_bit(work, round_rows, place):
    whole, stopped = (StreamState.loads(FITTED[round_rows]) for _ in range(2))
    for number, entry in enumerate(work):
        packed = pack(entry)
        before = whole.dumps()
        try:
            answer = whole.apply(unpack(packed))
        except InvalidError:
            assert whole.dumps() == before  # what is refused changes nothing
            continue
        if number == place:
            stopped = StreamState.loads(stopped.dumps())
        assert stopped.apply(unpack(packed)) == answer
        assert whole.waiting.samples.keys() >= set()
    assert stopped.dumps() == whole.dumps()
    waiting_in_rounds = {name for rows in whole._buffered for name in rows.ids or () if name is not None}
    assert len(whole.waiting) == whole.adapter.waiting_ <= 15
    assert not waiting_in_rounds & set(whole.waiting.samples)


def test_events_tell_what_happened():
    state = StreamState.loads(FITTED[None])
    state.apply(rows_entry(1.0, HELD[:2], None, ["a", "b"]))
    state.apply(Labels(3.0, ["a", "c"], np.array([0, 1]).tobytes()))
    state.apply(Shadow(4.0, True))
    state.apply(Shadow(5.0, True))
    state.apply(Forgotten(6.0, ["b"]))
    told = [(event.at, event.kind, event.text) for event in state.events]
    assert told == [
        (3.0, "labels", "1 of 2 labels"),
        (4.0, "shadow", "shadow mode on"),
        (6.0, "forgotten", "1 ids deleted"),
    ]
    assert state.waiting.mean_lag == 2.0


def test_an_alarm_is_an_event():
    state = StreamState.loads(FITTED[None])
    rng = np.random.default_rng(0)
    for _ in range(400):
        odds = np.exp(rng.normal(0.0, 0.3, size=(20, 3)))  # a model that is never sure: no mix explains that
        state.apply(rows_entry(1.0, odds / odds.sum(axis=1, keepdims=True)))
    kinds = [event.kind for event in state.events]
    assert "alarm" in kinds
    assert kinds.index("alarm") == kinds.index("fallback") - 1
    assert "class mix seems to have changed" in next(event.text for event in state.events if event.kind == "alarm")


@pytest.mark.parametrize("ids", [["a", "a"], ["a", "waits"]])
def test_an_id_is_used_once(ids):
    for rows in (None, 7):
        state = StreamState.loads(FITTED[rows])
        state.apply(rows_entry(1.0, HELD[:1], None, ["waits"]))
        before = state.dumps()
        with pytest.raises(InvalidError, match="give every sample its own"):
            state.apply(rows_entry(1.0, HELD[:2], None, ids))
        assert state.dumps() == before
