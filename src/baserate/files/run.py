"""``baserate adapt``: read, step, write, all at the same time; and never lose what is done, or leave half of it."""

import contextlib
import copy
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.files.errors import FileProblemError
from baserate.files.formats import CSV, Reader, Sink, SinkMark, open_reader, open_sink
from baserate.files.formats.format import CELLS
from baserate.files.ids import Ids
from baserate.files.job import Job, check_job, part_of, real
from baserate.files.kept import Kept
from baserate.files.late import late_labels
from baserate.files.lock import Lock, locked
from baserate.files.output import Output, is_keyed, table_of_rounds
from baserate.files.rounds import cut
from baserate.files.source import fingerprint
from baserate.files.starting import Start, give_up, put_back, start
from baserate.files.stepping import Batch, Counts, Outcome, Stepper, read_batch
from baserate.validation import check_real

PIECES = 32
"""How often a long file is saved: what a killed run has to do again is less than one part in so many."""
SPENT, SHARE = 1.0, 0.1
"""What saving may take: so many seconds over a file, and this share of the time. So a state that takes long, such as
one of very many keys, is saved less often."""
_LARGEST, _SMALLEST = 1 << 17, 256  # rows of a piece
_SECONDS = 30.0  # between saves, at the most


class Watch(NamedTuple):
    """Who wants to know how it goes."""

    begin: Callable[[int | None, int], None]  # rows in all, if known, and rows done already
    advance: Callable[[int], None]


class Done(NamedTuple):
    """What came of it."""

    kept: Kept
    rows: int
    first_row: int  # where a resumed run started
    already: bool  # whether there was nothing to do
    earlier: bool = False  # because the file was taken in, and others after it


def run(job: Job, watch: Watch | None = None) -> Done:
    """Adapt a file.

    Parameters
    ----------
    job : Job
        What to do.
    watch : Watch, optional
        Is told about the progress.
    """
    check_job(job)
    check_real(job.level, "--level", 0.0, 1.0, closed=False)
    with locked(job.state) as lock, contextlib.closing(open_reader(job.stream)) as reader:
        begun = start(job, reader, lock)
        if begun.given_up is not None and job.state is not None:
            give_up(begun.given_up, job.state, begun.found)
        if begun.already:
            return Done(begun.kept, 0, 0, already=True, earlier=begun.earlier)
        return _Run(job, reader, begun, lock, watch).run()


class _Run:
    """The loop over one file."""

    def __init__(self, job: Job, reader: Reader, begun: Start, lock: Lock, watch: Watch | None) -> None:
        self._job, self._reader, self._lock, self._watch = job, reader, lock, watch
        self._kept = kept = begun.kept
        self._found = begun.found
        self._classes = kept.of_classes
        self._resumed = kept.unfinished
        if not self._resumed:
            kept.begin(self._new_file(), begun.found)
        assert kept.file is not None
        self._file: dict[str, Any] = kept.file
        self._first = self._file["row"]
        self._due = _Due(reader.n_rows, self._first)
        self._saved = self._resumed
        self._counted = self._ended = False  # whether the state says that the file is done; and all is in its place
        self._sinks: list[Sink] = []
        self._parts: list[tuple[Path, Path]] = []
        hashes = self._file.get("ids")
        self._ids = None if job.columns.id is None else Ids(job.columns.id, job.stream.shown, hashes)

    def _new_file(self) -> dict[str, Any]:
        job, width = self._job, len(self._reader.columns)
        size = _LARGEST if self._reader.n_rows is None else self._reader.n_rows // PIECES
        if job.stream.is_stream and job.out.format.no_pipe is None:
            size = 1  # what comes through a pipe is passed on a round at a time
        else:
            size = min(max(size, _SMALLEST), _LARGEST, max(CELLS // width, 64))
        mine = None if job.stream.is_stream else fingerprint(job.stream.path)
        return {
            "name": job.stream.shown,
            "fingerprint": mine,
            "options": job.options(),
            "token": secrets.token_hex(4),  # of this attempt, whose parts are never taken for those of another
            "size": size,
            "row": 0,
            "mark": 0,
            "mark_row": 0,
            "out": {},
            "rounds": {},
        }

    def run(self) -> Done:
        job = self._job
        try:
            self._open()
            if not self._resumed:
                self._take_late()
            if self._watch is not None:
                self._watch.begin(self._reader.n_rows, self._first)
            self._loop()
            if self._ids is not None:
                self._ids.check()
            self._finish_undisturbed()
        except BaseException as error:
            for sink in self._sinks:
                with contextlib.suppress(OSError):
                    sink.close()
            if self._counted:
                pass  # what is whole stays, and the next run with the state puts it into its place
            elif isinstance(error, FileProblemError | ValueError):
                self._take_back()
            elif not (job.resumable and self._saved):
                self._remove()
            raise
        return Done(self._kept, self._file["row"], self._first, already=False)

    def _open(self) -> None:
        job, file = self._job, self._file
        targets = [(None if job.out.is_stream else real(job.out.path), job.out.format, "out")]
        if job.rounds_file is not None:
            targets.append((real(job.rounds_file), CSV, "rounds"))
        self._parts = [(part_of(target, file["token"]), target) for target, _, _ in targets if target is not None]
        self._lock.note([part for part, _ in self._parts])
        for target, form, name in targets:
            part = None if target is None else part_of(target, file["token"])
            mark = file[name] if self._resumed else None
            at = None if mark is None else SinkMark(mark["size"], mark["footer"].tobytes())
            self._sinks.append(open_sink(part, form, at))

    def _take_late(self) -> None:
        """Use the labels that have come for rows of earlier files."""
        job, adapter = self._job, self._kept.adapter
        if job.late is None or job.columns.id is None or not isinstance(adapter, RegressAndReweight):
            return
        for names, labels in late_labels(job.late, self._classes, job.columns.id, job.columns.labels or "label"):
            self._kept.late += adapter.update_labels(names, labels)

    def _pieces(self) -> Iterator[Batch]:
        job, file = self._job, self._file
        chunks = self._reader.chunks(
            set(self._classes.columns), of_one_type=job.columns.key, row=file["mark_row"], mark=file["mark"]
        )
        name = job.stream.shown
        for piece in cut(chunks, job.rounds, file["size"], file=name, time=job.columns.time, row=file["row"]):
            if self._ids is not None:
                self._ids.add(piece.frame.get_column(self._ids.column))
            yield read_batch(piece, self._classes, job.columns, name, named=job.wait > 0)

    def _loop(self) -> None:
        keyed = is_keyed(self._kept.adapter)
        seconds, clock = self._job.rounds.seconds, self._kept.clock
        window = clock[1] if clock is not None and clock[0] == seconds else None
        stepper = Stepper(self._kept.adapter, self._classes, self._job.level, window)
        output = Output(self._job, self._classes, self._reader.columns, keyed=keyed)
        pieces = self._pieces()
        with ThreadPoolExecutor(1) as reading, ThreadPoolExecutor(1) as writing, ThreadPoolExecutor(1) as settling:
            coming = self._coming(reading, pieces)
            before = written = saved = settled = _NOTHING
            while (batch := coming.result()) is not None:
                coming = self._coming(reading, pieces)
                outcome = stepper.step(batch)
                self._kept.clock = None if stepper.window is None else (seconds, stepper.window)
                before.result()
                before, written = written, writing.submit(self._write, output, outcome, written)
                self._file["row"], self._file["mark"], self._file["mark_row"] = batch.piece.resume
                self._kept.rows += len(batch.proba)
                if self._job.resumable and self._due.now(self._file["row"], saved):
                    saved = writing.submit(self._save, self._snapshot(), written)
                    if settled.done():  # bit by bit, so that little is left to wait for at the end
                        settled = settling.submit(self._sinks[0].settle)
                if self._watch is not None:
                    self._watch.advance(len(batch.proba))
            written.result()
            saved.result()
            settled.result()

    def _coming(self, reading: ThreadPoolExecutor, pieces: Iterator[Batch]) -> "Future[Batch | None] | _Later":
        """The next piece, read ahead; but not from a pipe, where a thread that waits could not be stopped."""
        return _Later(pieces) if self._job.stream.is_stream else reading.submit(next, pieces, None)

    def _write(self, output: Output, outcome: Outcome, before: Future[None]) -> None:
        """Runs in the thread that writes; at most two pieces wait for it."""
        before.result()  # where that failed, nothing may follow
        self._sinks[0].append(output.rows(outcome))
        for sink in self._sinks[1:]:
            sink.append(table_of_rounds(outcome))
        for name, n in outcome.counts()._asdict().items():
            setattr(self._kept, name, getattr(self._kept, name) + n)

    def _snapshot(self) -> Kept:
        """What there is after the last step, for a thread that saves it while the next steps are taken."""
        with self._due.saving():
            same = [self._file[name] for name in ("before", "found")]  # which may be large, and stay as they are
            kept = copy.deepcopy(self._kept, {id(part): part for part in same})
            assert kept.file is not None
            if self._ids is not None:
                kept.file["ids"] = self._ids.hashes[: kept.file["row"]]
            return kept

    def _save(self, kept: Kept, written: Future[None]) -> None:
        """Runs in the thread that writes, just after the last piece that `kept` knows of was `written`."""
        written.result()  # where that failed, the state must not say that it is there
        assert self._job.state is not None
        assert kept.file is not None
        for name, sink in zip(("out", "rounds"), self._sinks, strict=False):
            mark = sink.mark()
            kept.file[name] = {"size": mark.size, "footer": np.frombuffer(mark.footer, dtype=np.uint8)}
        for name in Counts._fields:  # which that thread adds up
            setattr(kept, name, getattr(self._kept, name))
        with self._due.saving():
            kept.save(self._job.state)
        self._saved = True

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
        for sink in self._sinks:
            # A state that says that the file is done must not be on the disk before the output is. Without one, the
            # worst that a power failure can do is that the command has to be run again.
            sink.finish(settled=self._job.state is not None)
        self._kept.finish()
        if self._job.state is not None:
            self._kept.save(self._job.state)
            self._counted = True
        for part, target in self._parts:
            part.replace(target)
        self._ended = True

    def _take_back(self) -> None:
        """The file cannot be used: as if it had never been begun."""
        self._remove()
        if self._saved and self._job.state is not None:
            put_back(self._job.state, self._found)

    def _remove(self) -> None:
        for part, _ in self._parts:
            part.unlink(missing_ok=True)


_NOTHING: Future[None] = Future()
"""What is done already."""
_NOTHING.set_result(None)


class _Later(NamedTuple):
    """A piece that is read when it is asked for."""

    pieces: Iterator[Batch]

    def result(self) -> Batch | None:
        return next(self.pieces, None)


class _Due:
    """When to save: after a small part of the file, or after some time; less often, where that takes long."""

    def __init__(self, n_rows: int | None, row: int) -> None:
        self._n_rows = np.inf if n_rows is None else max(n_rows, 1)
        self._first = self._last = row
        self._begun = self._since = time.monotonic()
        self._spent = 0.0

    def now(self, row: int, last: Future[None]) -> bool:
        """Whether to save after so many rows; waits until the `last` time is over."""
        now = time.monotonic()
        if row - self._last < self._n_rows / PIECES and now - self._since < _SECONDS:
            return False
        last.result()
        if self._spent > SPENT * (row - self._first) / self._n_rows + SHARE * (now - self._begun):
            return False
        self._last, self._since = row, now
        return True

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Saving is what is done meanwhile."""
        begun = time.monotonic()
        yield
        self._spent += time.monotonic() - begun
