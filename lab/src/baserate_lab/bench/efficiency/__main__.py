"""Measure how close the default tracker comes to the best that the samples allow. No cell is run twice."""

import argparse
import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate._version import __version__
from baserate.frames import polars
from baserate.state import write_atomically
from baserate_lab.bench import grid
from baserate_lab.bench.efficiency.cells import Cell, Results
from baserate_lab.bench.efficiency.page import COMMAND, FIGURE, PAGE, SECTIONS, bars, page
from baserate_lab.bench.store import Store, StoreError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _options(arguments)
    log = Console(stderr=True, highlight=False, soft_wrap=True)
    kept: dict[str, Results] = {}
    failed = False
    for name in SECTIONS:
        try:
            store = _store(options.out, name, again=options.again and name in options.sections)
        except StoreError as error:
            log.print(str(error), markup=False)
            return 2
        if not options.no_run and name in options.sections:
            began = time.monotonic()
            try:
                failures = _run(name, store, options, log)
            except KeyboardInterrupt:
                log.print(f"Stopped. The results so far are in {store.path}; run the same command to resume.")
                return 130
            log.print(f"{name}: {time.monotonic() - began:.0f} s", markup=False)
            for reason in dict.fromkeys(failure.reason for failure in failures.values()):
                failed = True
                log.print(f"Some cells failed: {reason}", markup=False)
        kept[name] = {cell: result for cell, result in store.results.items() if cell.design == options.design}
    write(kept, options.out)
    for title, part in bars(kept).items():
        for bar in part:
            shown = f"{bar.verdict:14s} {title}: {bar.text}: {bar.measured} (bar {bar.limit})"
            log.print(f"{shown} {bar.where}", markup=False)
    log.print(f"The page is {options.out / PAGE}.", markup=False)
    return int(failed)


def write(kept: dict[str, Results], folder: Path) -> None:
    """Write the page and the figure."""
    from baserate_lab.bench.efficiency.figure import draw_curves

    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / PAGE, page(kept).encode())
    draw_curves(kept["efficiency"], folder / FIGURE)


def run_cell(name: str, cell: Cell) -> Any:
    """Run a cell of a section."""
    with threadpool_limits(1):  # bit-identical on any machine, and faster for small matrices
        return SECTIONS[name].run(cell)


def _store(folder: Path, name: str, *, again: bool) -> Store:
    path = folder / f"{name}.parquet"
    if again and path.exists():
        table = polars().read_parquet(path)
        table.filter(~polars().col("method").str.starts_with("default")).write_parquet(path)
    section = SECTIONS[name]
    return Store(path, Cell, section.result, protocol=section.protocol, made_by={"baserate": __version__})


def _run(name: str, store: Store, options: argparse.Namespace, log: Console) -> dict[Cell, grid.Failure]:
    section = SECTIONS[name]
    missing = store.missing(section.cells(options.seeds or section.seeds, design=options.design))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=log, transient=True) as progress:
        task = progress.add_task(name, total=len(missing))
        with joblib.parallel_config(n_jobs=options.jobs):
            return grid.run_missing(
                missing,
                functools.partial(run_cell, name),
                store,
                expected=(ImportError,),
                watch=lambda _: progress.advance(task),
            )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    usual = ", ".join(f"{name} {section.seeds}" for name, section in SECTIONS.items())
    parser.add_argument("--seeds", type=int, metavar="N", help=f"seeds of every problem (default: {usual})")
    parser.add_argument("--sections", nargs="+", default=tuple(SECTIONS), choices=tuple(SECTIONS))
    parser.add_argument(
        "--out", type=Path, default=Path("baserate-efficiency"), metavar="FOLDER", help="folder for results and page"
    )
    parser.add_argument("--design", action="store_true", help="use other streams, to look at while designing")
    parser.add_argument("--again", action="store_true", help="forget the stored results of the default tracker")
    parser.add_argument("--no-run", action="store_true", help="run nothing; write the page from stored results")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    options = parser.parse_args(arguments)
    if options.seeds is not None and options.seeds < 1:
        parser.error(f"--seeds is {options.seeds}; give 1 at least")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
