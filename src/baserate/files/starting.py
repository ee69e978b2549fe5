"""Where a run starts: on a new holdout, after the files before, or in the midst of a file."""

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.files.columns import check_stream, find_classes, read_holdout
from baserate.files.errors import FileProblemError
from baserate.files.formats import Reader, check_readable, open_reader
from baserate.files.job import Job, check_names, part_of, real
from baserate.files.kept import Kept, load_kept, read_kept
from baserate.files.lock import Lock
from baserate.files.output import Output, is_keyed
from baserate.files.source import Source, fingerprint
from baserate.state import write_atomically


class Start(NamedTuple):
    """Where a run starts.

    Parameters
    ----------
    kept : Kept
        The state to go on from: in the midst of the file, or before it.
    found : bytes or None
        The state file as it was before the file was begun; None: there was none.
    given_up : dict, optional
        A file that was begun and is not gone on with. Its parts are still there: nothing may be lost by a command that
        is refused.
    already : bool
        Whether the file is done, and there is nothing to do.
    earlier : bool
        Whether others were done after it.
    """

    kept: Kept
    found: bytes | None
    given_up: dict[str, Any] | None = None
    already: bool = False
    earlier: bool = False


def start(job: Job, reader: Reader, lock: Lock) -> Start:
    """Find out where to start, and check that it can be done."""
    for source in (job.holdout, job.late):
        if source is not None:
            check_readable(source)
    begun = _begun(job, lock)
    kept = begun.kept
    if is_keyed(kept.adapter) != (job.columns.key is not None):
        has = "a tracker per key; name the column with --key" if is_keyed(kept.adapter) else "one tracker for all"
        raise ValueError(f"--state {job.state} holds {has}; or name another state file.")
    if isinstance(kept.adapter, RegressAndReweight) and job.wait not in (0, kept.adapter.max_waiting):
        held = kept.adapter.max_waiting
        raise ValueError(f"--wait is {job.wait}, and --state {job.state} was begun with {held}; give the same number.")
    _check_columns(job, reader, kept)
    return begun


def _begun(job: Job, lock: Lock) -> Start:
    found = None if job.state is None else read_kept(job.state)
    if job.state is None or found is None:
        lock.sweep(keep=())
        return Start(_fitted(job), None)
    kept = load_kept(found, job.state)
    if kept.file is not None and kept.file["finished"]:
        settle(kept.file)
    lock.sweep(keep=[] if kept.file is None else _targets(kept.file).values())
    given_up = None
    if kept.file is not None and kept.unfinished:
        before = kept.file["found"]
        if _goes_on(job, kept, kept.file):
            return Start(kept, None if before is None else before.tobytes())
        given_up = kept.file
        if before is None and job.holdout is not None:
            return Start(_fitted(job), None, given_up)
        # Before the first file there were the holdout's lessons, if not in a file.
        found = (given_up["before"] if before is None else before).tobytes()
        kept = load_kept(found, job.state)
    mine = None if job.stream.is_stream else fingerprint(job.stream.path)
    if kept.file is not None and mine is not None and kept.file["fingerprint"] == mine:
        if kept.file["options"] == job.options() and _is_there(kept.file):
            return Start(kept, found, given_up, already=True)
        kept = kept.before()
    elif mine is not None and kept.has_done(mine):
        if job.out.is_stream or not job.out.path.exists():
            raise FileProblemError(
                job.stream.shown,
                f"was taken in before, and others after it, so that --state {job.state} does not count it again, and "
                "cannot make its output again. Use a copy of the state from before it, or leave --state out",
            )
        return Start(kept, found, given_up, already=True, earlier=True)
    if job.holdout is not None:
        _check_holdout(job, kept, job.holdout)
    return Start(kept, found, given_up)


def _goes_on(job: Job, kept: Kept, file: dict[str, Any]) -> bool:
    """Whether to go on with an unfinished file; if not, it is to be begun anew."""
    if job.restart:
        return False
    if job.stream.is_stream or file["fingerprint"] != fingerprint(job.stream.path):
        raise ValueError(
            f"--state {job.state} is in the midst of {file['name']} (row {file['row']:,}), which was not finished. "
            "Run the command for that file again to finish it, or go back to where it began with --restart."
        )
    others = [name for name, value in job.options().items() if file["options"].get(name) != value]
    holdout = job.holdout
    if holdout is not None and not holdout.is_stream and fingerprint(holdout.path) != kept.holdout:
        others.append("--holdout")
    if others:
        raise ValueError(
            f"--state {job.state} is in the midst of {file['name']} (row {file['row']:,}), and this command differs "
            f"from the one that began it in {', '.join(others)}. Run the same command again to finish the file, or go "
            "back to where it began with --restart."
        )
    return _parts_are_there(file)


def _check_columns(job: Job, reader: Reader, kept: Kept) -> None:
    classes = kept.of_classes
    check_stream(reader, job.stream.shown, classes, job.prefix, list(job.columns))
    output = Output(job, classes, reader.columns, keyed=is_keyed(kept.adapter))
    check_names(output.kept, output.new, job.stream.shown)


def _fitted(job: Job) -> Kept:
    assert job.holdout is not None
    kept = Kept()
    adapter = RegressAndReweight(max_waiting=job.wait)
    kept.classes, proba, labels, kept.holdout = _read(job, job.holdout)
    adapter.fit(proba, labels)
    kept.adapter = adapter if job.columns.key is None else Bank(adapter)
    return kept


def _read(job: Job, holdout: Source) -> tuple[dict[str, Any], Any, Any, str]:
    with contextlib.closing(open_reader(holdout)) as reader:
        classes = find_classes(reader, holdout.shown, job.prefix, job.names)
        classes, proba, labels = read_holdout(holdout, reader, classes, job.holdout_label)
    return classes._asdict(), proba, labels, "" if holdout.is_stream else fingerprint(holdout.path)


def _check_holdout(job: Job, kept: Kept, holdout: Source) -> None:
    """The holdout is the state's, or is taken over if that is asked for."""
    if holdout.is_stream or fingerprint(holdout.path) == kept.holdout:
        return
    if not job.refit:
        raise ValueError(
            f"--holdout {holdout.name} is not the one that --state {job.state} was begun with. If the model was "
            "deployed anew, take its holdout over with --refit; else give the same holdout, or none."
        )
    classes, proba, labels, kept.holdout = _read(job, holdout)
    if classes["names"] != kept.classes["names"]:
        raise FileProblemError(holdout.shown, "has other classes than the state; begin a new state file")
    kept.classes = classes
    adapter = kept.adapter.adapter if isinstance(kept.adapter, Bank) else kept.adapter
    adapter.refit(proba, labels)


def _targets(file: dict[str, Any]) -> dict[Path, Path]:
    """Where files go, and where they are until they are whole."""
    targets = [Path(file["options"][name]) for name in ("-o", "--rounds-file") if file["options"][name] is not None]
    return {target: part_of(target, file["token"]) for target in targets}


def _is_there(file: dict[str, Any]) -> bool:
    """Whether a finished file's output is where it belongs; nobody knows what became of standard output."""
    return file["options"]["-o"] is not None and all(target.exists() for target in _targets(file))


def _parts_are_there(file: dict[str, Any]) -> bool:
    sizes = [file["out"]["size"], *([file["rounds"]["size"]] if file["rounds"] else [])]
    parts = _targets(file).values()
    return all(part.exists() and part.stat().st_size >= size for part, size in zip(parts, sizes, strict=True))


def settle(file: dict[str, Any]) -> None:
    """Move what is whole into its place, where a run was killed before it could."""
    for target, part in _targets(file).items():
        with contextlib.suppress(FileNotFoundError):
            part.replace(target)


def give_up(file: dict[str, Any], state: Path, found: bytes | None) -> None:
    """Go back to before a file that was begun. Its parts go first: without them, nobody goes on with it."""
    for part in _targets(file).values():
        part.unlink(missing_ok=True)
    put_back(state, found)


def put_back(state: Path, found: bytes | None) -> None:
    """Make a state file what it was before."""
    if found is None:
        real(state).unlink(missing_ok=True)
    else:
        write_atomically(state, found)


def what_is_left(job: Job) -> str:
    """What a run that could not be ended has left, in words."""
    file = None
    with contextlib.suppress(OSError, ValueError):  # whatever is the matter with the state has been said
        found = None if job.state is None else read_kept(job.state)
        file = None if found is None or job.state is None else load_kept(found, job.state).file
    if file is not None and not file["finished"]:
        return "what is done is kept; the same command goes on from there."
    if file is not None and any(part.exists() for part in _targets(file).values()):
        return "the output is whole, and the state counts it; the next run with the state puts it into its place."
    return "nothing was written." if not job.out.is_stream else "the output is not complete."
