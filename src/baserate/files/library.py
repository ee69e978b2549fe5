"""The one module that imports polars."""

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
