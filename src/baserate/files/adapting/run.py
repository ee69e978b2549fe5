"""A run of ``baserate adapt`` over one file: never lose what is done, and never leave half of it."""

import contextlib
import copy
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from baserate.files.adapting.asked_rows import AskedRows
from baserate.files.adapting.decided import decide_piece
from baserate.files.adapting.job import AdaptJob, check_job
from baserate.files.adapting.late_labels import late_labels
from baserate.files.adapting.lock import Lock, locked
from baserate.files.adapting.output import Output, round_table
from baserate.files.adapting.paths import part_of, resolved
from baserate.files.adapting.pieces import AdaptedPiece, CheckedPiece, check_piece
from baserate.files.adapting.pipeline import Pipeline
from baserate.files.adapting.save_schedule import PIECES, SaveSchedule
from baserate.files.adapting.saved import LARGEST_PIECE
from baserate.files.adapting.start import Start, abandon, find_start, put_back
from baserate.files.adapting.state import Clock, DecisionCounts, FileProgress, StreamState
from baserate.files.adapting.steppers import stepper_for
from baserate.files.adapting.unique_ids import UniqueIds
from baserate.files.content import fingerprint
from baserate.files.errors import FileProblemError
from baserate.files.formats import CELLS, CSV, Format, Reader, Sink, SinkMark, open_reader, open_sink
from baserate.files.rounds import cut
from baserate.validation import warn_user

_SMALLEST = 256  # rows of a piece


class ProgressCallback(NamedTuple):
    """Functions that are told how far a run has come."""

    begin: Callable[[int | None, int], None]  # rows in all, if known, and rows done already
    advance: Callable[[int], None]  # rows done since


class AdaptResult(NamedTuple):
    """The outcome of a run.

    Parameters
    ----------
    state : StreamState
        The state after it.
    rows : int
        Rows of the file that are adapted.
    first_row : int
        The row that the run started at, which is not 0 for one that was resumed.
    nothing_to_do : bool
        True if the file was finished before.
    earlier_file : bool
        True if others were finished after it.
    """

    state: StreamState
    rows: int
    first_row: int
    nothing_to_do: bool = False
    earlier_file: bool = False


def adapt_file(job: AdaptJob, progress: ProgressCallback | None = None) -> AdaptResult:
    """Adapt a file, or go on where a killed run has stopped.

    Parameters
    ----------
    job : AdaptJob
        The file and the options.
    progress : ProgressCallback, optional
        Is told about the progress.
    """
    check_job(job)
    with (
        locked(job.state) as lock,
        job.stream.watched() as stream,
        contextlib.closing(open_reader(stream)) as reader,
    ):
        job = job._replace(stream=stream)
        start = find_start(job, reader, lock)
        if start.abandoned is not None and job.state is not None:
            abandon(start.abandoned, job, start.found)
        if start.nothing_to_do:
            return AdaptResult(start.state, 0, 0, nothing_to_do=True, earlier_file=start.earlier_file)
        return FileRun(job, reader, start, lock, progress).run()


class FileRun:
    """A run over one file: the stages of its `Pipeline`, and what comes before and after them."""

    def __init__(
        self, job: AdaptJob, reader: Reader, start: Start, lock: Lock, progress: ProgressCallback | None
    ) -> None:
        self._job, self._reader, self._lock, self._progress = job, reader, lock, progress
        self._state = state = start.state
        self._found, self._rule = start.found, start.rule
        resumed = state.unfinished
        self._resumed = resumed is not None
        file = state.begin(self._new_file(), start.found) if resumed is None else resumed
        self._first = file.position
        self._token = file.token
        self._schedule = SaveSchedule(reader.n_rows, self._first.row)
        self._saved = self._resumed
        self._counted = self._ended = False  # True when the state says that the file is done; and all is in its place
        self._sinks: list[Sink] = []
        self._parts: list[tuple[Path, Path]] = []
        self._ids = None if job.columns.id is None else UniqueIds(job.columns.id, job.stream.shown, file.ids)
        self._stepper = stepper_for(state, job.level, job.rounds.seconds)
        decisions = () if self._rule is None else self._rule.decisions
        self._output = Output(job, state.classes, reader.columns, keyed=state.bank is not None, decisions=decisions)

    def _new_file(self) -> FileProgress:
        job, width = self._job, len(self._reader.columns)
        size = LARGEST_PIECE if self._reader.n_rows is None else self._reader.n_rows // PIECES
        if job.stream.is_stream and job.out.format.no_pipe is None:
            size = 1  # what comes through a pipe is passed on a round at a time
        else:
            size = min(max(size, _SMALLEST), LARGEST_PIECE, max(CELLS // width, 64))
        content = job.stream.content
        samples = None if content is None else content.samples
        file = FileProgress(job.stream.shown, samples, job.options(), secrets.token_hex(4), size)
        if job.ask is not None:
            file = file._replace(asked=AskedRows.none_yet(job.ask))
        if self._rule is None:
            return file
        names = self._rule.decisions
        return file._replace(
            decided=DecisionCounts(names, (0,) * len(names), None if self._rule.costs is None else 0.0)
        )

    @property
    def _file(self) -> FileProgress:
        assert self._state.file is not None
        return self._state.file

    def run(self) -> AdaptResult:
        """Adapt the file, and leave nothing half done."""
        try:
            self._open()
            if not self._resumed:
                self._take_late_labels()
            if self._progress is not None:
                self._progress.begin(self._reader.n_rows, self._first.row)
            Pipeline(self, read_ahead=not self._job.stream.is_stream).run()
            if self._ids is not None:
                self._ids.check()
            self._tell_of_rows_that_do_not_wait()
            if self._job.stream.content is not None:
                self._state.file = self._file._replace(fingerprint=self._job.stream.content.fingerprint())
            self._finish_undisturbed()
        except BaseException as error:
            for sink in self._sinks:
                with contextlib.suppress(OSError):
                    sink.close()
            if self._counted:
                pass  # what is whole stays, and the next run with the state puts it into its place
            elif isinstance(error, FileProblemError | ValueError):
                self._take_back()
            elif not (self._job.resumable and self._saved):
                self._remove()
            raise
        return AdaptResult(self._state, self._file.position.row, self._first.row)

    def _open(self) -> None:
        job, file = self._job, self._file
        targets: list[tuple[Path | None, Format, SinkMark | None]] = [
            (None if job.out.is_stream else resolved(job.out.path), job.out.format, file.out)
        ]
        if job.rounds_file is not None:
            targets.append((resolved(job.rounds_file), CSV, file.rounds))
        places = [target for target, _, _ in targets if target is not None]
        places += [] if job.ask_file is None else [resolved(job.ask_file)]
        self._parts = [(part_of(target, self._token), target) for target in places]
        self._lock.note([part for part, _ in self._parts])
        for target, form, mark in targets:
            part = None if target is None else part_of(target, self._token)
            self._sinks.append(open_sink(part, form, mark))

    def _take_late_labels(self) -> None:
        """Use the labels that have come for rows of earlier files."""
        job, state = self._job, self._state
        if job.late is None or job.columns.id is None or state.bank is not None:
            return
        for part in late_labels(job.late, state.classes, job.columns.id, job.late_labels, job.late_probability):
            state.late_labels += state.fitted.update_labels(part.ids, part.labels, y_probability=part.chosen)
        if fingerprint(job.late.path) != self._file.options["--late"]:
            raise FileProblemError(job.late.shown, "has changed while it was read; run the command again")

    def pieces(self) -> Iterator[CheckedPiece]:
        """Read and check the rows that are left, in the reading thread."""
        job, file, start = self._job, self._file, self._first
        classes, name = self._state.classes, job.stream.shown
        chunks = self._reader.chunks(
            set(classes.columns), of_one_type=job.columns.key, row=start.mark_row, mark=start.mark
        )
        for piece in cut(
            chunks,
            job.rounds,
            file.piece_rows,
            file=name,
            time=job.columns.time,
            row=start.row,
            time_format=job.time_format,
        ):
            if self._ids is not None:
                self._ids.add(piece.frame.get_column(self._ids.column))
            yield check_piece(piece, classes, job.columns, name, with_ids=job.wait > 0)

    def step(self, piece: CheckedPiece) -> AdaptedPiece:
        """Adapt a piece, and note how far the file has come, in the calling thread."""
        adapted = self._stepper.step(piece)
        if self._rule is not None and self._file.decided is not None:
            adapted, counts = decide_piece(adapted, self._rule)
            self._state.file = self._file._replace(decided=self._file.decided.plus(counts))
        self._state.file = self._file._replace(asked=self._stepper.asked)
        last = self._stepper.last_windows
        self._state.clock = None if last is None else Clock(self._job.rounds.seconds, last)
        self._state.advance(piece.piece.resume)
        if self._progress is not None:
            self._progress.advance(len(piece.proba))
        return adapted

    def write(self, adapted: AdaptedPiece) -> None:
        """Append a piece to the output and to the table of rounds, in the writing thread."""
        self._sinks[0].append(self._output.rows(adapted))
        for sink in self._sinks[1:]:
            sink.append(round_table(adapted))
        self._state.label_counts = self._state.label_counts.plus(adapted.label_counts())

    def should_save(self, last: Future[None]) -> bool:
        """Tell whether to save now, in the calling thread."""
        return self._job.resumable and self._schedule.is_due(self._file.position.row, last)

    def snapshot(self) -> StreamState:
        """Copy the state, in the calling thread, for the thread that saves it while the next steps are taken."""
        with self._schedule.saving():
            state = copy.deepcopy(self._state)
            file, content = self._file, self._job.stream.content
            ids = None if self._ids is None else self._ids.hashes[: file.position.row]
            state.file = file._replace(ids=ids, read=None if content is None else content.mark())
            return state

    def save(self, state: StreamState) -> None:
        """Save a copy of the state, in the writing thread, just after the last piece that it counts."""
        assert self._job.state is not None
        assert state.file is not None
        out, *rounds = (sink.mark() for sink in self._sinks)
        state.file = state.file._replace(out=out, rounds=rounds[0] if rounds else None)
        state.label_counts = self._state.label_counts  # which this thread adds up
        with self._schedule.saving():
            state.save(self._job.state)
        self._saved = True

    def settle(self) -> None:
        """Force the output to the disk, in the settling thread."""
        self._sinks[0].settle()

    def _tell_of_rows_that_do_not_wait(self) -> None:
        """Say how many rows are asked for that wait no more: their labels would find nothing."""
        asked, wait, rows = self._file.asked, self._job.wait, self._file.position.row
        if asked is None or rows <= wait:
            return
        gone = int((asked.chosen()[0].rows < rows - wait).sum())
        if gone:
            warn_user(
                f"{gone:,} of the rows that --ask names do not wait for their labels any more: the file has {rows:,} "
                f"rows, and --wait is {wait:,}. Begin a state with a larger --wait, or ask by smaller files."
            )

    def _write_requests(self) -> None:
        """Write the rows that labels are asked for."""
        job, asked = self._job, self._file.asked
        if asked is None or job.ask_file is None or job.columns.id is None:
            return
        sink = open_sink(part_of(resolved(job.ask_file), self._token), CSV)
        sink.append(asked.table(job.columns.id, job.late_labels))
        sink.finish(settled=True)

    def _finish_undisturbed(self) -> None:
        """Finish in a thread, which Ctrl-C does not reach: it must not come between the state and the output."""
        ending = ThreadPoolExecutor(1)
        ending.submit(int).result()  # a thread that Ctrl-C finds as it is started would not be waited for
        try:
            ending.submit(self._finish).result()
        except KeyboardInterrupt:
            while True:  # however often it comes
                with contextlib.suppress(KeyboardInterrupt):
                    ending.shutdown()
                    break
            if not self._ended:
                raise
        finally:
            ending.shutdown(wait=False)

    def _finish(self) -> None:
        """The output first, then the state, then their places: a run that is killed between them can be finished."""
        self._write_requests()
        for sink in self._sinks:
            # A state that says that the file is done must not be on the disk before the output is. Without one, the
            # worst that a power failure can do is that the command has to be run again.
            sink.finish(settled=self._job.state is not None)
        self._state.finish()
        if self._job.state is not None:
            self._state.save(self._job.state)
            self._counted = True
        for part, target in self._parts:
            part.replace(target)
        self._ended = True

    def _take_back(self) -> None:
        """The file cannot be used: leave everything as if it had never been begun."""
        self._remove()
        if self._saved and self._job.state is not None:
            put_back(self._job.state, self._found)

    def _remove(self) -> None:
        for part, _ in self._parts:
            part.unlink(missing_ok=True)
