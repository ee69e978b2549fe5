"""Measure how well trackers follow the class mix. Results are stored, and no cell is run twice."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import joblib  # type: ignore[import-untyped]
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from baserate._version import __version__
from baserate.state import write_atomically
from baserate_lab.bench import grid
from baserate_lab.bench.store import Store, StoreError
from baserate_lab.bench.trackers.cells import TABLES, TrackingCell, TrackingResult, cells
from baserate_lab.bench.trackers.page import COMMAND, FIGURE, PAGE, bars, page
from baserate_lab.bench.trackers.running import PROTOCOL, run_tracking
from baserate_lab.bench.trackers.sets import SETS
from baserate_lab.datasets import DataNotFoundError, WrongDataError

SEEDS = 10
_EXPECTED = (DataNotFoundError, WrongDataError, ModuleNotFoundError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _options(arguments)
    log = Console(stderr=True, highlight=False)
    path = options.results or options.out / "results.parquet"
    try:
        store = Store(path, TrackingCell, TrackingResult, protocol=PROTOCOL, made_by={"baserate": __version__})
    except StoreError as error:
        log.print(str(error), markup=False)
        return 2
    failures: dict[TrackingCell, grid.Failure] = {}
    if not options.no_run:
        try:
            failures = _run(cells(options.tables, options.seeds, options.data), store, options.jobs, log)
        except KeyboardInterrupt:
            log.print(f"Stopped. The results so far are in {path}; run the same command to resume.", markup=False)
            return 130
    for reason in dict.fromkeys(failure.reason for failure in failures.values()):
        log.print(f"Some cells failed: {reason}", markup=False)
    if not store.results:
        log.print(f"{path} has no results; run without --no-run.", markup=False)
        return 2
    write(store, options.out)
    for title, part in bars(store.results).items():
        for bar in part:
            log.print(f"{bar.verdict:14s} {title}: {bar.text}: {bar.measured} (bar {bar.limit})", markup=False)
    log.print(f"The page is {options.out / PAGE}.", markup=False)
    return 1 if failures else 0


def write(store: Store, folder: Path) -> None:
    """Write the page and the figure of the results in a store."""
    from baserate_lab.bench.trackers.figure import draw_shares

    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / PAGE, page(store.results).encode())
    draw_shares(store.results, folder / FIGURE)


def _run(wanted: Sequence[TrackingCell], store: Store, jobs: int, log: Console) -> dict[TrackingCell, grid.Failure]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    missing = store.missing(wanted)
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=log, transient=True) as progress:
        task = progress.add_task("Cells", total=len(missing))
        with joblib.parallel_config(n_jobs=jobs):
            return grid.run_missing(
                missing, run_tracking, store, expected=_EXPECTED, watch=lambda _: progress.advance(task)
            )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"seeds of every cell (default: {SEEDS})")
    parser.add_argument("--data", nargs="+", default=(), choices=SETS, help="only these sets")
    parser.add_argument("--tables", nargs="+", default=tuple(TABLES), choices=tuple(TABLES), help="only these tables")
    parser.add_argument("--results", type=Path, metavar="FILE", help="the file of results (default: in the folder)")
    parser.add_argument(
        "--out", type=Path, default=Path("baserate-trackers"), metavar="FOLDER", help="folder for page and figure"
    )
    parser.add_argument("--no-run", action="store_true", help="run nothing; write page and figure from stored results")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="processes (default: one per core)")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error(f"--seeds is {options.seeds}; give 1 at least")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
