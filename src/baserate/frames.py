"""The one module that imports polars."""

import re
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


def unnamed(values: Any) -> Any:
    """A column without its name: many methods of a series select it by name, and read the name as a pattern."""
    return values.alias("values")


@contextmanager
def disk_errors() -> Iterator[None]:
    """What the system refuses while polars writes is an `OSError`; for some formats polars makes it one of its own."""
    try:
        yield
    except polars().exceptions.PolarsError as error:
        found = re.search(r"([^:]*) \(os error (\d+)\)", str(error))
        if found is None:
            raise
        raise OSError(int(found[2]), found[1].strip()) from error


@contextmanager
def no_panic() -> Iterator[None]:
    """A damaged file may make polars panic, which is no `Exception`: it becomes one."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(str(error)) from error
