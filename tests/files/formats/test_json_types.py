"""Types of JSON values that go together."""

import polars as pl

from baserate.files.formats._json_types import is_of, joined_type


def test_types_that_go_together():
    struct = pl.Struct({"a": pl.Int64, "b": pl.Null})
    assert joined_type(struct, pl.Struct({"b": pl.String}), widen=False) == pl.Struct({"a": pl.Int64, "b": pl.String})
    assert joined_type(struct, pl.Struct({"c": pl.String}), widen=True) is None
    assert joined_type(pl.List(pl.Int64), pl.List(pl.Float64), widen=True) == pl.List(pl.Float64)
    assert joined_type(pl.List(pl.Int64), pl.List(pl.Float64), widen=False) is None
    assert joined_type(pl.Int64(), pl.Boolean(), widen=True) is None
    assert is_of({"a": 1}, struct)
    assert not is_of({"a": 1.5}, struct)
    assert not is_of(True, pl.Int64())
    assert not is_of("x", pl.Null())
