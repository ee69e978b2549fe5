"""Tables of rounds by hand, for the tests of what is told of them."""

import numpy as np
import polars as pl

DAY = 86_400
MARCH = 20_513 * DAY  # 1 March 2026


def table(shares, width=0.004, *, days=None, looks=1, alarm=None, fallback=False, first_round=1):
    """A table of rounds.

    Parameters
    ----------
    shares : dict of str to sequence of float
        The path of each class.
    width : float
        Half the width of the bands.
    days : float, optional
        The length of a round in days, from 1 March 2026 on; without it there are no times.
    looks : int
        There is a band in each round whose number is a multiple of it.
    alarm : sequence of bool, optional
        Whether a round had an alarm.
    fallback : bool
        Whether the correction was reduced.
    first_round : int
        The number of the first round.
    """
    n = len(next(iter(shares.values())))
    seen = np.arange(n) % looks == 0
    columns = {"round": np.arange(n) + first_round, "first_row": 100 * np.arange(n) + 1, "rows": np.full(n, 100)}
    if days is not None:
        stamps = pl.Series(((MARCH + np.arange(n) * days * DAY) * 1e6).astype(np.int64)).cast(pl.Datetime("us"))
        columns["time"] = stamps.cast(pl.String)
    columns |= {f"prior_{name}": np.asarray(path, dtype=float) for name, path in shares.items()}
    for what, sign in (("low", -1), ("high", 1)):
        limits = {name: np.clip(np.asarray(path) + sign * width, 0, 1) for name, path in shares.items()}
        columns |= {f"{what}_{name}": np.where(seen, limit, np.nan) for name, limit in limits.items()}
    columns["alarm"] = np.zeros(n, dtype=bool) if alarm is None else np.asarray(alarm)
    return pl.DataFrame(columns | {"fallback": np.full(n, fallback)})


def two(path):
    """Fraud, and all that is not."""
    return {"good": 1 - np.asarray(path), "fraud": np.asarray(path)}


def bump(n=60, low=0.008, high=0.098, begin=20, end=30):
    """A path that rises and falls again."""
    path = np.full(n, low)
    path[begin:end] = high
    return path
