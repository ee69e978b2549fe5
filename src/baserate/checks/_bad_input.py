"""Check that bad input is refused with a helpful message, and changes nothing."""

import contextlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from baserate.checks._roles import MIX, PROBA, K, X, Y, prepare, require
from baserate.protocols import CorrectableTracker, IdlingTracker, Tracker
from baserate.state import dumps

# Methods that are called with checked input, that take ids of any samples, and those for saving.
TRUSTING = {
    "forget",
    "bind", "tolerate", "new_state", "predict_rows", "update_rows", "estimate_groups", "idle_rows", "calibrate",
    "of_row", "correct_row", "interval_of",
    "project", "sightings", "label_spread", "correct", "get_state", "set_state", "examples",
}  # fmt: skip

_NAN, _INF = np.array([[np.nan, 0.5, 0.5]]), np.array([[np.inf, 0.5, 0.5]])
BAD_VECTORS: list[Any] = [
    _NAN[0], _INF[0], [0.5, 0.5], [[0.2, 0.3, 0.5]], 0.5, ["a", "b", "c"], [0.2, None, 0.8], [1j, 0, 0], {"a": 1},
]  # fmt: skip
BAD_COUNTS: list[Any] = [0, -1, 1.5, "3", None, True]
GOOD: dict[str, Any] = {
    "proba": PROBA, "y": Y, "X": X, "z": MIX, "q": MIX, "birth": MIX, "n_rounds": 5, "n_classes": K, "rng": 0,
    "ids": [f"a{i}" for i in range(len(Y))], "level": 0.9, "rounds": 3, "previous": None, "names": None,
    "class_conditional": False, "allow_empty": False, "n": 5, "y_probability": 0.5,
    "labels": True,
}  # fmt: skip
BAD: dict[str, list[Any]] = {
    "proba": [
        np.vstack([PROBA[:-1], _NAN]), np.vstack([PROBA[:-1], _INF]), np.vstack([PROBA[:-1], [[-0.5, 1.0, 0.5]]]),
        2 * PROBA, np.log(PROBA), PROBA[:, :2] / PROBA[:, :2].sum(axis=1, keepdims=True), np.ones((60, 1)),
        PROBA[0], PROBA[np.newaxis], [[0.5, 0.5], [1.0]], PROBA.astype(str), PROBA.astype(complex), 0.5, "proba",
        {"a": 1},
    ],
    "y": [
        Y[:-1], Y[:, np.newaxis], np.full(60, K), np.full(60, -2), Y + 0.5, np.full(60, np.inf),
        np.array(["a"] * 60), 1,
    ],
    "X": [
        np.vstack([X[:-1], _NAN]), np.vstack([X[:-1], _INF]), X[:, :2], X[0], X[np.newaxis], [[0.5, 0.5], [1.0]],
        X.astype(complex), np.full((60, K), "a"), 0.5, "X", {"a": 1},
    ],
    "z": BAD_VECTORS,
    "birth": BAD_VECTORS,
    "q": [*BAD_VECTORS, [-0.5, 1.0, 0.5], [0.5, 0.5, 0.5]],
    "n_rounds": BAD_COUNTS,
    "n_classes": [*BAD_COUNTS, 1],
    "rng": ["seed", -1, 1.5],
    "previous": [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, -1], [0, 1, "2"], [None] * 3, "012", 1, [0, 1, 1.5]],
    "rounds": [-1, 1.5, "3", None, True],
    "level": [0.0, 1.0, -0.5, 90, np.nan, "0.9", None],
    "n": BAD_COUNTS,
    "labels": ["no", 2, None],
    "y_probability": [0.0, -0.5, 1.5, np.nan, "half", [0.5] * 59, [[0.5] * 60], [*[0.5] * 59, 0.0], 1j, {"a": 1}],
    "ids": [["a", "b"], ["a"] * 60, [*range(59), "a"], [0.5] * 60, "a", 1],
}  # fmt: skip


def public_methods(obj: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield the names and arguments of an object's public methods that take input from users."""
    tracker = getattr(obj, "tracker", None)
    # Ids of samples are accepted only where labels may arrive late.
    skipped = {"evidence"} if tracker is None or isinstance(tracker, CorrectableTracker) else {"evidence", "ids"}
    for name, method in inspect.getmembers(type(obj), inspect.isfunction):
        if (
            not name.startswith("_")
            and name not in TRUSTING
            and not method.__module__.startswith(("sklearn", "baserate.parameters"))
        ):
            arguments = [p.name for p in inspect.signature(method).parameters.values() if p.kind is not p.VAR_KEYWORD]
            cannot = (name == "update_labels" and "ids" in skipped) or (name == "idle" and not _can_idle(obj))
            if not cannot:
                yield name, [argument for argument in arguments[1:] if argument not in skipped]


def _can_idle(obj: Any) -> bool:
    return isinstance(getattr(prepare(obj), "tracker_", obj), IdlingTracker)


def check_bad_input(obj: Any) -> None:
    """Bad input to any public method raises a ValueError or TypeError that names the argument, and changes nothing."""
    if isinstance(obj, Tracker) and "n_classes" in getattr(obj, "get_params", dict)():
        moved = prepare(obj, 2)
        before = dumps(moved)
        with contextlib.suppress(ValueError):
            moved.set_params(n_classes=1)
        require(dumps(moved) == before, obj, "set_params changes nothing when it refuses a value")
    for name, arguments in public_methods(obj):
        for argument in arguments:
            require(argument in GOOD, obj, f"{name} has an argument {argument!r} that its contract does not know")
            for bad in BAD.get(argument, []):
                ready = prepare(obj, 2)
                before = dumps(ready)
                try:
                    getattr(ready, name)(**{**{a: GOOD[a] for a in arguments}, argument: bad})
                except (ValueError, TypeError) as error:
                    complaint = str(error)
                else:
                    raise AssertionError(f"{type(obj).__name__}.{name} accepted {argument} = {bad!r}")
                require(
                    re.search(rf"\b{argument}\b", complaint),
                    obj,
                    f"{name}: the error names {argument}, not {complaint!r}",
                )
                require(dumps(ready) == before, obj, f"{name} changes nothing when it refuses {argument} = {bad!r}")
