"""Fitting: the adapter that all keys share, from a holdout of pandas, polars or Spark."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.integrations.spark._pyspark import sql
from baserate.integrations.spark.rounds import Rounds
from baserate.protocols import CorrectableRowsTracker, IdlingTracker

_OWN_OPTIONS = ("expire", "keys", "wait")


def own_options(options: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options that are `adapt`'s own, and those of the adapter."""
    given = dict(options or {})
    allowed = [*RegressAndReweight().get_params(deep=False), *_OWN_OPTIONS]
    for name in given:
        if name not in allowed:
            raise ValueError(f"options has {name!r}; it takes {', '.join(sorted(allowed))}.")
    return {name: given.pop(name) for name in _OWN_OPTIONS if name in given}, given


def read_holdout(holdout: Any, proba: list[str]) -> Any:
    """Return a holdout as a frame of pandas or polars; rows of Spark, whose order is not known, are sorted."""
    spark = isinstance(holdout, sql().DataFrame)
    frame = holdout.select(*proba, "label").orderBy(*proba, "label").toPandas() if spark else holdout
    missing = [name for name in (*proba, "label") if name not in frame.columns]
    if missing:
        raise ValueError(f"holdout has no column {missing[0]!r}; it has {', '.join(map(str, frame.columns))}.")
    return frame


def fingerprint(holdout: Any, proba: list[str]) -> str:
    """Return a text that another holdout does not have."""
    rows = np.column_stack([np.asarray(holdout[name], dtype=np.float64) for name in proba])
    labels = repr([str(label) for label in holdout["label"]])
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes() + labels.encode()).hexdigest()


def fit_adapter(
    holdout: Any, proba: list[str], options: Mapping[str, Any], rounds: Rounds, *, waits: bool = False
) -> RegressAndReweight:
    """Fit the adapter, with a tracker that can do what the rounds need."""
    adapter = RegressAndReweight(**options).fit(holdout[proba], holdout["label"])
    if rounds.window and not isinstance(adapter.tracker_, IdlingTracker):
        raise TypeError(
            f"{type(adapter.tracker_).__name__} counts rounds with samples alone, so that rounds cannot be windows of "
            "time; give rounds as a number of rows."
        )
    if waits and not isinstance(adapter.tracker_, CorrectableRowsTracker):
        raise TypeError(
            f"{type(adapter.tracker_).__name__} cannot take labels that come later; leave options['wait'] out."
        )
    return adapter
