"""Roles: how checks start, update and read an object of each kind."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]

from baserate.protocols import Adapter, Calibrator, FloatArray, Learner, MarginalEstimator, Shift, Tracker

K = 3
_RNG = np.random.default_rng(0)
ESTIMATES = _RNG.dirichlet(np.ones(K), size=40)
Y = np.concatenate([np.arange(K), _RNG.integers(K, size=57)])
PROBA = 0.6 * np.eye(K)[Y] + 0.4 * _RNG.dirichlet(np.ones(K), size=60)
X = np.eye(K)[Y] + 0.3 * _RNG.standard_normal((60, K))
MIX = np.array([0.2, 0.3, 0.5])


class Role(NamedTuple):
    """Functions to use one kind of object: start it, move it by one round, read its output."""

    protocol: type
    start: Callable[[Any], None]
    move: Callable[[Any, int], None] | None
    output: Callable[[Any], FloatArray]
    on_simplex: bool


def batch_rows(i: int) -> slice:
    """Return the samples of round number i."""
    return slice(5 * (i % 12), 5 * (i % 12) + 5)


def _nothing(_: Any) -> None:
    pass


def samples_for(obj: Any) -> FloatArray:
    """Return samples of the kind that an object takes: probabilities or features."""
    samples: FloatArray = X if getattr(obj, "input_kind", "proba") == "features" else PROBA
    return samples


def _fit(obj: Any) -> None:
    obj.fit(samples_for(obj), Y)


_ROLES = (
    Role(Tracker, _nothing, lambda o, i: o.update(ESTIMATES[i % 40]), lambda o: o.predict(), False),
    Role(
        Adapter,
        _fit,
        lambda o, i: o.update(samples_for(o)[batch_rows(i)]),
        lambda o: o.predict_proba(samples_for(o)[:7]),
        True,
    ),
    Role(MarginalEstimator, _fit, None, lambda o: o.estimate(PROBA[:7]), False),
    Role(Calibrator, _fit, None, lambda o: o.transform(PROBA[:7]), True),
    Role(Shift, _nothing, None, lambda o: o.path(50, K, 0), True),
    Role(
        Learner,
        _nothing,
        lambda o, i: o.update(X[batch_rows(i)], Y[batch_rows(i)]),
        lambda o: o.predict_proba(X[:7]),
        True,
    ),
)


def role_of(obj: Any) -> Role:
    """Return the role of an object, by the first contract that it follows."""
    for role in _ROLES:
        if isinstance(obj, role.protocol):
            return role
    raise AssertionError(f"{type(obj).__name__} follows none of the contracts of baserate.protocols")


def prepare(obj: Any, rounds: int = 0) -> Any:
    """Return a clone of an object, fitted and moved by some rounds."""
    role = role_of(obj)
    ready = clone(obj, safe=False)
    role.start(ready)
    for i in range(rounds if role.move is not None else 0):
        move(ready, i)
    return ready


def move(obj: Any, i: int) -> None:
    """Move an object by round number i."""
    role = role_of(obj)
    assert role.move is not None
    role.move(obj, i)


def output_of(obj: Any) -> FloatArray:
    """Return a copy of an object's current output."""
    return np.copy(role_of(obj).output(obj))


def require(condition: object, obj: Any, promise: str) -> None:
    """Raise an AssertionError that names the object and the promise."""
    if not condition:
        raise AssertionError(f"{type(obj).__name__}: {promise}")


def same(a: Any, b: Any) -> bool:
    """Return whether two arrays have the same bits."""
    return np.asarray(a).shape == np.asarray(b).shape and np.asarray(a).tobytes() == np.asarray(b).tobytes()
