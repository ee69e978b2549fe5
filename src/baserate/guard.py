"""Guard: lets one thread at a time use a running object."""

import copy
import os
import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Guard:
    """A lock that is no part of an object's state: a copy or a pickle of the object has a new one.

    A thread that holds it may take it again.

    Attributes
    ----------
    lock : RLock
        The lock itself.

    Examples
    --------
    >>> guard = Guard()
    >>> with guard:
    ...     print("nobody else is here")
    nobody else is here
    """

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        _GUARDS.add(self)

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()

    def __reduce__(self) -> tuple[type["Guard"], tuple[()]]:
        return Guard, ()


_GUARDS: weakref.WeakSet[Guard] = weakref.WeakSet()


def _open_all() -> None:
    """In a process that was forked off, no other thread is left to release a lock."""
    for guard in _GUARDS:
        guard.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)


class Guarded(Protocol):
    """An object with a guard."""

    guard: Guard


S = TypeVar("S", bound=Guarded)


def guarded(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method of an object with a `guard` hold it while it runs."""

    @wraps(method)
    def alone(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.guard.lock:
            return method(self, *args, **kwargs)

    return alone


def copied_alone(guarded: S, memo: dict[int, Any]) -> S:
    """Return a deep copy of an object, which no other thread moves meanwhile."""
    with guarded.guard.lock:
        twin = object.__new__(type(guarded))
        memo[id(guarded)] = twin
        for name, value in vars(guarded).items():
            setattr(twin, name, copy.deepcopy(value, memo))
        return twin
