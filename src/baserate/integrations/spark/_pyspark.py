"""The only imports of pyspark and pyarrow."""

from functools import cache
from importlib import import_module
from typing import Any


def _needed(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error of a library that is not installed, with how to install it."""
    missing = (error.name or "pyspark").partition(".")[0]
    return ModuleNotFoundError(
        f'{missing} is not installed; Spark needs it: pip install "baserate[spark]"', name=missing
    )


@cache
def pyarrow() -> Any:
    """Import pyarrow and its functions when they are needed, and return the module."""
    try:
        import_module("pyarrow.compute")
        return import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise _needed(error) from error


def _of_pyspark(name: str) -> Any:
    try:
        import_module("pyspark")
        return import_module(f"pyspark.{name}")
    except ModuleNotFoundError as error:
        raise _needed(error) from error


def functions() -> Any:
    """Import the functions of columns."""
    return _of_pyspark("sql.functions")


def types() -> Any:
    """Import the types of columns."""
    return _of_pyspark("sql.types")


def sql() -> Any:
    """Import frames and sessions."""
    return _of_pyspark("sql")


def streaming() -> Any:
    """Import the base of stateful processors."""
    return _of_pyspark("sql.streaming")


def arrow_types() -> Any:
    """Import what turns types of Spark into those of Arrow."""
    return _of_pyspark("sql.pandas.types")
