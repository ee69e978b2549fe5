"""The summary of a state, in numbers and in words."""

from typing import TYPE_CHECKING, Any

from baserate.adapters import RegressAndReweight
from baserate.backtesting.sentence import with_names
from baserate.files.adapting.state import StreamState
from baserate.files.errors import printable

if TYPE_CHECKING:
    from rich.console import Console

_MOST_CLASSES, _MOST_FINDINGS = 20, 3


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
    if bank is not None:
        return found | {"keys": len(bank)}
    return found | _trust(state.fitted, names, level)


def _trust(adapter: RegressAndReweight, names: list[str], level: float) -> dict[str, Any]:
    band = adapter.prior_interval(level)
    accuracy = adapter.estimated_accuracy(level)
    return {
        "level": level,
        "prior": _by_class(names, adapter.prior_),
        "low": _by_class(names, band[:, 0]),
        "high": _by_class(names, band[:, 1]),
        "accuracy": {"value": accuracy.value, "low": accuracy.low, "high": accuracy.high},
        "evidence": adapter.assumption_evidence_,
        "alarm": adapter.assumption_alarm_,
        "alarm_at": 1.0 / adapter.alpha if adapter.alpha else None,
        "findings": [with_names(str(finding), names) for finding in adapter.assumption_findings_[:_MOST_FINDINGS]],
        "untested": adapter.assumption_untested_,
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


def show(console: "Console", found: dict[str, Any]) -> None:
    """Print the summary for people: a table of the classes, and sentences."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    source, prior = found["source_prior"], found.get("prior")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("class", no_wrap=True)
    table.add_column("in the holdout", justify="right")
    if prior is not None:
        table.add_column("now", justify="right")
        table.add_column(f"{100 * found['level']:g} % band", justify="right")
    names = sorted(source, key=lambda name: -abs((prior or source)[name] - (source[name] if prior else 0.0)))
    for name in names[:_MOST_CLASSES]:
        cells: list[Text | str] = [Text(printable(name)), f"{100 * source[name]:.1f} %"]
        if prior is not None:
            cells += [
                f"{100 * prior[name]:.1f} %",
                f"{100 * found['low'][name]:.1f} to {100 * found['high'][name]:.1f} %",
            ]
        table.add_row(*cells)
    console.print(table)
    if len(names) > _MOST_CLASSES:
        console.print(f"... and {len(names) - _MOST_CLASSES:,} classes more that moved less.")
    console.print()
    for sentence in sentences(found):
        console.print(printable(sentence), markup=False, soft_wrap=True)


def sentences(found: dict[str, Any]) -> list[str]:
    """The summary in sentences."""
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
    if found["late_labels"] or found.get("missed_labels"):
        said.append(
            f"{_many(found['late_labels'], 'late label')} found the row that was remembered for it; "
            f"{found.get('missed_labels', 0):,} did not."
        )
    if "accuracy" not in found:
        return said + _places(found)
    accuracy = found["accuracy"]
    if accuracy["value"] == accuracy["value"]:
        said.append(
            f"Estimated accuracy now: {100 * accuracy['value']:.1f} % ({100 * accuracy['low']:.1f} to "
            f"{100 * accuracy['high']:.1f} %), if only the class mix has changed."
        )
    said.append(_assumption(found))
    if found["fallback"]:
        since = "" if found["fallback_since"] is None else f" since round {found['fallback_since']:,}"
        said.append(f"The correction is reduced{since}: {found['fallback_reason']}")
    said.append(
        f"Weight of the correction: {100 * found['correction_weight']:.0f} %. Serial correlation of the samples: "
        f"{found['serial_correlation']:.2f} (from 0.33 on, the class mix cannot be estimated from them)."
    )
    if found["unknown_mass"] > 0.01:
        said.append(f"About {100 * found['unknown_mass']:.0f} % of the rows look like none of the classes.")
    return said + _places(found)


def _assumption(found: dict[str, Any]) -> str:
    """The sentence on drift beyond the class mix."""
    if found["alarm"]:
        worst = f": {found['findings'][0]}" if found["findings"] else ""
        return (
            f"ALARM: drift beyond the class mix (evidence {found['evidence']:.3g}, alarm at {found['alarm_at']:.3g})"
            f"{worst}. Check the data, and consider retraining."
        )
    if found["untested"]:
        return f"Drift beyond the class mix is not tested: {found['untested'].rstrip('.')}."
    return (
        f"No sign of drift beyond the class mix (evidence {found['evidence']:.3g}, alarm at {found['alarm_at']:.3g})."
    )


def _places(found: dict[str, Any]) -> list[str]:
    if not found.get("out") or found["out"] == "-" or found["earlier_file"]:
        return []
    return [f"Written: {found['out']}" + (f", rounds: {found['rounds_file']}" if found["rounds_file"] else "")]


def _many(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
