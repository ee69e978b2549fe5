"""A table with columns of many types."""

import datetime

import numpy as np
import polars as pl

N = 100


def table(n=N, width=3):
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "name": [None if i % 7 == 0 else f"row {i % 5} ä" for i in range(n)],
            "when": [datetime.datetime(2026, 3, 1) + datetime.timedelta(minutes=i) for i in range(n)],
            "list": [list(range(i % 4)) for i in range(n)],
            "nested": [{"a": i, "b": str(i)} for i in range(n)],
            "kind": pl.Series(["x", "y"] * (n // 2), dtype=pl.Categorical),
            "flag": [i % 3 == 0 for i in range(n)],
            **{f"number {i}": rng.random(n) for i in range(width)},
        }
    )
