"""What the formats of an output can hold."""

from typing import Any

from baserate.frames import polars

CALLED = {"csv": "CSV", "tsv": "a tab-separated file", "jsonl": "a file of JSON lines", "parquet": "Parquet"}
"""The formats in words."""


def can_hold(format: str, kind: Any) -> bool:  # noqa: A002
    """Whether a file can have a column of a type; polars finds out too late, or panics.

    Examples
    --------
    >>> import polars as pl
    >>> can_hold("csv", pl.List(pl.Int64)), can_hold("jsonl", pl.List(pl.Int64))
    (False, True)
    """
    pl = polars()
    if format == "parquet":
        return all(inner != pl.Struct or inner.fields for inner in _parts(kind))
    if format == "jsonl":
        return all(inner != pl.Binary for inner in _parts(kind))
    return not kind.is_nested() and kind not in (pl.Binary, pl.Duration)


def _parts(kind: Any) -> list[Any]:
    """A type, and all the types that it is made of."""
    pl = polars()
    if kind in (pl.List, pl.Array):
        return [kind, *_parts(kind.inner)]
    if kind == pl.Struct:
        return [kind, *(part for field in kind.fields for part in _parts(field.dtype))]
    return [kind]
