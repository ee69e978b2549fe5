"""One check for each promise."""

import copy
from typing import Any

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]

from baserate.checks._roles import (
    ESTIMATES,
    MIX,
    K,
    Y,
    batch_rows,
    move,
    output_of,
    prepare,
    require,
    role_of,
    same,
    samples_for,
)
from baserate.protocols import BankableTracker, Tracker
from baserate.state import dumps, loads


def check_output(obj: Any) -> None:
    """Outputs are finite float64 of the right shape; those that are class mixes lie on the simplex, in every round."""
    role = role_of(obj)
    ready = prepare(obj)
    for i in range(12):
        out = role.output(ready)
        require(isinstance(out, np.ndarray) and out.dtype == np.float64, obj, "outputs are float64 arrays")
        require(out.shape[-1] == K, obj, f"outputs have one entry per class in the last axis, not shape {out.shape}")
        require(np.isfinite(out).all(), obj, "outputs are finite")
        if role.on_simplex:
            on_simplex = (out >= 0).all() and np.abs(out.sum(axis=-1) - 1).max() < 1e-9
            require(on_simplex, obj, "outputs lie on the simplex")
        if role.move is not None:
            move(ready, i)


def check_pure(obj: Any) -> None:
    """Predicting twice, or not at all, changes nothing."""
    often, never = prepare(obj), prepare(obj)
    for i in range(6):
        require(same(output_of(often), output_of(often)), obj, "predicting twice gives the same twice")
        if role_of(obj).move is not None:
            move(often, i)
            move(never, i)
    require(same(output_of(often), output_of(never)), obj, "predicting changes nothing")


def check_deterministic(obj: Any) -> None:
    """The same input gives the same bits."""
    require(same(output_of(prepare(obj, 9)), output_of(prepare(obj, 9))), obj, "the same input gives the same bits")


def check_no_aliases(obj: Any) -> None:
    """Returned arrays and arguments belong to the caller: changing them does not change the object."""
    ready = prepare(obj, 3)
    before = output_of(ready)
    mine = role_of(ready).output(ready)
    if mine.flags.writeable:
        mine[...] = 7.0
    require(same(output_of(ready), before), obj, "changing a returned array changes nothing inside")
    if hasattr(obj, "fit"):
        samples, labels = samples_for(obj).copy(), Y.copy()
        fitted = clone(obj, safe=False).fit(samples, labels)
        before = output_of(fitted)
        samples[...], labels[...] = samples[::-1].copy(), labels[::-1].copy()
        require(same(output_of(fitted), before), obj, "changing the holdout after fitting changes nothing inside")
        if role_of(obj).move is not None:
            untouched = prepare(obj, 3)
            for i in range(3):
                move(fitted, i)
            require(
                same(output_of(fitted), output_of(untouched)),
                obj,
                "changing the holdout after fitting changes nothing later",
            )
    if isinstance(obj, Tracker):
        z = ESTIMATES[0].copy()
        ready.update(z)
        before = output_of(ready)
        z[:] = 7.0
        require(same(output_of(ready), before), obj, "changing an array after handing it over changes nothing inside")


def check_clone(obj: Any) -> None:
    """A clone has the same parameters, and none of the state."""
    moved = prepare(obj, 5)
    fresh = clone(moved, safe=False)
    before, after = obj.get_params(deep=False), fresh.get_params(deep=False)
    require(repr(before) == repr(after), obj, "a clone has the same parameters")
    role_of(obj).start(fresh)
    require(same(output_of(fresh), output_of(prepare(obj))), obj, "a clone starts anew")


def check_resume(obj: Any) -> None:
    """An object that is saved at any round and loaded continues bit for bit as if never interrupted."""
    role = role_of(obj)
    for rounds in (0, 1, 17):
        running = prepare(obj, rounds)
        data = dumps(running)
        resumed = loads(data)
        require(dumps(resumed) == data, obj, "a loaded object has the state of the saved one")
        for i in range(rounds, rounds + 20 if role.move is not None else rounds):
            move(running, i)
            move(resumed, i)
            require(same(output_of(running), output_of(resumed)), obj, "resumed = uninterrupted, bit for bit")
        require(same(output_of(running), output_of(resumed)), obj, "a loaded object predicts as the saved one")


def check_states_are_not_shared(obj: Any) -> None:
    """An object that was given another's state does not share it."""
    first = prepare(obj, 3)
    before = dumps(first)
    second = clone(obj, safe=False).set_state(first.get_state())
    for i in range(3, 8):
        move(second, i)
    require(dumps(first) == before, obj, "moving an object leaves the one alone whose state it was given")


def check_moves(obj: Any) -> None:
    """`update` has an effect that can be saved."""
    ready = prepare(obj)
    before = dumps(ready)
    move(ready, 0)
    require(dumps(ready) != before, obj, "update moves the state")


def check_copies_are_independent(obj: Any) -> None:
    """A deep copy shares no state with its original."""
    ready = prepare(obj, 3)
    before = output_of(ready)
    twin = copy.deepcopy(ready)
    for i in range(5):
        move(twin, i)
    require(same(output_of(ready), before), obj, "moving a copy leaves the original alone")


def check_reset(obj: Any) -> None:
    """`reset` forgets the stream."""
    moved, fresh = prepare(obj, 9), prepare(obj)
    moved.reset()
    require(same(output_of(moved), output_of(fresh)), obj, "reset forgets what was seen")
    for i in range(9, 15):
        move(moved, i)
        move(fresh, i)
    require(same(output_of(moved), output_of(fresh)), obj, "after a reset it goes on like a new one")


def check_tracker_learns(obj: Any) -> None:
    """A tracker learns a constant vector; before the first update it predicts a class mix."""
    ready = prepare(obj)
    first = ready.predict()
    require(
        (first >= 0).all() and abs(first.sum() - 1) < 1e-9, obj, "before any sighting the prediction is a class mix"
    )
    for _ in range(300):
        ready.update(MIX)
    require(np.abs(ready.predict() - MIX).max() < 0.05, obj, "a constant sequence is learned")


def check_tracker_takes_any_vector(obj: Any) -> None:
    """A tracker accepts estimates that are not on the simplex."""
    ready = prepare(obj)
    for z in ([-1.0, 3.0, -1.0], [100.0, -50.0, -49.0], [1e6, 0.0, -1e6], [0.0, 0.0, 0.0]):
        ready.update(z)
        require(np.isfinite(ready.predict()).all(), obj, "any finite sighting gives a finite prediction")


def check_memory(obj: Any) -> None:
    """State grows at most linearly with time, and not at all for a bankable tracker."""
    early, middle, late = (len(dumps(prepare(obj, rounds))) for rounds in (200, 400, 800))
    require(late - middle <= 2.2 * (middle - early) + 512, obj, "memory grows at most linearly")
    if isinstance(obj, BankableTracker):
        require(late <= middle + 16, obj, "the state of a bankable tracker is bounded")


def check_bank(obj: Any) -> None:
    """Many keys together give the same bits as each alone."""
    births = np.stack([MIX, MIX[::-1], np.full(K, 1 / K)])
    alone = [clone(obj) for _ in births]
    for tracker, birth in zip(alone, births, strict=True):
        tracker.restart(birth)
    state = obj.new_state(births)
    for i in range(30):
        rows = np.flatnonzero([i % 2 == 0, True, i % 5 == 0])[:: -1 if i % 3 else 1].copy()
        z = ESTIMATES[(i + rows) % 40]
        obj.update_rows(state, rows, z)
        for row, sighting in zip(rows, z, strict=True):
            alone[row].update(sighting)
        together = obj.predict_rows(state, np.arange(len(births)))
        require(
            same(together, [tracker.predict() for tracker in alone]), obj, "a key in a bank is a tracker, bit for bit"
        )


def check_step(obj: Any) -> None:
    """`step` is predict, then update (in transductive mode, predict with the unlabelled batch)."""
    by_step, by_hand = prepare(obj), prepare(obj)
    for i in range(10):
        batch, labels = samples_for(obj)[batch_rows(i)], Y[batch_rows(i)] if i % 3 == 0 else None
        expected = by_hand.predict_proba(batch)
        prior = by_hand.prior_
        by_hand.update(batch, labels)
        step = by_step.step(batch, labels)
        require(same(step.proba, expected), obj, "step returns what predict_proba would have")
        if not getattr(obj, "transductive", False):
            require(same(step.prior, prior), obj, "step returns the prior that was used")
        require(same(by_step.prior_, by_hand.prior_), obj, "step moves the state as update does")


def check_empty_batch(obj: Any) -> None:
    """A round without samples is accepted by `predict_proba` and `update`, and does not move the tracked mix."""
    ready = prepare(obj, 2)
    nothing = np.empty((0, K))
    require(ready.predict_proba(nothing).shape == (0, K), obj, "an empty batch has empty predictions")
    tracker = getattr(ready, "tracker_", None)
    before = None if tracker is None else tracker.predict()
    head = getattr(ready, "head_", None)
    ready.update(nothing)
    require(tracker is None or same(tracker.predict(), before), obj, "an empty batch does not move the tracked mix")
    require(head is None or same(ready.head_[0], head[0]), obj, "an empty batch does not move the layer")
