"""The story of a file in a sentence: which class moved most, how far, when, and where it is now."""

from pathlib import Path

from baserate.files.adapting.state import StreamState
from baserate.files.adapting.tracked import BACK, STAYED, ClassPath, TrackedPath, follow, read_rounds
from baserate.files.adapting.tracked_keys import FEW, TrackedKeys, follow_keys
from baserate.files.shares import percent, percent_range, percents_apart

_NAMED = 3  # classes that are named after the one that the sentence is about


def tracked_by(state: StreamState, rounds_file: Path, level: float) -> TrackedPath | TrackedKeys | None:
    """The paths of a file's classes, or of its keys, by its table of rounds; None if there is none.

    Parameters
    ----------
    state : StreamState
        The state at the end of the file.
    rounds_file : path
        The table.
    level : float
        The level of the bands.
    """
    names = state.classes.names
    if not rounds_file.is_file():
        return None
    frames = read_rounds(state, rounds_file)
    if state.bank is not None:
        return follow_keys(frames, names, 0 if state.file is None else state.file.position.row)
    adapter = state.fitted
    return follow(frames, names, adapter.prior_, adapter.prior_interval(level), adapter.source_prior_)


def headline(tracked: TrackedPath | TrackedKeys, level: float) -> str:
    """The story in one sentence.

    Parameters
    ----------
    tracked : TrackedPath or TrackedKeys
        From `tracked_by`.
    level : float
        The level of the bands.
    """
    return _of_keys(tracked) if isinstance(tracked, TrackedKeys) else _of_classes(tracked, level)


def _of_classes(tracked: TrackedPath, level: float) -> str:
    moved = [path for path in tracked.classes if path.moved]
    alarm = tracked.alarm_since
    if alarm is not None and all(path.extreme[1].round >= alarm.round for path in moved):
        since = "in this file" if tracked.alarm_from_start else tracked.calendar.since(alarm)
        return f"The class mix cannot be told {since}, while there is an alarm: {_standing(tracked, level)}."
    if not moved:
        here = " in this file" if tracked.first.round > 1 else ""
        return f"No class moved{here} by more than its band: {_standing(tracked, level)}."
    told = f"{called(moved[0].name)} {_way(moved[0], tracked)}"
    # Of two classes, the other one moves just as far the other way, which nobody needs to be told.
    others = [called(path.name) for path in moved[1:]] if len(tracked.classes) > 2 else []
    if not others:
        return f"{told}."
    furthest = ", ".join(others[:_NAMED])
    if len(others) > _NAMED:
        return f"{told}, and {len(others):,} others moved, the furthest {furthest}."
    return f"{told}, and {len(others):,} other{'s' if len(others) > 1 else ''} moved: {furthest}."


def called(name: str) -> str:
    """A class by its name, as the subject of a sentence: "1 rose" would be a riddle."""
    return f"class {name}" if name.lower() in ("true", "false") or name.lstrip("-").isdigit() else name


def _way(path: ClassPath, tracked: TrackedPath) -> str:
    """Such as "rose from 0.8 % to 9.8 % on 4 March and is back at 0.9 %"."""
    calendar = tracked.calendar
    extreme, at = path.extreme
    verb = "rose" if extreme > path.start else "fell"
    if path.ending == STAYED:
        start, now = percents_apart(path.start, path.now)
        height = "high" if extreme > path.start else "low"
        return f"{verb} from {start} to {now} and has stayed {height} {calendar.since(path.since)}"
    start, end = percents_apart(path.start, extreme)
    where = f"is back at {percent(path.now)}" if path.ending == BACK else f"is at {percent(path.now)} now"
    return f"{verb} from {start} to {end} {calendar.on(at)} and {where}"


def _standing(tracked: TrackedPath, level: float) -> str:
    """Where the classes stand that did not move: of two, the rarer one; of many, the most frequent ones."""
    if len(tracked.classes) > 2:
        largest = sorted(tracked.classes, key=lambda path: -path.now)[:_NAMED]
        return ", ".join(f"{called(path.name)} is at {percent(path.now)}" for path in largest)
    path = min(tracked.classes, key=lambda path: path.start)
    return (
        f"{called(path.name)} started at {percent(path.start)} and is at {percent(path.now)} ({100 * level:g} % band "
        f"{percent_range(*path.band)})"
    )


def _of_keys(tracked: TrackedKeys) -> str:
    total = f"{tracked.total:,} key{'' if tracked.total == 1 else 's'}"
    n_few = len(tracked.doubtful)
    few = f" ({n_few:,} {'has' if n_few == 1 else 'have'} fewer than {FEW} rows)" if n_few else ""
    if not tracked.moved:
        return f"None of {total} moved by more than chance explains{few}."
    path = tracked.moved[0]
    start, extreme = percents_apart(path.start, path.extreme)
    verb = "rose" if path.extreme > path.start else "fell"
    return (
        f"{len(tracked.moved):,} of {total} moved, most of all {path.key}: {called(path.name)} {verb} from {start} to "
        f"{extreme} {tracked.calendar.on(path.at)} and is at {percent(path.now)} now."
    )
