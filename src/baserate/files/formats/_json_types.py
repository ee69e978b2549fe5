"""Types of the fields of JSON lines: which go together without a change of a value."""

import json
import re
from typing import Any

from baserate.files.errors import listed
from baserate.files.formats._column_types import parts_of
from baserate.frames import polars, unnamed

_LAST_EXACT = 2.0**53  # whole numbers from here on are not all numbers with a fraction, too


def joined_type(known: Any, new: Any, *, widen: bool) -> Any:
    """The type of a field whose values were of the one, and are now of the other; None if a value could change.

    Parameters
    ----------
    known, new : polars.DataType
        Null where there was no value yet.
    widen : bool
        True if whole numbers may be followed by numbers with a fraction.
    """
    pl = polars()
    if new in (known, pl.Null):
        return known
    if known == pl.Null:
        return new
    if known.is_numeric() and new.is_integer():
        return known
    if known.is_integer() and new.is_float():
        return new if widen else None
    if known == pl.List and new == pl.List:
        inner = joined_type(known.inner, new.inner, widen=widen)
        return None if inner is None else pl.List(inner)
    if known == pl.Struct and new == pl.Struct:
        fields = {field.name: field.dtype for field in known.fields}
        for field in new.fields:
            fields[field.name] = (
                joined_type(fields[field.name], field.dtype, widen=widen) if field.name in fields else None
            )
        return None if None in fields.values() else pl.Struct(fields)
    return None


def is_of(value: Any, kind: Any) -> bool:
    """Tell whether a value of JSON can be of a type of polars without being changed."""
    pl = polars()
    if value is None:
        return True
    if kind.is_integer():
        return not isinstance(value, bool) and (
            isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        )
    if kind.is_float():
        return not isinstance(value, bool) and (
            isinstance(value, float) or (isinstance(value, int) and float(value) == value)
        )
    if kind == pl.List:
        return isinstance(value, list) and all(is_of(item, kind.inner) for item in value)
    if kind == pl.Struct:
        fields = {field.name: field.dtype for field in kind.fields}
        return isinstance(value, dict) and all(name in fields and is_of(value[name], fields[name]) for name in value)
    return kind != pl.Null and isinstance(value, bool if kind == pl.Boolean else str)


def may_have_changed(values: Any, kind: Any, data: bytes) -> bool:
    """Tell whether polars may have changed a value: made text of something else, or rounded a long whole number.

    Parameters
    ----------
    values : polars.Series
        As polars has read them; the name is the field's.
    kind : polars.DataType
        The type that they become.
    data : bytes
        The lines that they come from.
    """
    pl = polars()
    if kind.is_float():
        return bool(values.dtype.is_numeric() and (unnamed(values).abs().max() or 0) >= _LAST_EXACT)
    if values.dtype != pl.String:
        return any(part == pl.String for part in parts_of(values.dtype))
    # A quote within text has a backslash before it, so that this finds fields, and no words of a text.
    written = {json.dumps(values.name, ensure_ascii=ascii_only) for ascii_only in (False, True)}
    either = b"|".join(re.escape(text.encode(errors="replace")) for text in sorted(written))
    return re.search(rb"(?:%s)\s*:\s*[^\s\"n]" % either, data) is not None


def called(kind: Any) -> str:
    """A type in words."""
    pl = polars()
    if kind.is_integer():
        return "whole numbers"
    if kind.is_float():
        return "numbers"
    if kind == pl.Struct:
        return f"objects with {listed([field.name for field in kind.fields]) or 'no fields'}"
    return {pl.String: "text", pl.Boolean: "true or false", pl.List: "lists of one type"}.get(
        kind.base_type(), str(kind)
    )
