"""The class mix of the periods of a file, for ``baserate prevalence``."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.files.errors import FileProblemError
from baserate.files.formats import open_sink
from baserate.files.labelled_log import LabelledLog, LogJob, read_log
from baserate.files.periods import Period, cut_periods
from baserate.files.source import Source
from baserate.frames import polars
from baserate.protocols import IntArray
from baserate.smoothing import Prevalence, prevalence
from baserate.smoothing.doubts import Doubts


class KeyedPrevalence(NamedTuple):
    """The class mix of the periods of one key; the key is empty where the file has none.

    Attributes
    ----------
    key : str
    periods : list of str
        What each period is called: its first day, or its rows.
    found : Prevalence
    """

    key: str
    periods: list[str]
    found: Prevalence


class KeyedDoubts(NamedTuple):
    """What speaks against label shift in the rows of a key; the key is empty where the file has none."""

    key: str
    periods: list[str]
    doubts: Doubts


class PrevalenceResult(NamedTuple):
    """The class mix of a file's periods, by key, and the log that it was estimated from."""

    log: LabelledLog
    keys: list[KeyedPrevalence]
    level: float

    @property
    def doubts(self) -> list[KeyedDoubts]:
        """The doubts of each key."""
        return [KeyedDoubts(each.key, each.periods, each.found.doubts) for each in self.keys]


def file_prevalence(
    job: LogJob, period: Period, *, level: float = 0.9, watch: Callable[[int, int], None] = lambda *_: None
) -> PrevalenceResult:
    """Read a log, and estimate the class mix of its periods; every key by itself, with the same calibration."""
    if job.holdout is None:
        raise ValueError("--holdout is missing; give labelled rows that the model was not trained on.")
    if period.by_time and job.time is None:
        raise ValueError("--period is a length of time; name the column of time stamps with --time.")
    log = read_log(job)
    if len(log.proba) == 0:
        raise FileProblemError(job.log.shown, "has no rows; give a log")
    adapter = RegressAndReweight().fit(*log.holdout, names=log.classes.names)
    groups = _by_key(log)
    found = []
    for done, (key, rows) in enumerate(groups):
        watch(done, len(groups))
        times = None if log.times is None else log.times[rows]
        starts, names = cut_periods(period, len(rows), times)
        found.append(
            KeyedPrevalence(key, names, prevalence(adapter, log.proba[rows], starts, log.y[rows], level=level))
        )
    return PrevalenceResult(log, found, level)


def _by_key(log: LabelledLog) -> list[tuple[str, IntArray]]:
    if log.keys is None:
        return [("", np.arange(len(log.y)))]
    names, which = np.unique(log.keys.astype(str), return_inverse=True)
    return [(str(name), np.flatnonzero(which == i)) for i, name in enumerate(names)]


def tidy_rows(result: PrevalenceResult) -> list[dict[str, Any]]:
    """Return a row for each key, period and class."""
    rows = []
    for key, periods, found in result.keys:
        for t, period in enumerate(periods):
            for c, name in enumerate(result.log.classes.names):
                row: dict[str, Any] = {} if result.log.keys is None else {"key": key}
                row |= {"period": period, "class": name, "rows": int(found.rows[t]), "labels": int(found.labels[t])}
                row |= {"share": found.best.prior[t, c], "low": found.best.low[t, c], "high": found.best.high[t, c]}
                row |= {"counted": found.counted[t, c]}
                for title, some in (("causal", found.causal), ("hindsight", found.hindsight)):
                    row |= {title: some.prior[t, c], f"{title}_low": some.low[t, c], f"{title}_high": some.high[t, c]}
                if result.log.y.max() >= 0:
                    audited, alone = found.audited, found.labels_alone
                    none = audited is None or alone is None
                    for title, each in (("audited", audited), ("labels_alone", alone)):
                        row |= {title: None if none or each is None else each.prior[t, c]}
                        row |= {f"{title}_low": None if none or each is None else each.low[t, c]}
                        row |= {f"{title}_high": None if none or each is None else each.high[t, c]}
                rows.append({name: _number(value) for name, value in row.items()})
    return rows


def _number(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else float(value)
    return value


def write_rows(rows: list[dict[str, Any]], out: Source) -> None:
    """Write the rows to a file, or to standard output."""
    sink = open_sink(None if out.is_stream else out.path, out.format)
    sink.append(polars().DataFrame(rows, infer_schema_length=None))
    sink.finish()
