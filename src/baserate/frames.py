"""The one module that imports polars."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def polars() -> Any:
    """The module polars, imported when it is needed.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed; says how to install it.
    """
    try:
        import polars
    except ModuleNotFoundError as error:
        if error.name != "polars":
            raise
        raise ModuleNotFoundError(
            'polars is not installed; files need it: pip install "baserate[files]"', name="polars"
        ) from error
    return polars


@contextmanager
def no_panic() -> Iterator[None]:
    """A damaged file may make polars panic, which is no `Exception`: it becomes one."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(str(error)) from error
