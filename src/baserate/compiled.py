"""The only import of numba: decorators that compile functions."""

import gc
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile a function of arrays and numbers to machine code on its first call.

    The machine code is kept on disk where numba finds a folder it may write to (beside the module, or in the user's
    cache), and is made anew by each process where it finds none. With ``NUMBA_DISABLE_JIT=1`` the function stays
    Python.
    """
    make = partial(_njit, no_cpython_wrapper=False)
    try:
        return cast(F, make(cache=True)(function))
    except RuntimeError:  # numba found no folder for its cache
        return cast(F, make()(function))


def compiled_part(function: F) -> F:
    """Compile a function for callers that are compiled, too, as a part of each.

    Python must not call it, and would crash: it has no entry, and no machine code outside of its callers. Making both
    would take half of the time of compiling. It must not raise errors.
    """
    return cast(F, _njit(no_cpython_wrapper=True, **_PARTS)(function))


def compiled_within(function: F) -> F:
    """Compile a part inline into its callers.

    For small ones, whose call would take as long as their work. Large ones that several functions call are compiled
    once for each of them: these are better parts that are called.
    """
    return cast(F, _njit(no_cpython_wrapper=True, forceinline=True, **_PARTS)(function))


class _Flags(Flags):
    """Numba's options of a function, which are compared with others tens of thousands of times while it is compiled.

    Numba's own look up every option for that, those that are not set as well: a tenth of the time of compiling.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and bool(self._values == other._values)

    def __hash__(self) -> int:
        return _HASH


_HASH = hash(Flags())  # type: ignore[no-untyped-call]  # that of the options' names: the same for all


class _Compiler(Compiler):
    """Numba's compiler, in less time: with the options above, and without looking for garbage.

    It makes millions of objects that live until it has finished. Looking through these takes a sixth of its time.
    """

    def compile_extra(self, func: Callable[..., object]) -> Any:
        if hasattr(self.state.flags, "_values"):  # which are numba's own affair, too
            self.state.flags = _Flags(self.state.flags)  # type: ignore[no-untyped-call]
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)  # type: ignore[no-untyped-call]
        finally:
            if collects:
                gc.enable()


_njit = partial(numba.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True, pipeline_class=_Compiler)


class _Part(JITCodeLibrary):
    """The code of a part: it is linked into that of its callers, optimised there, and only there becomes machine code.

    Numba's own would optimise it and make machine code of it at every level of calls.
    """

    @property
    def codegen(self) -> "_WithoutEnvironment":
        return _WithoutEnvironment(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _WithoutEnvironment:
    """A code generator that is asked to set the environment of a part, for its errors, and cannot: there is none."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: object) -> None:
        pass


class _PartCompiler(_Compiler):
    """The compiler, with the library above."""

    def compile_extra(self, func: Callable[..., object]) -> Any:
        if self.state.library is None:
            library = _Part(self.state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
            self.state.library = library
        return super().compile_extra(func)


# What `_Part` overrides is numba's own affair: without it, parts are compiled as everything else, which takes longer.
_PARTS: dict[str, Any] = (
    {"pipeline_class": _PartCompiler}
    if hasattr(JITCodeLibrary, "_optimize_final_module") and hasattr(JITCodeLibrary, "_finalize_final_module")
    else {}
)


def max_threads() -> int:
    """Return the number of threads to use: ``NUMBA_NUM_THREADS``, or one for each CPU available to this process.

    Joblib sets the variable for its workers, so that they do not compete for CPUs.
    """
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
