"""The only import of numba: decorators that compile functions."""

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
    """Compile a function inline into its callers, which must be compiled, too.

    For small ones, whose call would take as long as their work. Python must not call it, and would crash: there is no
    entry for it, as that would take a third of the time of compiling.
    """
    return _compile(function, within=True)


def _compile(function: F, *, within: bool) -> F:
    make = partial(
        numba.njit,
        nogil=True,
        error_model="numpy",
        forceinline=within,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=within,
    )
    try:
        return cast(F, make(cache=True)(function))
    except RuntimeError:  # numba found no folder for its cache
        return cast(F, make()(function))


def max_threads() -> int:
    """Return the number of threads to use: ``NUMBA_NUM_THREADS``, or one for each CPU available to this process.

    Joblib sets the variable for its workers, so that they do not compete for CPUs.
    """
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
