"""Adapting a complete file in hindsight: each round by the class mix of all rounds, for ``adapt --hindsight``."""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.files.adapting.job import AdaptJob, check_job
from baserate.files.adapting.unique_ids import UniqueIds
from baserate.files.costs import rule_for
from baserate.files.errors import FileProblemError
from baserate.files.formats import open_reader, open_sink, source_named
from baserate.files.formats.format import Format
from baserate.files.labelled_log import LabelledLog, LogJob, read_log
from baserate.files.prevalence import KeyedDoubts, KeyedPrevalence, PrevalenceResult
from baserate.files.rounds import SHORTEST
from baserate.frames import polars
from baserate.known_prior import reweight
from baserate.protocols import FloatArray, IntArray
from baserate.smoothing import Smoothed, prevalence, smooth
from baserate.smoothing.doubts import find_doubts


class InHindsight(NamedTuple):
    """A file that was adapted.

    Attributes
    ----------
    rows, rounds, changed : int
        Its rows and rounds, and how many rows have another class than before.
    decisions : dict or None
        How many rows got which decision, where there are costs or a threshold.
    expected_cost : float or None
        The expected cost of a row, where there are costs.
    """

    rows: int
    rounds: int
    changed: int
    decisions: dict[str, int] | None = None
    expected_cost: float | None = None


_REASONS = {
    "--state": "a state resumes a stream where it was left, and hindsight needs all rows again with each new one",
    "--late": "late labels are for rows that wait in a state; put them into the column of --labels",
    "--refit": "it is for a state whose model was replaced; give each model's rows as a file of their own",
    "--restart": "it is for a state; without one every run begins anew",
    "--wait": "rows wait for labels in a state; put labels into the column of --labels when they have come",
    "--ask": "it chooses rows to label for the next run with a state; after the fact, draw rows at random, and see "
    "baserate prevalence",
}


def check_hindsight(job: AdaptJob) -> None:
    """Refuse what goes with a stream that is not complete, and say why."""
    given = {
        "--state": job.state, "--late": job.late, "--refit": job.refit, "--restart": job.restart, "--wait": job.wait,
        "--ask": job.ask,
    }  # fmt: skip
    for option, value in given.items():
        if value:
            raise ValueError(f"{option} does not go with --hindsight: {_REASONS[option]}. Leave one of them out.")
    if job.stream.is_stream:
        raise ValueError("--hindsight reads the whole file twice, and cannot take a pipe; give a file.")
    if job.holdout is None:
        raise ValueError("--holdout is missing; give labelled rows that the model was not trained on.")
    check_job(job)


class Beside(NamedTuple):
    """What there is to say beside the adapted rows.

    Attributes
    ----------
    names : list of str
        The classes.
    doubts : list of KeyedDoubts
        What speaks against label shift in each key.
    result : PrevalenceResult or None
        The causal path and that in hindsight of every key, if there is to be a report.
    """

    names: list[str]
    doubts: list[KeyedDoubts]
    result: PrevalenceResult | None


def adapt_in_hindsight(job: AdaptJob) -> tuple[InHindsight, Beside]:
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
    rule = rule_for(job.decisions, log.classes) if job.decisions.decides else None
    adapter = RegressAndReweight().fit(*log.holdout, names=log.classes.names)
    n = len(log.y)
    starts = np.append(np.arange(0, n, SHORTEST), n) if log.starts is None else log.starts
    adapted, numbers = np.empty_like(log.proba), np.repeat(np.arange(1, len(starts)), np.diff(starts))
    lines: list[dict[str, Any]] = []
    beside: list[KeyedPrevalence] = []
    doubts: list[KeyedDoubts] = []
    per_row = np.empty((n, 3, log.proba.shape[1])) if job.wide else None
    for key, rows in _groups(log):
        own, names = np.searchsorted(rows, starts), [f"round {t + 1:,}" for t in range(len(starts) - 1)]
        if job.report is None:
            mix = smooth(adapter, log.proba[rows], own, log.y[rows], level=job.level)
            doubt = find_doubts(adapter, log.proba[rows], own, log.y[rows], mix)
        else:
            found = prevalence(adapter, log.proba[rows], own, log.y[rows], level=job.level)
            # Labels of a stream need not have been drawn at random.
            found, mix, doubt = found._replace(audited=None, labels_alone=None), found.hindsight, found.doubts
            beside.append(KeyedPrevalence(key or "", names, found))
        doubts.append(KeyedDoubts(key or "", names, doubt))
        calibrated = adapter.calibrate(log.proba[rows])
        for t in range(len(own) - 1):
            if own[t] == own[t + 1]:
                continue
            part = slice(own[t], own[t + 1])
            if per_row is not None:
                per_row[rows[part]] = np.stack([column[t] for column in mix])
            adapted[rows[part]] = reweight(calibrated[part], adapter.source_prior_, mix.prior[t])
            line: dict[str, Any] = {"round": t + 1} | ({} if key is None else {"key": key})
            line |= {"first_row": int(rows[own[t]]) + 1, "rows": int(own[t + 1] - own[t])}
            for title, values in zip(("prior", "low", "high"), mix, strict=True):
                line |= {f"{title}_{name}": float(values[t, c]) for c, name in enumerate(log.classes.names)}
            lines.append(line)
    choice, expected = (None, None) if rule is None else rule.decide(adapted)
    extra: dict[str, Any] = {}
    if rule is not None and choice is not None:
        extra["decision"] = np.array(rule.decisions, dtype=object)[choice]
    if per_row is not None:
        for place, title in enumerate(Smoothed._fields):
            extra |= {f"{title}_{name}": per_row[:, place, c] for c, name in enumerate(log.classes.names)}
    _write(job, log, adapted, numbers, extra)
    if job.rounds_file is not None:
        table = polars().DataFrame(lines, infer_schema_length=None)
        _write_frame(table, job.rounds_file, source_named(str(job.rounds_file), option=None, to_write=True).format)
    done = InHindsight(n, len(starts) - 1, int((adapted.argmax(axis=1) != log.proba.argmax(axis=1)).sum()))
    if rule is not None and choice is not None:
        counts = np.bincount(choice, minlength=len(rule.decisions)).tolist()
        cost = None if expected is None or n == 0 else float(expected.mean())
        done = done._replace(decisions=dict(zip(rule.decisions, counts, strict=True)), expected_cost=cost)
    result = PrevalenceResult(log, beside, job.level) if beside else None
    return done, Beside(list(log.classes.names), doubts, result)


def _groups(log: LabelledLog) -> list[tuple[str | None, IntArray]]:
    if log.keys is None:
        return [(None, np.arange(len(log.y)))]
    names, which = np.unique(log.keys.astype(str), return_inverse=True)
    return [(str(name), np.flatnonzero(which == i)) for i, name in enumerate(names)]


def _write(job: AdaptJob, log: LabelledLog, adapted: FloatArray, numbers: IntArray, extra: dict[str, Any]) -> None:
    pl, p = polars(), job.out_prefix
    with contextlib.closing(open_reader(job.stream)) as reader:
        frame = pl.concat([chunk.frame for chunk in reader.chunks(set())], how="vertical_relaxed")
    if job.columns.id is not None:
        if job.columns.id not in frame.columns:
            raise FileProblemError(
                job.stream.shown, "there is no such column; name one for --id", column=job.columns.id
            )
        ids = UniqueIds(job.columns.id, job.stream.shown)
        ids.add(frame[job.columns.id])
        ids.check()
    if job.only:
        used = {*log.classes.columns, *(name for name in job.columns if name is not None)}
        frame = frame[[name for name in frame.columns if name in used]]
    new: dict[str, Any] = {f"{p}{name}": adapted[:, c] for c, name in enumerate(log.classes.adapted)}
    new |= {f"{p}label": np.array(log.classes.names, dtype=object)[adapted.argmax(axis=1)]}
    new |= {f"{p}{name}": values for name, values in extra.items() if name == "decision"}
    new |= {f"{p}round": numbers} | {f"{p}{name}": values for name, values in extra.items() if name != "decision"}
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
