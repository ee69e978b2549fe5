"""The only imports of pyspark and pyarrow."""

import importlib
from typing import Any


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or name).partition(".")[0]
        raise ModuleNotFoundError(
            f'{missing} is not installed; Spark needs it: pip install "baserate[spark]"', name=missing
        ) from error


def pyarrow() -> Any:
    """Import pyarrow when it is needed, and return the module."""
    _imported("pyarrow.compute")
    return _imported("pyarrow")


def functions() -> Any:
    """Import `pyspark.sql.functions` when it is needed, and return the module."""
    return _imported("pyspark.sql.functions")


def types() -> Any:
    """Import `pyspark.sql.types` when it is needed, and return the module."""
    return _imported("pyspark.sql.types")


def sql() -> Any:
    """Import `pyspark.sql` when it is needed, and return the module."""
    return _imported("pyspark.sql")


def streaming() -> Any:
    """Import `pyspark.sql.streaming` when it is needed, and return the module."""
    return _imported("pyspark.sql.streaming")


def arrow_types() -> Any:
    """Import `pyspark.sql.pandas.types` when it is needed, and return the module."""
    return _imported("pyspark.sql.pandas.types")
