"""A log that is read as a whole, for ``baserate backtest`` and ``baserate prevalence``."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.files.columns import Classes, check_stream, find_classes, joined, named_by_labels, read_holdout
from baserate.files.errors import FileProblemError, listed, shortened
from baserate.files.formats import Chunk, check_readable, open_reader
from baserate.files.rounds import RoundLength, cut
from baserate.files.scales import OutputOptions
from baserate.files.source import Source
from baserate.files.times import TimeStamps
from baserate.frames import polars, unnamed
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.validation import check_real


class LogJob(NamedTuple):
    """A log to read, and its options.

    Parameters
    ----------
    log : Source
        The file.
    label : str, optional
        Its column of labels. Without one, it needs a holdout of its own.
    holdout : Source, optional
        Labelled rows of their own; else the first part of the log is the holdout.
    holdout_label : str
        Their column of labels.
    share : float
        The part of the log that is the holdout, where it has none of its own.
    rounds : RoundLength
        The length of a round.
    time : str, optional
        The column of time stamps.
    prefix, names
        The prefix of the columns of probabilities, or their names.
    outputs : OutputOptions
        What the model's outputs are: probabilities, percentages or logits, for each class or one score.
    time_format : str, optional
        The format of time stamps that are neither ISO 8601 nor numbers.
    key : str, optional
        The column that says which stream a row is of.
    scored : bool
        True if labels are needed to score by.
    """

    log: Source
    label: str | None
    holdout: Source | None = None
    holdout_label: str = "label"
    share: float = 0.2
    rounds: RoundLength = RoundLength()
    time: str | None = None
    prefix: str = "p_"
    names: tuple[str, ...] = ()
    outputs: OutputOptions = OutputOptions()
    time_format: str | None = None
    key: str | None = None
    scored: bool = True


class LabelledLog(NamedTuple):
    """A log that was read, in the order of time.

    Parameters
    ----------
    classes : Classes
        The classes.
    proba, y
        The rows after the holdout; labels are -1 where there is none.
    holdout : (proba, y)
        The holdout, every row with a label.
    starts : (T + 1,) array of int, optional
        The row that each round starts with, and their number; None: nobody has chosen.
    idle : (T,) array of int, optional
        The number of empty windows just before each round, where it is cut by time.
    sorted : bool
        True if rows had to be put in order.
    times : (n,) array, optional
        The time of each row after the holdout, in seconds.
    keys : (n,) array of str, optional
        The key of each row.
    """

    classes: Classes
    proba: FloatArray
    y: IntArray
    holdout: tuple[FloatArray, IntArray]
    starts: IntArray | None
    idle: IntArray | None
    sorted: bool
    times: FloatArray | None = None
    keys: NDArray[np.object_] | None = None


def read_log(job: LogJob) -> LabelledLog:
    """Read and check a log, and its holdout."""
    check_real(job.share, "--holdout-share", 0.0, 1.0, closed=False)
    if job.rounds.seconds and job.time is None:
        raise ValueError("--rounds is a length of time; name the column of time stamps with --time.")
    if job.time_format is not None and job.time is None:
        raise ValueError("--time-format is for a column of time stamps; name that with --time.")
    check_readable(job.holdout, job.log)
    classes: Classes | None = None
    held: tuple[FloatArray, IntArray] | None = None
    if job.holdout is not None:
        with contextlib.closing(open_reader(job.holdout)) as reader:
            classes = find_classes(reader, job.holdout.shown, job.prefix, job.names, job.outputs)
            classes, held_proba, held_y = read_holdout(
                job.holdout, reader, classes, job.holdout_label, job.outputs.positive
            )
            held = held_proba, held_y
    classes, proba, y, times, keys = _read(job, classes)
    order = None
    if times is not None and (np.diff(times) < 0).any():
        order = np.argsort(times, kind="stable")
        proba, y, times = proba[order], y[order], times[order]
        keys = None if keys is None else keys[order]
    if job.scored:
        _check_labels(job, classes, y)
    if held is None:
        first = int(job.share * len(y))
        known = y[:first] != UNLABELLED
        held = proba[:first][known], y[:first][known]
        _check_holdout(job, classes, held[1], first)
        proba, y, times = proba[first:], y[first:], None if times is None else times[first:]
        keys = None if keys is None else keys[first:]
        _check_labels(job, classes, y)
    return LabelledLog(classes, proba, y, held, *_starts(job, len(y), times), order is not None, times, keys)


def _read(
    job: LogJob, classes: Classes | None
) -> tuple[Classes, FloatArray, IntArray, FloatArray | None, NDArray[np.object_] | None]:
    """The whole file."""
    file = job.log.shown
    with contextlib.closing(open_reader(job.log)) as reader:
        own = classes is None
        classes = classes or find_classes(reader, file, job.prefix, job.names, job.outputs)
        check_stream(reader, file, classes, job.prefix, [job.label, job.time, job.key])
        others = [name for name in (job.label, job.time, job.key) if name is not None]
        used = list(dict.fromkeys([*classes.columns, *others]))
        chunks = [chunk._replace(frame=chunk.frame[used]) for chunk in reader.chunks(set(classes.columns))]
    if job.label is None:
        y = np.full(sum(len(chunk.frame) for chunk in chunks), UNLABELLED)
    else:
        values = joined(chunk.frame.get_column(job.label) for chunk in chunks)
        classes = named_by_labels(classes, values, job.outputs.positive, file) if own else classes
        y = classes.labels(values, file, 0)
    if own:
        classes.check_scale(chunks, y, file)
    stamps, clock = None, TimeStamps(file, job.time_format)
    if job.time is not None:
        stamps = np.concatenate([clock.seconds(chunk.frame.get_column(job.time), chunk.row) for chunk in chunks])
    keys = None
    if job.key is not None:
        values = joined(chunk.frame.get_column(job.key) for chunk in chunks)
        named = unnamed(values)
        if named.null_count():
            bad = int(named.is_null().arg_max() or 0)
            raise FileProblemError(
                file,
                "the key is missing; fill it in, or drop the row",
                row=chunks[0].row + bad,
                column=shortened(values.name),
            )
        keys = values.cast(polars().String).to_numpy().astype(object)
    # What was read is given up bit by bit: it may be most of the memory.
    parts = [classes.proba(chunk.frame, file, chunk.row) for chunk in _taken(chunks)]
    return classes, np.concatenate(parts), y, stamps, keys


def _taken(chunks: list[Chunk]) -> Iterator[Chunk]:
    chunks.reverse()
    while chunks:
        yield chunks.pop()


def _check_labels(job: LogJob, classes: Classes, y: IntArray) -> None:
    """Check that there is something to score."""
    found = np.unique(y[y != UNLABELLED])
    where = "" if job.holdout is not None else " after the holdout" if len(y) else ""
    if len(found) == 0:
        raise FileProblemError(
            job.log.shown, f"there is no label{where}; name the column of the true labels", column=job.label
        )
    if len(found) == 1:
        raise FileProblemError(
            job.log.shown,
            f"every label{where} is {classes.names[found[0]]!r}, so that there is nothing to compare; check that this "
            "is the column of the true labels, or give a longer log",
            column=job.label,
        )


def _check_holdout(job: LogJob, classes: Classes, y: IntArray, first: int) -> None:
    absent = np.flatnonzero(np.bincount(y, minlength=len(classes.names)) == 0)
    if len(absent):
        missing = listed([classes.names[c] for c in absent])
        raise FileProblemError(
            job.log.shown,
            f"among the first {first:,} rows, which are the holdout (--holdout-share {job.share:g}), no label is "
            f"{missing}; the holdout needs every class. Make the share larger, or give a file of labelled rows with "
            "--holdout",
            column=job.label,
        )


def _starts(job: LogJob, n: int, times: FloatArray | None) -> tuple[IntArray | None, IntArray | None]:
    """The rows that rounds start with, cut as `baserate adapt` does, and the empty windows before each."""
    if job.rounds == RoundLength():
        return None, None
    pl = polars()
    name = job.time or "row"
    stamps = np.zeros(n) if times is None else times
    frame = pl.DataFrame({name: pl.Series(np.round(1e6 * stamps).astype(np.int64)).cast(pl.Datetime("us"))})
    pieces = cut(iter([Chunk(frame, 0, 0, 0)]), job.rounds, n, file=job.log.shown, time=name, row=0)
    piece = next(pieces)
    windows = piece.windows
    return piece.starts, None if windows is None else np.maximum(np.diff(windows, prepend=windows[0]) - 1, 0)
