"""Measure speed as ratios to baselines of the same run; exit with 1 if a required ratio is missed.

python perf/run.py           a table
python perf/run.py --json    the same for machines
python perf/run.py --full    run the slowest baseline in full instead of sampled rounds: a quarter of an hour more
"""

import argparse
import importlib.metadata
import json
import platform
import sys
import warnings
from pathlib import Path

import estimators
import files
import layers
import measurements
import mixture
import portfolio
from rich import box
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from baserate.trust import HoldoutWarning

UNITS = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")]


def environment():
    """Processor and versions, which the times depend on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = f"{models[0]} x {len(models)}" if models else cpu
    packages = ["baserate", "numpy", "numba", "scikit-learn"]
    return {
        "cpu": cpu,
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
    }


def plan(full):
    """All measurements, with the names to show while they run."""
    return [
        ("FLHFTL, T = 1,000", lambda: measurements.flhftl(1_000, repeats=15, full_runs=3)),
        ("FLHFTL, T = 10,000", lambda: measurements.flhftl(10_000, repeats=3, full_runs=int(full))),
        ("FLHFTL by window, T = 1,000", lambda: measurements.window_flhftl(1_000, repeats=15)),
        ("FLHFTL by window, T = 10,000", lambda: measurements.window_flhftl(10_000, repeats=3)),
        ("long runs", measurements.long_runs),
        ("step", measurements.steps),
        ("LikelihoodMixture, 10^6 rounds", mixture.long_run),
        ("the light profile", mixture.profiles),
        ("the default adapter", mixture.default_adapter),
        ("the portfolio of corrections", portfolio.portfolio),
        ("LikelihoodMixture, 1,000 classes", mixture.many_classes),
        ("LikelihoodMixture, T = 10,000", mixture.whole_run),
        ("predict_proba", measurements.predict_many),
        ("Bank.step", measurements.bank),
        ("Bank.update, 100,000 keys", measurements.many_keys),
        ("MLLS", estimators.mlls),
        ("RLLS", estimators.rlls),
        ("UOGD and ATLAS", layers.layers),
        ("ROGD", layers.rogd),
        ("baserate adapt", files.adapting),
        ("start-up", measurements.start_up),
    ]


def measure_all(full, err):
    rows = []
    todo = plan(full)
    for i, (name, measure) in enumerate(todo, start=1):
        progress = f"[{i}/{len(todo)}] {name}"
        if not err.is_terminal:
            err.print(progress, markup=False)
        with err.status(progress.replace("[", r"\[")):  # shown on a terminal only
            rows.extend(measure())
    return rows


def in_units(seconds):
    size, unit = next(((s, u) for s, u in UNITS if seconds >= s), UNITS[-1])
    number = seconds / size
    return f"{number:,.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"


def ratio_text(row):
    digits = ",.0f" if row.ratio >= 100 else ".1f"
    return f"{row.ratio:{digits}} x " + ("faster" if row.better == "faster" else "the time")


def bound_text(row):
    if row.bound is None:
        return ""
    return f"{'at least' if row.better == 'faster' else 'at most'} {row.bound:g} x"


def verdict_text(row):
    return {None: "", True: "[green]pass[/green]", False: "[bold red]FAIL[/bold red]"}[row.passed]


def as_table(rows):
    table = Table(
        title="Ratios of the fastest of several turns, all from this run", title_justify="left", box=box.SIMPLE
    )
    for heading in ["what", "against"]:
        table.add_column(heading)
    for heading in ["takes", "baseline", "ratio", "bound"]:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    notes = list(dict.fromkeys(row.note for row in rows if row.note))
    for row in rows:
        mark = f" ({notes.index(row.note) + 1})" if row.note else ""
        times = in_units(row.subject_seconds), in_units(row.baseline_seconds)
        table.add_row(row.what, row.against + mark, *times, ratio_text(row), bound_text(row), verdict_text(row))
    return table, [f"({i}) {note}" for i, note in enumerate(notes, start=1)]


def as_json(rows, about):
    keys = ["what", "against", "subject_seconds", "baseline_seconds", "better", "ratio", "bound", "passed", "note"]
    return json.dumps({"environment": about, "rows": [{key: getattr(row, key) for key in keys} for row in rows]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--full", action="store_true", help="run the slowest baseline in full")
    options = parser.parse_args()
    err = Console(stderr=True, highlight=False)
    about = environment()
    warnings.simplefilter("ignore", HoldoutWarning)  # only the time matters here
    with threadpool_limits(1):  # the library uses one thread except for large banks, so BLAS does too
        try:
            rows = measure_all(options.full, err)
        except measurements.DisagreementError as error:
            err.print(str(error), markup=False)
            return 1
    if options.json:
        print(as_json(rows, about))
    else:
        out = Console(highlight=False)
        if not out.is_terminal:
            out.width = 140  # a file has no width of its own
        table, notes = as_table(rows)
        out.print(table)
        for line in [*notes, ", ".join(f"{name} {value}" for name, value in about.items())]:
            out.print(line, markup=False)
    return int(any(row.passed is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
