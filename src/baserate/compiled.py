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
    try:
        return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # numba's word for "nowhere to keep a cache"
        return cast(F, numba.njit(nogil=True, error_model="numpy")(function))
