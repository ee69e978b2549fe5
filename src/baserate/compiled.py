"""The one door to numba."""

from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

import numba

F = TypeVar("F", bound=Callable[..., object])


@overload
def compiled(function: F) -> F: ...
@overload
def compiled(*, reassociate: bool) -> Callable[[F], F]: ...
def compiled(function: F | None = None, *, reassociate: bool = False) -> F | Callable[[F], F]:
    """Compile a function of arrays and numbers to machine code on its first call.

    The machine code is kept on disk where numba finds a folder it may write to (beside the module, or in the user's
    cache), and is made anew by each process where it finds none. With ``NUMBA_DISABLE_JIT=1`` the function stays
    Python.

    Parameters
    ----------
    function : callable
        In the part of Python that numba compiles.
    reassociate : bool
        Let long sums be added up in several strands at once: several times faster, and no less precise, but not in the
        order that is written down. The same sum gives the same bits all the same; a sum of another length need not.
    """
    if function is None:
        return lambda f: _compile(f, reassociate)
    return _compile(function, reassociate)


def _compile(function: F, reassociate: bool) -> F:
    # Said explicitly, because numba lets a function inherit `fastmath` from whichever caller compiles it first.
    fastmath: set[str] | bool = {"reassoc", "contract", "nsz"} if reassociate else False
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # numba's word for "nowhere to keep a cache"
        return cast(F, numba.njit(**options)(function))
