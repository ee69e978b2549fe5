"""The summary of a state, in numbers and in words."""

from typing import TYPE_CHECKING, Any

from baserate.adapters import RegressAndReweight
from baserate.backtesting.measures import MEASURES
from baserate.backtesting.sentence import with_names
from baserate.bank import Bank
from baserate.files.adapting.state import DecisionCounts, StreamState
from baserate.files.adapting.story import called, headline
from baserate.files.adapting.tracked import ClassPath, TrackedPath
from baserate.files.adapting.tracked_keys import TrackedKeys
from baserate.files.errors import printable, shortened
from baserate.files.moments import Calendar
from baserate.files.shares import percent, percent_range

if TYPE_CHECKING:
    from rich.console import Console

_MOST_CLASSES, _MOST_KEYS, _MOST_FINDINGS = 20, 10, 3
_LONGEST_NAME, _SHORTEST_NAME = 16, 8  # letters of a class in a table, which should fit 80 columns
_WIDTH = 80  # columns of a terminal
_COST = MEASURES["cost"]
Tracked = TrackedPath | TrackedKeys


def summarise(state: StreamState, level: float = 0.9) -> dict[str, Any]:
    """Summarise a state as plain data."""
    names, counts, bank = state.classes.names, state.label_counts, state.bank
    found: dict[str, Any] = {
        "rows": state.rows,
        "rounds": state.adapter.rounds_,
        "files": state.files,
        "classes": names,
        "source_prior": _by_class(names, state.fitted.source_prior_),
        "labelled": counts.labelled,
        "late_labels": state.late_labels,
        "model_right": counts.model_right / counts.labelled if counts.labelled else None,
        "adapted_right": counts.adapted_right / counts.labelled if counts.labelled else None,
    }
    if state.file is not None and state.file.decided is not None:
        found |= _decided(state.file.decided) | {"threshold": state.file.options.get("--threshold")}
    if bank is not None:
        return found | _keys(bank)
    return found | _trust(state.fitted, names, level)


def _keys(bank: Bank) -> dict[str, Any]:
    """How many keys there are, and which of them are in doubt."""
    signs, changed, alpha = bank.signs(), bank.changed_keys(), bank.adapter.alpha
    evidence = bank.assumption_evidence_
    return {
        "keys": len(bank),
        "evidence_of_all_keys": evidence,
        "all_keys_in_alarm": alpha is not None and evidence >= 1.0 / alpha,
        "keys_in_alarm": int(signs.alarm.sum()),
        "keys_held_back": int(signs.fallback.sum()),
        "keys_changed": len(changed),
        "changed": [str(key) for key in changed[:_MOST_KEYS]],
    }


def _decided(decided: DecisionCounts) -> dict[str, Any]:
    """The decisions on the last file."""
    rows, cost = sum(decided.counts), decided.expected_cost
    return {
        "decisions": dict(zip(decided.names, decided.counts, strict=True)),
        "expected_cost": None if cost is None else cost / max(rows, 1),
    }


def _trust(adapter: RegressAndReweight, names: list[str], level: float) -> dict[str, Any]:
    band = adapter.prior_interval(level)
    accuracy = adapter.estimated_accuracy(level)
    return {
        "level": level,
        "prior": _by_class(names, adapter.prior_),
        "low": _by_class(names, band[:, 0]),
        "high": _by_class(names, band[:, 1]),
        "accuracy": {"value": accuracy.value, "low": accuracy.low, "high": accuracy.high},
        "accuracy_in_doubt": adapter.accuracy_in_doubt_.replace(": see assumption_findings_", ""),
        "evidence": adapter.assumption_evidence_,
        "alarm": adapter.assumption_alarm_,
        "alarm_at": 1.0 / adapter.alpha if adapter.alpha else None,
        "findings": [with_names(str(finding), names) for finding in adapter.assumption_findings_[:_MOST_FINDINGS]],
        "untested": with_names(adapter.assumption_untested_, names),
        "fallback": adapter.fallback_active_,
        "fallback_reason": adapter.fallback_reason_,
        "fallback_since": adapter.fallback_since_,
        "unknown_mass": adapter.unknown_mass_,
        "serial_correlation": adapter.serial_correlation_,
        "correction_weight": adapter.correction_weight_,
        "waiting": adapter.waiting_,
        "missed_labels": adapter.missed_labels_,
    }


def _by_class(names: list[str], values: Any) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def told(tracked: Tracked | None, level: float) -> dict[str, Any]:
    """The path of a file's class mix as plain data, to be added to `summarise`."""
    if tracked is None:
        return {"headline": None}
    found: dict[str, Any] = {"headline": headline(tracked, level)}
    if isinstance(tracked, TrackedKeys):
        return found | {
            "keys_moved": len(tracked.moved),
            "keys_in_doubt": len(tracked.doubtful),
            "moved": [path.plain() for path in tracked.moved[:_MOST_KEYS]],
        }
    since = tracked.alarm_since
    return found | {
        "path": {path.name: path.plain() for path in tracked.classes},
        "alarm_since_round": None if since is None else since.round,
    }


def show(console: "Console", found: dict[str, Any], tracked: Tracked | None = None) -> None:
    """Print the summary for people: what happened, an alarm if there is one, a table, and sentences.

    Parameters
    ----------
    console : Console
        Where to.
    found : dict
        From `summarise`, and `told` if there is a path.
    tracked : TrackedPath or TrackedKeys, optional
        The path.
    """
    from rich.text import Text

    if found.get("alarm"):
        console.print(Text(printable(alarm_sentence(found, tracked)), "bold red"), soft_wrap=True)
    if tracked is not None:
        console.print(Text(printable(headline(tracked, found.get("level", 0.9))), "bold"), soft_wrap=True)
    if tracked is not None or found.get("alarm"):
        console.print()
    if isinstance(tracked, TrackedKeys):
        _show_table(console, _key_table(tracked), len(tracked.moved) - _MOST_KEYS, "keys")
    else:
        _show_table(console, _class_table(found, tracked), len(found["source_prior"]) - _MOST_CLASSES, "classes")
    for sentence in sentences(found):
        console.print(printable(sentence), markup=False, soft_wrap=True)


def _show_table(console: "Console", table: Any, left: int, what: str) -> None:
    if table.row_count:
        console.print(table)
        if left > 0:
            console.print(f"... and {left:,} {what} more that moved less.")
        console.print()


def _table(*titles: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column(titles[0], no_wrap=True)
    for title in titles[1:]:
        table.add_column(title, justify="right")
    return table


def _class_table(found: dict[str, Any], tracked: TrackedPath | None) -> Any:
    from rich.text import Text

    source, prior = found["source_prior"], found.get("prior")
    now = [] if prior is None else ["now", f"{100 * found['level']:g} % band"]
    table = _table("class", "holdout", *([] if tracked is None else ["lowest", "highest"]), *now)
    paths: dict[str, ClassPath] = {} if tracked is None else {path.name: path for path in tracked.classes}
    names = list(paths) or sorted(
        source, key=lambda name: -abs((prior or source)[name] - (source[name] if prior else 0.0))
    )
    lines = {}
    for name in names[:_MOST_CLASSES]:
        cells = [percent(source[name])]
        if tracked is not None:
            cells += extremes(paths[name], tracked.calendar)
        if prior is not None:
            cells += [percent(prior[name]), percent_range(found["low"][name], found["high"][name])]
        lines[name] = cells
    titles = [column.header for column in table.columns[1:]]
    room = _WIDTH - 2 - sum(2 + max(map(len, cells)) for cells in zip(titles, *lines.values(), strict=True))
    for name, cells in lines.items():
        shown = shortened(name, min(max(room, _SHORTEST_NAME), _LONGEST_NAME))
        table.add_row(Text(printable(shown)), *cells)
    return table


def extremes(path: ClassPath, calendar: Calendar) -> list[str]:
    """The lowest and the highest share of a class, each with its moment."""
    both = ((path.lowest, path.lowest_at), (path.highest, path.highest_at))
    return [f"{percent(share)} ({calendar.in_table(at)})" for share, at in both]


def _key_table(tracked: TrackedKeys) -> Any:
    from rich.text import Text

    table = _table("key", "rows", "class", "start", "furthest", "now")
    for path in tracked.moved[:_MOST_KEYS]:
        table.add_row(
            Text(printable(shortened(path.key, 2 * _LONGEST_NAME))),
            f"{path.rows:,}",
            Text(printable(shortened(path.name, _LONGEST_NAME))),
            percent(path.start),
            f"{percent(path.extreme)} ({tracked.calendar.in_table(path.at)})",
            percent(path.now),
        )
    return table


def alarm_sentence(found: dict[str, Any], tracked: Tracked | None = None) -> str:
    """The alarm: since when, why, and what to do."""
    since = ""
    if isinstance(tracked, TrackedPath) and tracked.alarm_since is not None:
        since = f" {tracked.calendar.since(tracked.alarm_since)}"
        if tracked.alarm_from_start:
            since = " since before this file"
    worst = f": {found['findings'][0]}" if found["findings"] else ""
    return (
        f"ALARM{since}: drift beyond the class mix (evidence {_strength(found['evidence'])}, alarm at "
        f"{found['alarm_at']:.3g}){worst}. Check the data, and consider retraining; until then, do not rely "
        "on the class mix."
    )


def _strength(evidence: float) -> str:
    """Evidence in a sentence; beyond a million to one, its size tells nobody anything."""
    return "above 1,000,000" if evidence > 1e6 else f"{evidence:,.3g}" if evidence < 1000 else f"{evidence:,.0f}"


def sentences(found: dict[str, Any]) -> list[str]:
    """The summary in sentences, without the alarm."""
    files = f" of {found['files']} files" if found["files"] > 1 else ""
    said = []
    if found.get("earlier_file"):
        said.append(
            f"This file was taken in before, and others after it: nothing was done, and {found['out']} is as it was."
        )
    elif found.get("nothing_to_do"):
        said.append("This file was taken in before, and its output is there: nothing was done.")
    elif found.get("resumed_at_row"):
        said.append(f"Resumed at row {found['resumed_at_row'] + 1:,}, where an earlier run had stopped.")
    said.append(f"{_many(found['rows'], 'row')} in {_many(found['rounds'], 'round')}{files}.")
    if "keys" in found:
        said.append(f"{_many(found['keys'], 'key')}, each with a class mix of its own.")
    if found["labelled"]:
        said.append(
            f"Of {_many(found['labelled'], 'row')} with a label, the model had {100 * found['model_right']:.1f} % "
            f"right, and the adapted probabilities {100 * found['adapted_right']:.1f} %."
        )
    if "decisions" in found:
        counts = ", ".join(f"{called(name)} {count:,}" for name, count in found["decisions"].items())
        cost = found["expected_cost"]
        expected = "" if cost is None else f"; expected {_COST.title}: {_COST.shown(cost)}"
        if expected and found["threshold"] is not None:
            miss = f"{1.0 / found['threshold'] - 1.0:.6g}"
            expected += f" (a threshold of {found['threshold']:g} means: a false alarm costs 1, a miss {miss})"
        last = "the last file" if found["files"] > 1 else "these rows"
        said.append(f"Decisions on {last}: {counts}{expected}.")
    if found["late_labels"] or found.get("missed_labels"):
        said.append(
            f"{_many(found['late_labels'], 'late label')} found the row that was remembered for it; "
            f"{found.get('missed_labels', 0):,} did not."
        )
    if "keys" in found:
        return [*said, *_on_keys(found), *_places(found)]
    accuracy = found["accuracy"]
    if accuracy["value"] == accuracy["value"]:
        doubt = found["accuracy_in_doubt"]
        said.append(
            f"Estimated accuracy now: {100 * accuracy['value']:.1f} % ({100 * accuracy['low']:.1f} to "
            f"{100 * accuracy['high']:.1f} %), if only the class mix has changed."
            + (f" In doubt: {doubt[0].lower()}{doubt[1:]}" if doubt else "")
        )
    if not found["alarm"]:
        said.append(_assumption(found))
    if found["fallback"]:
        since = "" if found["fallback_since"] is None else f" since round {found['fallback_since']:,}"
        said.append(f"The correction is reduced{since}: {(found['fallback_reason'] or '').rstrip('.')}.")
    said.append(
        f"Weight of the correction: {100 * found['correction_weight']:.0f} %. Serial correlation of the samples: "
        f"{found['serial_correlation']:z.2f} (from 0.33 on, the class mix cannot be estimated from them)."
    )
    if found["unknown_mass"] > 0.01:
        said.append(f"About {100 * found['unknown_mass']:.0f} % of the rows look like none of the classes.")
    return said + _places(found)


def _on_keys(found: dict[str, Any]) -> list[str]:
    """The sentences on keys in doubt."""
    said = []
    if found["all_keys_in_alarm"]:
        said.append(
            f"All keys together show drift beyond the class mix (evidence {found['evidence_of_all_keys']:.3g}): check "
            "the data of all of them, also of those that have too few rows to show it."
        )
    if found["keys_changed"]:
        left = found["keys_changed"] - len(found["changed"])
        more = f" and {left:,} more" if left > 0 else ""
        said.append(
            f"Drift beyond the class mix in {_many(found['keys_changed'], 'key')} (about one in ten by chance): "
            f"{', '.join(found['changed'])}{more}."
        )
    if found["keys_held_back"]:
        said.append(f"The correction is reduced for {_many(found['keys_held_back'], 'key')}.")
    return said


def _assumption(found: dict[str, Any]) -> str:
    """The sentence on drift beyond the class mix, where there is no alarm."""
    if found["untested"]:
        return f"Drift beyond the class mix is not tested: {found['untested'].rstrip('.')}."
    return (
        f"No sign of drift beyond the class mix (evidence {found['evidence']:.3g}, alarm at {found['alarm_at']:.3g})."
    )


def _places(found: dict[str, Any]) -> list[str]:
    if not found.get("out") or found["out"] == "-" or found["earlier_file"]:
        return []
    rounds = f", rounds: {found['rounds_file']}" if found["rounds_file"] else ""
    ask = found.get("ask_file")
    labels = (
        [f"Rows to label: {ask}. Fill in the labels, and give the file to --late with the next one."] if ask else []
    )
    return [f"Written: {found['out']}{rounds}", *labels]


def _many(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
