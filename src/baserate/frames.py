"""The only import of polars."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def polars() -> Any:
    """Import polars when it is needed, and return the module.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed; the message says how to install it.
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
    """Return a column under a plain name, because many methods of a series read its name as a pattern."""
    return values.alias("values")


@contextmanager
def disk_errors() -> Iterator[None]:
    """Turn errors of the operating system, which polars wraps in its own for some formats, into `OSError`."""
    try:
        yield
    except polars().exceptions.PolarsError as error:
        found = re.search(r"([^:]*) \(os error (\d+)\)", str(error))
        if found is None:
            raise
        raise OSError(int(found[2]), found[1].strip()) from error


@contextmanager
def no_panic() -> Iterator[None]:
    """Turn a panic of polars over a damaged file, which is not an `Exception`, into a `ValueError`."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(str(error)) from error
