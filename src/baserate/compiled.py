"""The one door to numba."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile a function of arrays and numbers to machine code on its first call.

    The machine code is kept on disk where numba finds a folder it may write to (beside the module, or in the user's
    cache), and is made anew by each process where it finds none. With ``NUMBA_DISABLE_JIT=1`` the function stays
    Python.
    """
    return _compile(function, within=False)


def compiled_within(function: F) -> F:
    """Compile a function into those that call it: for small ones, whose call takes as long as their work."""
    return _compile(function, within=True)


def _compile(function: F, *, within: bool) -> F:
    make = partial(numba.njit, nogil=True, error_model="numpy", forceinline=within)
    try:
        return cast(F, make(cache=True)(function))
    except RuntimeError:  # numba's word for "nowhere to keep a cache"
        return cast(F, make()(function))


def max_threads() -> int:
    """How many threads may work at once: ``NUMBA_NUM_THREADS``, or a thread for each processor open to this process.

    Joblib sets the variable for its workers, so that these do not take each other's processors.
    """
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
