"""Adapting a complete file in hindsight: each round by the class mix of all rounds, for ``adapt --hindsight``."""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.files.adapting.job import AdaptJob
from baserate.files.errors import FileProblemError
from baserate.files.formats import open_reader, open_sink, source_named
from baserate.files.formats.format import Format
from baserate.files.labelled_log import LabelledLog, LogJob, read_log
from baserate.files.rounds import SHORTEST
from baserate.frames import polars
from baserate.known_prior import reweight
from baserate.protocols import FloatArray, IntArray
from baserate.smoothing import smooth


class InHindsight(NamedTuple):
    """A file that was adapted: its rows, rounds and classes, and how many rows have another class than before."""

    rows: int
    rounds: int
    changed: int


def check_hindsight(job: AdaptJob) -> None:
    """Refuse what goes with a stream that is not complete."""
    given = {
        "--state": job.state, "--late": job.late, "--refit": job.refit, "--restart": job.restart, "--wait": job.wait,
        "--report": job.report, "--wide": job.wide, "--id": job.columns.id,
    }  # fmt: skip
    for option, value in given.items():
        if value:
            raise ValueError(f"{option} is for streams that go on; --hindsight needs a complete file. Leave one out.")
    if job.decisions.decides:
        raise ValueError("--costs and --threshold do not go with --hindsight; decide by its probabilities.")
    if job.stream.is_stream:
        raise ValueError("--hindsight reads the whole file twice, and cannot take a pipe; give a file.")
    if job.holdout is None:
        raise ValueError("--holdout is missing; give labelled rows that the model was not trained on.")


def adapt_in_hindsight(job: AdaptJob) -> InHindsight:
    """Write a file's rows with probabilities for the class mix of each round in hindsight, and a table of rounds.

    The whole file is held in memory, some 10 times what its probabilities take.
    """
    check_hindsight(job)
    roles = job.columns
    log = read_log(
        LogJob(
            log=job.stream,
            label=roles.labels,
            holdout=job.holdout,
            holdout_label=job.holdout_label,
            rounds=job.rounds,
            time=roles.time,
            prefix=job.prefix,
            names=job.names,
            outputs=job.outputs,
            time_format=job.time_format,
            key=roles.key,
            scored=False,
        )
    )
    if log.sorted:
        raise FileProblemError(job.stream.shown, "rows go back in time; sort the file", column=roles.time)
    adapter = RegressAndReweight().fit(*log.holdout, names=log.classes.names)
    n = len(log.y)
    starts = np.append(np.arange(0, n, SHORTEST), n) if log.starts is None else log.starts
    adapted, numbers = np.empty_like(log.proba), np.repeat(np.arange(1, len(starts)), np.diff(starts))
    lines: list[dict[str, Any]] = []
    for key, rows in _groups(log):
        own = np.searchsorted(rows, starts)
        mix = smooth(adapter, log.proba[rows], own, log.y[rows], level=job.level)
        calibrated = adapter.calibrate(log.proba[rows])
        for t in range(len(own) - 1):
            if own[t] == own[t + 1]:
                continue
            part = slice(own[t], own[t + 1])
            adapted[rows[part]] = reweight(calibrated[part], adapter.source_prior_, mix.prior[t])
            line: dict[str, Any] = {"round": t + 1} | ({} if key is None else {"key": key})
            line |= {"first_row": int(rows[own[t]]) + 1, "rows": int(own[t + 1] - own[t])}
            for title, values in zip(("prior", "low", "high"), mix, strict=True):
                line |= {f"{title}_{name}": float(values[t, c]) for c, name in enumerate(log.classes.names)}
            lines.append(line)
    _write(job, log, adapted, numbers)
    if job.rounds_file is not None:
        table = polars().DataFrame(lines, infer_schema_length=None)
        _write_frame(table, job.rounds_file, source_named(str(job.rounds_file), option=None, to_write=True).format)
    return InHindsight(n, len(starts) - 1, int((adapted.argmax(axis=1) != log.proba.argmax(axis=1)).sum()))


def _groups(log: LabelledLog) -> list[tuple[str | None, IntArray]]:
    if log.keys is None:
        return [(None, np.arange(len(log.y)))]
    names, which = np.unique(log.keys.astype(str), return_inverse=True)
    return [(str(name), np.flatnonzero(which == i)) for i, name in enumerate(names)]


def _write(job: AdaptJob, log: LabelledLog, adapted: FloatArray, numbers: IntArray) -> None:
    pl, p = polars(), job.out_prefix
    with contextlib.closing(open_reader(job.stream)) as reader:
        frame = pl.concat([chunk.frame for chunk in reader.chunks(set())], how="vertical_relaxed")
    if job.only:
        used = {*log.classes.columns, *(name for name in job.columns if name is not None)}
        frame = frame[[name for name in frame.columns if name in used]]
    new: dict[str, Any] = {f"{p}{name}": adapted[:, c] for c, name in enumerate(log.classes.adapted)}
    new |= {f"{p}label": np.array(log.classes.names, dtype=object)[adapted.argmax(axis=1)], f"{p}round": numbers}
    taken = [name for name in new if name in frame.columns]
    if taken:
        raise FileProblemError(
            job.stream.shown,
            "the output would have two columns of this name; choose another --out-prefix",
            column=taken[0],
        )
    frame = frame.with_columns(*(pl.Series(name, values) for name, values in new.items()))
    _write_frame(frame, None if job.out.is_stream else job.out.path, job.out.format)


def _write_frame(frame: Any, path: Path | None, kind: Format) -> None:
    """Write a table whole or not at all."""
    if path is None:
        sink = open_sink(None, kind)
        sink.append(frame)
        sink.finish()
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.resolve().parent)
    os.close(handle)
    try:
        sink = open_sink(Path(name), kind)
        sink.append(frame)
        sink.finish()
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
