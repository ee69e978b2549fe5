"""Contract checks: what every tracker, estimator, calibrator, adapter, learner and shift promises beyond its types.

A plug-in runs them on itself::

    from baserate.checks import checks_for

    for check in checks_for(MyTracker(n_classes=3)):
        check(MyTracker(n_classes=3))

Each check takes an unmoved instance made for three classes, works on clones of it, and raises an AssertionError that
says which promise was broken.
"""

import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]

from baserate.protocols import (
    Adapter,
    BankableTracker,
    Calibrator,
    FloatArray,
    Learner,
    MarginalEstimator,
    Shift,
    Tracker,
)
from baserate.state import Component, dumps, loads

Check = Callable[[Any], None]

K = 3
_RNG = np.random.default_rng(0)
_SIGHTINGS = _RNG.dirichlet(np.ones(K), size=40)
_Y = np.concatenate([np.arange(K), _RNG.integers(K, size=57)])
_PROBA = 0.6 * np.eye(K)[_Y] + 0.4 * _RNG.dirichlet(np.ones(K), size=60)
_X = np.eye(K)[_Y] + 0.3 * _RNG.standard_normal((60, K))
_MIX = np.array([0.2, 0.3, 0.5])


class Role(NamedTuple):
    """How to drive one kind of object: make it ready, move it by one round, look at what it says."""

    protocol: type
    start: Callable[[Any], None]
    move: Callable[[Any, int], None] | None
    look: Callable[[Any], FloatArray]
    on_simplex: bool


def _batch(i: int) -> slice:
    return slice(5 * (i % 12), 5 * (i % 12) + 5)


def _nothing(_: Any) -> None:
    pass


def _fit(obj: Any) -> None:
    obj.fit(_PROBA, _Y)


_ROLES = (
    Role(Tracker, _nothing, lambda o, i: o.update(_SIGHTINGS[i % 40]), lambda o: o.predict(), False),
    Role(Adapter, _fit, lambda o, i: o.update(_PROBA[_batch(i)]), lambda o: o.predict_proba(_PROBA[:7]), True),
    Role(MarginalEstimator, _fit, None, lambda o: o.estimate(_PROBA[:7]), False),
    Role(Calibrator, _fit, None, lambda o: o.transform(_PROBA[:7]), True),
    Role(Shift, _nothing, None, lambda o: o.path(50, K, 0), True),
    Role(
        Learner, _nothing, lambda o, i: o.update(_X[_batch(i)], _Y[_batch(i)]), lambda o: o.predict_proba(_X[:7]), True
    ),
)


def role_of(obj: Any) -> Role:
    """How to drive an object: by the first contract that it follows."""
    for role in _ROLES:
        if isinstance(obj, role.protocol):
            return role
    raise AssertionError(f"{type(obj).__name__} follows none of the contracts of baserate.protocols")


def checks_for(obj: Any) -> list[Check]:
    """All checks that apply to an object."""
    role = role_of(obj)
    checks: list[Check] = [check_output, check_pure, check_deterministic, check_no_aliases, check_clone]
    if isinstance(obj, Component):
        checks += [check_resume, check_bad_input]
    if role.move is not None:
        checks += [check_moves, check_copies_are_independent]
    if hasattr(obj, "reset"):
        checks += [check_reset]
    if role.protocol is Tracker:
        checks += [check_tracker_learns, check_tracker_takes_any_vector, check_memory]
    if isinstance(obj, BankableTracker):
        checks += [check_bank]
    if role.protocol is Adapter:
        checks += [check_step, check_empty_batch]
    return checks


def _ready(obj: Any, rounds: int = 0) -> Any:
    """A clone of an object, fitted, and moved by some rounds."""
    role = role_of(obj)
    ready = clone(obj, safe=False)
    role.start(ready)
    for i in range(rounds if role.move is not None else 0):
        _move(ready, i)
    return ready


def _move(obj: Any, i: int) -> None:
    move = role_of(obj).move
    assert move is not None
    move(obj, i)


def _look(obj: Any) -> FloatArray:
    return np.copy(role_of(obj).look(obj))


def _require(condition: object, obj: Any, promise: str) -> None:
    if not condition:
        raise AssertionError(f"{type(obj).__name__}: {promise}")


def _same(a: Any, b: Any) -> bool:
    return np.asarray(a).shape == np.asarray(b).shape and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def check_output(obj: Any) -> None:
    """Outputs are finite float64 of the right shape; those that are class mixes lie on the simplex, in every round."""
    role = role_of(obj)
    ready = _ready(obj)
    for i in range(12):
        out = role.look(ready)
        _require(isinstance(out, np.ndarray) and out.dtype == np.float64, obj, "outputs are float64 arrays")
        _require(out.shape[-1] == K, obj, f"outputs have one entry per class in the last axis, not shape {out.shape}")
        _require(np.isfinite(out).all(), obj, "outputs are finite")
        if role.on_simplex:
            on_simplex = (out >= 0).all() and np.abs(out.sum(axis=-1) - 1).max() < 1e-9
            _require(on_simplex, obj, "outputs lie on the simplex")
        if role.move is not None:
            _move(ready, i)


def check_pure(obj: Any) -> None:
    """Looking twice, or not at all, changes nothing."""
    often, never = _ready(obj), _ready(obj)
    for i in range(6):
        _require(_same(_look(often), _look(often)), obj, "predicting twice gives the same twice")
        if role_of(obj).move is not None:
            _move(often, i)
            _move(never, i)
    _require(_same(_look(often), _look(never)), obj, "predicting changes nothing")


def check_deterministic(obj: Any) -> None:
    """The same input gives the same bits."""
    _require(_same(_look(_ready(obj, 9)), _look(_ready(obj, 9))), obj, "the same input gives the same bits")


def check_no_aliases(obj: Any) -> None:
    """What is returned belongs to the caller, and what was handed over still does."""
    ready = _ready(obj, 3)
    before = _look(ready)
    mine = role_of(ready).look(ready)
    if mine.flags.writeable:
        mine[...] = 7.0
    _require(_same(_look(ready), before), obj, "changing a returned array changes nothing inside")
    if isinstance(obj, Tracker):
        z = _SIGHTINGS[0].copy()
        ready.update(z)
        before = _look(ready)
        z[:] = 7.0
        _require(_same(_look(ready), before), obj, "changing an array after handing it over changes nothing inside")


def check_clone(obj: Any) -> None:
    """A clone has the same parameters, and none of the state."""
    moved = _ready(obj, 5)
    fresh = clone(moved, safe=False)
    if hasattr(obj, "get_params"):
        before, after = obj.get_params(deep=False), fresh.get_params(deep=False)
        _require(repr(before) == repr(after), obj, "a clone has the same parameters")
    role_of(obj).start(fresh)
    _require(_same(_look(fresh), _look(_ready(obj))), obj, "a clone starts anew")


def check_resume(obj: Any) -> None:
    """Saved at any round and loaded, it goes on bit for bit as if it had never stopped."""
    role = role_of(obj)
    for rounds in (0, 1, 17):
        running = _ready(obj, rounds)
        data = dumps(running)
        resumed = loads(data)
        _require(dumps(resumed) == data, obj, "a loaded object has the state of the saved one")
        for i in range(rounds, rounds + 20 if role.move is not None else rounds):
            _move(running, i)
            _move(resumed, i)
            _require(_same(_look(running), _look(resumed)), obj, "resumed = uninterrupted, bit for bit")
        _require(_same(_look(running), _look(resumed)), obj, "a loaded object predicts as the saved one")


def check_moves(obj: Any) -> None:
    """`update` has an effect that can be saved."""
    if isinstance(obj, Component):
        ready = _ready(obj)
        before = dumps(ready)
        _move(ready, 0)
        _require(dumps(ready) != before, obj, "update moves the state")


def check_copies_are_independent(obj: Any) -> None:
    """A deep copy goes its own way."""
    ready = _ready(obj, 3)
    before = _look(ready)
    twin = copy.deepcopy(ready)
    for i in range(5):
        _move(twin, i)
    _require(_same(_look(ready), before), obj, "moving a copy leaves the original alone")


def check_reset(obj: Any) -> None:
    """`reset` forgets the stream."""
    moved, fresh = _ready(obj, 9), _ready(obj)
    moved.reset()
    _require(_same(_look(moved), _look(fresh)), obj, "reset forgets what was seen")
    for i in range(9, 15):
        _move(moved, i)
        _move(fresh, i)
    _require(_same(_look(moved), _look(fresh)), obj, "after a reset it goes on like a new one")


def check_tracker_learns(obj: Any) -> None:
    """Shown the same vector for long enough, a tracker predicts it; before any sighting it predicts a class mix."""
    ready = _ready(obj)
    first = ready.predict()
    _require(
        (first >= 0).all() and abs(first.sum() - 1) < 1e-9, obj, "before any sighting the prediction is a class mix"
    )
    for _ in range(300):
        ready.update(_MIX)
    _require(np.abs(ready.predict() - _MIX).max() < 0.05, obj, "a constant sequence is learned")


def check_tracker_takes_any_vector(obj: Any) -> None:
    """Sightings may leave the simplex."""
    ready = _ready(obj)
    for z in ([-1.0, 3.0, -1.0], [100.0, -50.0, -49.0], [1e6, 0.0, -1e6], [0.0, 0.0, 0.0]):
        ready.update(z)
        _require(np.isfinite(ready.predict()).all(), obj, "any finite sighting gives a finite prediction")


def check_memory(obj: Any) -> None:
    """State grows at most linearly with time; that of a bankable tracker stops growing."""

    def size(rounds: int) -> int:
        return len(dumps(_ready(obj, rounds))) if isinstance(obj, Component) else 0

    early, middle, late = size(200), size(400), size(800)
    _require(late - middle <= 2.2 * (middle - early) + 512, obj, "memory grows at most linearly")
    if isinstance(obj, BankableTracker):
        _require(late <= middle + 16, obj, "the state of a bankable tracker is bounded")


def check_bank(obj: Any) -> None:
    """Many keys at once give the bits of each alone."""
    births = np.stack([_MIX, _MIX[::-1], np.full(K, 1 / K)])
    alone = [clone(obj) for _ in births]
    for tracker, birth in zip(alone, births, strict=True):
        tracker.restart(birth)
    state = obj.new_state(births)
    for i in range(30):
        rows = np.flatnonzero([i % 2 == 0, True, i % 5 == 0])[:: -1 if i % 3 else 1].copy()
        z = _SIGHTINGS[(i + rows) % 40]
        obj.update_rows(state, rows, z)
        for row, sighting in zip(rows, z, strict=True):
            alone[row].update(sighting)
        together = obj.predict_rows(state, np.arange(len(births)))
        _require(
            _same(together, [tracker.predict() for tracker in alone]), obj, "a key in a bank is a tracker, bit for bit"
        )


def check_step(obj: Any) -> None:
    """`step` is predict, then update (in transductive mode, predict after a look at the unlabelled batch)."""
    by_step, by_hand = _ready(obj), _ready(obj)
    for i in range(10):
        batch, labels = _PROBA[_batch(i)], _Y[_batch(i)] if i % 3 == 0 else None
        expected = by_hand.predict_proba(batch)
        prior = by_hand.prior_
        by_hand.update(batch, labels)
        step = by_step.step(batch, labels)
        _require(_same(step.proba, expected), obj, "step returns what predict_proba would have")
        if not getattr(obj, "transductive", False):
            _require(_same(step.prior, prior), obj, "step returns the prior that was used")
        _require(_same(by_step.prior_, by_hand.prior_), obj, "step moves the state as update does")


def check_empty_batch(obj: Any) -> None:
    """A round without samples is predicted and taken in without complaint, and says nothing about the mix."""
    ready = _ready(obj, 2)
    nothing = np.empty((0, K))
    _require(ready.predict_proba(nothing).shape == (0, K), obj, "an empty batch has empty predictions")
    tracker = getattr(ready, "tracker_", None)
    before = None if tracker is None else tracker.predict()
    ready.update(nothing)
    _require(tracker is None or _same(tracker.predict(), before), obj, "an empty batch does not move the tracked mix")


# Methods that array code calls with input that is checked already, and those of saving.
_TRUSTING = {
    "bind", "new_state", "predict_rows", "update_rows", "estimate_groups", "project", "sightings", "get_state",
    "set_state", "examples",
}  # fmt: skip

_NAN, _INF = np.array([[np.nan, 0.5, 0.5]]), np.array([[np.inf, 0.5, 0.5]])
_BAD_VECTORS: list[Any] = [
    _NAN[0], _INF[0], [0.5, 0.5], [[0.2, 0.3, 0.5]], 0.5, ["a", "b", "c"], [0.2, None, 0.8], [1j, 0, 0], {"a": 1},
]  # fmt: skip
_BAD_COUNTS: list[Any] = [0, -1, 1.5, "3", None, True]
_GOOD: dict[str, Any] = {
    "proba": _PROBA, "y": _Y, "X": _X, "z": _MIX, "q": _MIX, "birth": _MIX, "n_rounds": 5, "n_classes": K, "rng": 0,
}  # fmt: skip
_BAD: dict[str, list[Any]] = {
    "proba": [
        np.vstack([_PROBA[:-1], _NAN]), np.vstack([_PROBA[:-1], _INF]), np.vstack([_PROBA[:-1], [[-0.5, 1.0, 0.5]]]),
        2 * _PROBA, np.log(_PROBA), _PROBA[:, :2] / _PROBA[:, :2].sum(axis=1, keepdims=True), np.ones((60, 1)),
        _PROBA[0], _PROBA[np.newaxis], [[0.5, 0.5], [1.0]], _PROBA.astype(str), _PROBA.astype(complex), 0.5, "proba",
        {"a": 1},
    ],
    "y": [
        _Y[:-1], _Y[:, np.newaxis], np.full(60, K), np.full(60, -2), _Y + 0.5, np.full(60, np.inf),
        np.array(["a"] * 60), 1,
    ],
    "z": _BAD_VECTORS,
    "birth": _BAD_VECTORS,
    "q": [*_BAD_VECTORS, [-0.5, 1.0, 0.5], [0.5, 0.5, 0.5]],
    "n_rounds": _BAD_COUNTS,
    "n_classes": [*_BAD_COUNTS, 1],
    "rng": ["seed", -1, 1.5],
}  # fmt: skip


def public_methods(obj: Any) -> Iterator[tuple[str, list[str]]]:
    """Names and arguments of the public methods of an object that take input from users."""
    for name, method in inspect.getmembers(type(obj), inspect.isfunction):
        if not name.startswith("_") and name not in _TRUSTING and not method.__module__.startswith("sklearn"):
            arguments = [p.name for p in inspect.signature(method).parameters.values() if p.kind is not p.VAR_KEYWORD]
            yield name, [argument for argument in arguments[1:] if argument != "evidence"]


def check_bad_input(obj: Any) -> None:
    """Bad input gets a ValueError or TypeError that names the argument, and changes nothing: in every public method."""
    for name, arguments in public_methods(obj):
        for argument in arguments:
            _require(argument in _GOOD, obj, f"{name} has an argument {argument!r} that its contract does not know")
            for bad in _BAD.get(argument, []):
                ready = _ready(obj, 2)
                before = dumps(ready)
                try:
                    getattr(ready, name)(**{**{a: _GOOD[a] for a in arguments}, argument: bad})
                except (ValueError, TypeError) as error:
                    complaint = str(error)
                else:
                    raise AssertionError(f"{type(obj).__name__}.{name} accepted {argument} = {bad!r}")
                _require(argument in complaint, obj, f"{name}: the error names {argument}, not {complaint!r}")
                _require(dumps(ready) == before, obj, f"{name} changes nothing when it refuses {argument} = {bad!r}")
