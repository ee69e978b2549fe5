"""Types of columns, taken apart."""

from typing import Any

from baserate.frames import polars


def parts_of(kind: Any) -> list[Any]:
    """A type of polars, and all the types that it is made of.

    Examples
    --------
    >>> import polars as pl
    >>> parts_of(pl.List(pl.Int64))
    [List(Int64), Int64]
    """
    pl = polars()
    if kind in (pl.List, pl.Array):
        return [kind, *parts_of(kind.inner)]
    if kind == pl.Struct:
        return [kind, *(part for field in kind.fields for part in parts_of(field.dtype))]
    return [kind]
