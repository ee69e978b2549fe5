"""The start of a run: on a new holdout, after the files before, or in the midst of a file."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.decisions import DecisionRule
from baserate.files.adapting.job import AdaptJob
from baserate.files.adapting.lock import Lock, remove_parts
from baserate.files.adapting.output import Output
from baserate.files.adapting.paths import is_beside, resolved
from baserate.files.adapting.state import FileProgress, StreamState, load_stream_state, read_state_file
from baserate.files.class_names import in_words_of_files
from baserate.files.columns import Classes, check_stream, find_classes, read_holdout
from baserate.files.content import fingerprint, is_known_as
from baserate.files.costs import decisions_in_words, rule_for
from baserate.files.errors import FileProblemError
from baserate.files.formats import Reader, open_reader
from baserate.files.positive import positive_class
from baserate.files.source import Source
from baserate.protocols import FloatArray, IntArray
from baserate.state import write_atomically
from baserate.validation import warn_user


class Start(NamedTuple):
    """The place where a run starts.

    Parameters
    ----------
    state : StreamState
        The state to go on from: in the midst of the file, or before it.
    found : bytes or None
        The state file as it was before the file was begun; None: there was none.
    abandoned : FileProgress, optional
        A file that was begun and is not gone on with. Its parts are still there: nothing may be lost by a command that
        is refused.
    nothing_to_do : bool
        True if the file is finished.
    earlier_file : bool
        True if others were finished after it.
    rule : DecisionRule or None
        What to decide by; None without costs and threshold.
    """

    state: StreamState
    found: bytes | None
    abandoned: FileProgress | None = None
    nothing_to_do: bool = False
    earlier_file: bool = False
    rule: DecisionRule | None = None


def find_start(job: AdaptJob, reader: Reader, lock: Lock) -> Start:
    """Find out where to start, and check that it can be done."""
    begun = _begun(job, lock)
    state = begun.state
    keyed = state.bank is not None
    if keyed != (job.columns.key is not None):
        has = "a tracker per key; name the column with --key" if keyed else "one tracker for all"
        raise ValueError(f"--state {job.state} holds {has}; or name another state file.")
    _check_outputs(job, state.classes)
    if not keyed and job.wait not in (0, state.fitted.max_waiting):
        held = state.fitted.max_waiting
        raise ValueError(f"--wait is {job.wait}, and --state {job.state} was begun with {held}; give the same number.")
    check_stream(reader, job.stream.shown, state.classes, job.prefix, list(job.columns))
    rule = rule_for(job.decisions, state.classes)
    decisions = rule.decisions if job.decisions.decides else ()
    if not decisions and not begun.nothing_to_do:
        _tell_of_decisions(job, state.file)
    Output(job, state.classes, reader.columns, keyed=keyed, decisions=decisions).check_names()
    return begun._replace(rule=rule if job.decisions.decides else None)


def _tell_of_decisions(job: AdaptJob, last: FileProgress | None) -> None:
    """Say that a file will have no decisions, and the one before it had: whoever reads them would miss the column."""
    words = "" if last is None else decisions_in_words(last.options)
    if words:
        warn_user(f"the last file had {words}; this one has no {job.out_prefix}decision. Add {words}.")


def _check_outputs(job: AdaptJob, classes: Classes) -> None:
    """Check that a state was begun with outputs of the same kind: it has learned from those."""
    asked = job.outputs
    score = None if classes.positive is None else classes.columns[0]
    positive = None if classes.positive is None else classes.names[classes.positive]
    if (asked.score, asked.scale) != (score, classes.scale) or asked.positive not in (None, positive):
        if asked.score is None and score is None and asked.scale == classes.scale:
            positive_class(classes.names, asked.positive)
            return
        begun = (
            f"begun with {classes.options}; add {classes.options}"
            if classes.options
            else ("begun with a column of probabilities for each class; leave --score, --percent and --logits out")
        )
        raise ValueError(f"--state {job.state} was {begun}, or name another state file.")


def _begun(job: AdaptJob, lock: Lock) -> Start:
    found = None if job.state is None else read_state_file(job.state)
    if job.state is None or found is None:
        lock.sweep((), job.folders)
        return Start(_fitted(job), None)
    state = load_stream_state(found, job.state, job.max_bytes)
    if state.file is not None and state.file.finished:
        move_into_place(state.file, job)
    lock.sweep([] if state.file is None else state.file.parts.values(), job.folders)
    abandoned = state.unfinished
    if abandoned is not None:
        if _goes_on(job, state, abandoned):
            return Start(state, abandoned.found)
        if abandoned.found is None and job.holdout is not None:
            return Start(_fitted(job), None, abandoned)
        # Before the first file there was what the holdout has taught, if not in a file.
        found = abandoned.before if abandoned.found is None else abandoned.found
        state = load_stream_state(found, job.state, job.max_bytes)
    content = job.stream.content
    if state.file is not None and content is not None and content.is_known_as(state.file.fingerprint):
        if state.file.options == job.options() and _is_there(state.file):
            return Start(state, found, abandoned, nothing_to_do=True)
        state = load_stream_state(state.file.before, job.state, job.max_bytes)
    elif content is not None and state.has_done(content):
        if job.out.is_stream or not job.out.path.exists():
            raise FileProblemError(
                job.stream.shown,
                f"was taken in before, and others after it, so that --state {job.state} does not count it again, and "
                "cannot make its output again. Use a copy of the state from before it, or leave --state out",
            )
        return Start(state, found, abandoned, nothing_to_do=True, earlier_file=True)
    if job.holdout is not None:
        _take_over(job, state, job.holdout)
    return Start(state, found, abandoned)


def _goes_on(job: AdaptJob, state: StreamState, file: FileProgress) -> bool:
    """Tell whether an unfinished file is resumed; if not, it is begun anew."""
    if job.restart:
        return False
    row, content = f"row {file.position.row:,}", job.stream.content
    if content is None or file.fingerprint != content.samples:
        raise ValueError(
            f"--state {job.state} is in the midst of {file.name} ({row}), which was not finished. "
            "Run the command for that file again to finish it, or go back to where it began with --restart."
        )
    options = job.options()
    others = [name for name in {**options, **file.options} if file.options.get(name) != options.get(name)]
    holdout = job.holdout
    if holdout is not None and not holdout.is_stream and not _is_holdout_of(state, holdout):
        others.append("--holdout")
    if others:
        raise ValueError(
            f"--state {job.state} is in the midst of {file.name} ({row}), and this command differs "
            f"from the one that began it in {', '.join(others)}. Run the same command again to finish the file, or go "
            "back to where it began with --restart."
        )
    if not _parts_are_there(file):
        return False
    if file.read is not None and not content.begins_with(file.read):
        raise ValueError(
            f"--state {job.state} is in the midst of {file.name} ({row}), and rows before that have changed since. "
            "Put the file back as it was to finish it, or go back to where it began with --restart."
        )
    return True


class _HoldoutData(NamedTuple):
    """The labelled rows that an adapter is fitted on, and the fingerprint of their file."""

    classes: Classes
    proba: FloatArray
    labels: IntArray
    fingerprint: str

    def in_order_of(self, names: list[str]) -> "_HoldoutData":
        """The same rows with the classes in another order; as they are, if the classes are others."""
        found = self.classes
        if found.numbered or found.positive is not None or sorted(found.names) != sorted(names):
            return self
        order = [found.names.index(name) for name in names]
        classes = found._replace(columns=[found.columns[i] for i in order], names=list(names))
        return self._replace(classes=classes, proba=self.proba[:, order], labels=np.argsort(order)[self.labels])


def _fitted(job: AdaptJob) -> StreamState:
    """A new state, fitted on the holdout."""
    assert job.holdout is not None
    state = StreamState()
    adapter = RegressAndReweight(max_waiting=job.wait)
    data = _read(job, job.holdout)
    state.classes, state.holdout = data.classes, data.fingerprint
    with _in_words_of(job.holdout, data.classes):
        adapter.fit(data.proba, data.labels, names=data.classes.names)
    state.adapter = adapter if job.columns.key is None else Bank(adapter)
    return state


@contextlib.contextmanager
def _in_words_of(holdout: Source, classes: Classes) -> Iterator[None]:
    """Say what is wrong with a holdout by the names of its file, its columns and its classes."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{holdout.shown}: {in_words_of_files(str(error), classes)}") from error


def _read(job: AdaptJob, holdout: Source) -> _HoldoutData:
    with holdout.watched() as watched, contextlib.closing(open_reader(watched)) as reader:
        classes = find_classes(reader, holdout.shown, job.prefix, job.names, job.outputs)
        classes, proba, labels = read_holdout(holdout, reader, classes, job.holdout_label, job.outputs.positive)
        found = "" if watched.content is None else watched.content.fingerprint()
    return _HoldoutData(classes, proba, labels, found)


def _is_holdout_of(state: StreamState, holdout: Source) -> bool:
    return is_known_as(fingerprint(holdout.path), state.holdout)


def _take_over(job: AdaptJob, state: StreamState, holdout: Source) -> None:
    """Check that the holdout is the state's, or take over another if that is asked for."""
    if holdout.is_stream or _is_holdout_of(state, holdout):
        return
    if not job.refit:
        raise ValueError(
            f"--holdout {holdout.name} is not the one that --state {job.state} was begun with. If the model was "
            "deployed anew, take its holdout over with --refit; else give the same holdout, or none."
        )
    data = _read(job, holdout).in_order_of(state.classes.names)
    if data.classes.names != state.classes.names:
        raise FileProblemError(holdout.shown, "has other classes than the state; begin a new state file")
    state.classes, state.holdout = data.classes, data.fingerprint
    with _in_words_of(holdout, data.classes):
        state.fitted.refit(data.proba, data.labels, names=data.classes.names)


def _is_there(file: FileProgress) -> bool:
    """Tell whether a finished file's output is where it belongs; nobody knows what became of standard output."""
    return file.options["-o"] is not None and all(target.exists() for target in file.parts)


def _parts_are_there(file: FileProgress) -> bool:
    sizes = [mark.size for mark in (file.out, file.rounds) if mark is not None]
    parts = file.parts.values()
    # The file that asks for labels comes last, and is written at the end.
    return all(_is_plain(part) and part.stat().st_size >= size for part, size in zip(parts, sizes, strict=False))


def _is_plain(part: Path) -> bool:
    return part.is_file() and not part.is_symlink()


def move_into_place(file: FileProgress, job: AdaptJob) -> None:
    """Move what is complete into its place, where a run was killed before it could.

    Only in the folders that this run writes into: what a state says of others may not be true.
    """
    for target, part in file.parts.items():
        if not _is_plain(part):
            continue
        if not is_beside(target, job.folders):
            raise ValueError(
                f"--state {job.state} has finished {file.name}, but {target} is not in its place yet: it is whole in "
                f"{part.name}, beside it. Run the command for that file again, or move it yourself."
            )
        part.replace(target)


def abandon(file: FileProgress, job: AdaptJob, found: bytes | None) -> None:
    """Go back to before a file that was begun. Its parts go first: without them, nobody goes on with it."""
    assert job.state is not None
    remove_parts(file.parts.values(), job.folders)
    put_back(job.state, found)


def put_back(state: Path, found: bytes | None) -> None:
    """Make a state file what it was before."""
    if found is None:
        resolved(state).unlink(missing_ok=True)
    else:
        write_atomically(state, found)


def what_is_left(job: AdaptJob) -> str:
    """A sentence that says what a run that could not be ended has left."""
    file = None
    with contextlib.suppress(OSError, ValueError):  # whatever is the matter with the state has been said
        found = None if job.state is None else read_state_file(job.state)
        file = None if found is None or job.state is None else load_stream_state(found, job.state, job.max_bytes).file
    if file is not None and not file.finished:
        return "what is done is kept; the same command goes on from there."
    if file is not None and any(part.exists() for part in file.parts.values()):
        return "the output is whole, and the state counts it; the next run with the state puts it into its place."
    return "nothing was written." if not job.out.is_stream else "the output is not complete."
