"""The one door to numba."""

from collections.abc import Callable
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
    options = {"nogil": True, "error_model": "numpy", "forceinline": within}
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # numba's word for "nowhere to keep a cache"
        return cast(F, numba.njit(**options)(function))
