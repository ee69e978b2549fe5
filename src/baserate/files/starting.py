"""Where a run starts: on a new holdout, after the files before, or in the midst of a file."""

import contextlib
from pathlib import Path
from typing import Any

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.files.columns import check_stream, find_classes, read_holdout
from baserate.files.job import Job, check_names, part_of
from baserate.files.kept import Kept, load_kept
from baserate.files.lock import Lock
from baserate.files.output import Output, is_keyed
from baserate.files.problem import FileProblemError
from baserate.files.reading import Reader, open_reader
from baserate.files.source import Source, fingerprint


def start(job: Job, reader: Reader, lock: Lock) -> tuple[Kept, bool]:
    """The state to go on from, and whether the file is done already."""
    kept = load_kept(job.state) if job.state is not None and job.state.exists() else None
    known = {} if kept is None or kept.file is None else _targets(kept.file)
    lock.sweep(keep=[Path(part) for part in known.values()])
    kept, already = (_fitted(job), False) if kept is None else _continued(job, kept)
    if is_keyed(kept.adapter) != (job.columns.key is not None):
        has = "a tracker per key; name the column with --key" if is_keyed(kept.adapter) else "one tracker for all"
        raise ValueError(f"--state {job.state} holds {has}; or name another state file.")
    if isinstance(kept.adapter, RegressAndReweight) and job.wait not in (0, kept.adapter.max_waiting):
        held = kept.adapter.max_waiting
        raise ValueError(f"--wait is {job.wait}, and --state {job.state} was begun with {held}; give the same number.")
    _check_columns(job, reader, kept)
    return kept, already


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


def _continued(job: Job, kept: Kept) -> tuple[Kept, bool]:
    """The state for the file at hand, at its start or in the midst of it; and whether the file is done already."""
    file = kept.file
    mine = fingerprint(job.stream.path) if not job.stream.is_stream else None
    same = file is not None and mine is not None and file["fingerprint"] == mine
    if file is not None and not file["finished"]:
        if same and file["options"] == job.options() and not job.restart and _parts_are_there(file):
            return kept, False
        if not same and not job.restart:
            raise ValueError(
                f"--state {job.state} is in the midst of {file['name']} (row {file['row']:,}), which was not finished. "
                "Run the command for that file again to finish it, or go back to where it began with --restart."
            )
        _remove_parts(file)
        kept = kept.before()
    elif file is not None and same:
        settle(kept)
        if file["options"] == job.options() and all(Path(target).exists() for target in _targets(file)):
            return kept, True
        kept = kept.before()
    if job.holdout is not None:
        _check_holdout(job, kept, job.holdout)
    return kept, False


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


def _targets(file: dict[str, Any]) -> dict[str, str]:
    """Where files go, and where they are until they are whole."""
    options = file["options"]
    targets = [options["out"], *([options["rounds_file"]] if options["rounds_file"] else [])]
    return {target: str(part_of(Path(target), file["token"])) for target in targets}


def _parts_are_there(file: dict[str, Any]) -> bool:
    sizes = [file["out"]["size"], *([file["rounds"]["size"]] if file["rounds"] else [])]
    parts = [Path(part) for part in _targets(file).values()]
    return all(part.exists() and part.stat().st_size >= size for part, size in zip(parts, sizes, strict=True))


def _remove_parts(file: dict[str, Any]) -> None:
    for part in _targets(file).values():
        Path(part).unlink(missing_ok=True)


def settle(kept: Kept) -> None:
    """Move what is whole into its place, where a run was killed before it could."""
    assert kept.file is not None
    for target, part in _targets(kept.file).items():
        with contextlib.suppress(FileNotFoundError):
            Path(part).replace(target)
