"""The command line.

What is slow to import is imported inside the commands, so that ``baserate --help`` is not kept waiting.
"""

import gc
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from baserate._version import __version__
from baserate.commands.adapt import adapt
from baserate.commands.backtest import backtest
from baserate.commands.ending import FAILURE, INTERRUPTED, USAGE, check_folder, check_writable, fail
from baserate.commands.inspect import inspect

if TYPE_CHECKING:
    from baserate.bench import Demo
    from baserate.paper.pages.run import Run
    from baserate.paper.reproduce import Choice

app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})


@app.callback(invoke_without_command=True)
def _baserate(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Keeps any classifier right while class proportions drift."""
    if version:
        typer.echo(f"baserate {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    rounds: Annotated[int, typer.Option(min=1, help="Length of each stream.")] = 1000,
    batch_size: Annotated[int, typer.Option(min=1, help="Samples in a round.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same results.")] = 0,
    out: Annotated[Path, typer.Option(help="Where to write the HTML report.")] = Path("baserate-demo.html"),
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report; matplotlib is not needed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """A tour on real data: handwritten digits, four ways to drift, every method, a table and an HTML report."""
    from rich.console import Console
    from rich.progress import Progress

    if not no_report:
        check_writable(out, "--out", "baserate-demo.html")
        try:
            from baserate.bench import report
        except ModuleNotFoundError as error:
            fail(f"{error} (or leave the report out with --no-report)")
    log = Console(stderr=True)
    log.quiet = not log.is_terminal
    with Progress(console=log, transient=True) as progress:
        task = progress.add_task("Loading", total=None)

        from baserate import bench

        problem = bench.prepare(seed)
        if batch_size > problem.largest_batch:
            fail(
                f"--batch-size is {batch_size}; a round may be of one digit alone, and there are only "
                f"{problem.largest_batch} images of the rarest. Make batches smaller."
            )

        def watched(cells: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
            for shift, method in progress.track(cells, task_id=task):
                progress.update(task, description=f"{shift}: {method}")
                yield shift, method

        result = bench.run(problem, rounds, batch_size, seed, track=watched)
    if as_json:
        typer.echo(_json(result))
    else:
        _print(result)
    if not no_report:
        try:
            report.write(result, out)
        except OSError as error:
            fail(f"could not write the report to {out} ({error.strerror}).", FAILURE)
        typer.echo(f"Report: {out.resolve()}", err=as_json)


app.command()(adapt)
app.command()(inspect)
app.command()(backtest)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...|all]", help="Tables and figures; none: list them.")
    ] = None,
    data: Annotated[list[str] | None, typer.Option(metavar="NAME...", help="Only these data sets.")] = None,
    methods: Annotated[list[str] | None, typer.Option(metavar="NAME...", help="Only these methods.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each cell, fewer where one takes minutes.  (default: 10; 3 if quick)"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three seeds, and only what needs neither download nor long training.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the report, tables and figures.")] = Path("baserate-reproduce"),
    no_report: Annotated[bool, typer.Option("--no-report", help="Print only; write no folder.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the numbers as JSON records, too.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Parquet file that results are kept in.  (default: in the cache)"),
    ] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Show what is kept already; run nothing.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one per core.")] = -1,
) -> None:
    """The paper's tables and figures, ours beside the printed numbers.

    What is done is not done again: stop with Ctrl-C and go on later.
    """
    from rich.console import Console

    from baserate.paper import reproduce as paper
    from baserate.paper.artefacts import ARTEFACTS

    console = Console(highlight=False)
    if not names:
        for name, artefact in ARTEFACTS.items():
            console.print(f"{name:<20}{artefact.where}: {artefact.title}", markup=False, soft_wrap=True)
        typer.echo("\nName some of them, or all: baserate reproduce table-uols --quick")
        return
    try:
        choice = paper.choose(names, data=data or (), methods=methods or (), seeds=seeds, quick=quick)
    except ValueError as error:
        fail(str(error))
    if results is not None and not results.parent.is_dir():
        fail(f"--results {results}: there is no folder {results.parent}; make it first, or name another.")
    if jobs == 0:
        fail("--jobs is 0; give a number of processes, or -1 for one per core.")
    if json_file is not None:
        check_writable(json_file, "--json", "records.json")
    if not no_report:
        check_folder(out)
        try:
            from baserate.paper.pages import files
        except ModuleNotFoundError as error:
            fail(f"{error} (or leave the report out with --no-report)")
    found = _run_paper(choice, results, no_run, jobs)
    if not any(record.seeds for part in found.artefacts for record in part.records):
        if no_run:
            fail("nothing of this is kept yet; leave --no-run out to run it.", FAILURE)
        fail(f"nothing could be run: {' '.join(found.failures)}", FAILURE)
    if json_file is not None:
        records = [record.to_json() for part in found.artefacts for record in part.records]
        try:
            json_file.write_text(json.dumps(records, indent=1) + "\n")
        except OSError as error:
            fail(f"could not write the records to {json_file} ({error.strerror}).", FAILURE)
    from baserate.paper.pages import terminal

    terminal.show(console, found)
    if not no_report:
        try:
            files.write(found, out)
        except OSError as error:
            fail(f"could not write the report into {out} ({error.strerror}).", FAILURE)
        typer.echo(f"Report: {(out / files.REPORT).resolve()}")


def _run_paper(choice: "Choice", results: Path | None, no_run: bool, jobs: int) -> "Run":
    """Run the cells with a progress bar; what is done is kept whatever happens."""
    import joblib  # type: ignore[import-untyped]
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from baserate.bench.store import StoreError
    from baserate.paper.reproduce import reproduce as run

    log = Console(stderr=True)
    log.quiet = not log.is_terminal
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    command = " ".join(["baserate", *(shlex.quote(word) for word in sys.argv[1:])])
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=log, transient=True) as progress:

        def bar(title: str, total: int) -> Callable[[], None]:
            task = progress.add_task(title, total=total)
            return lambda: progress.advance(task)

        try:
            with joblib.parallel_config(n_jobs=jobs):
                return run(choice, results=results, only_kept=no_run, progress=bar, command=command)
        except KeyboardInterrupt:
            typer.echo("baserate: what is done is kept; the same command goes on from there.", err=True)
            raise
        except (StoreError, ModuleNotFoundError, OSError) as error:
            fail(str(error), FAILURE)


def _print(result: "Demo") -> None:
    from rich.console import Console

    from baserate.bench import conclusion, rows
    from baserate.bench.tables import COLUMNS, to_rich

    console = Console(highlight=False)
    console.print(to_rich(rows(result), COLUMNS, group="shift", mark="best"))
    console.print(f"\n{conclusion(rows(result))}\n", markup=False)


def _json(result: "Demo") -> str:
    from baserate.bench import conclusion, rows

    found = {
        "baserate": __version__,
        "rounds": result.n_rounds,
        "batch_size": result.batch_size,
        "seed": result.seed,
        "conclusion": conclusion(rows(result)),
        "rows": rows(result),
    }
    return json.dumps(found, indent=2)


def _repeated(words: list[str]) -> list[str]:
    """``--data a b,c`` as ``--data a --data b --data c``, up to the next option or the name of an artefact."""
    found: list[str] = []
    option, given = "", True
    for word in [part for typed in words for part in _parted(typed)]:
        named = option and not word.startswith(("-", "table-", "fig-")) and word != "all"
        if not named and not given:
            found.append(option)  # without a value, of which typer will complain
        if named:
            given = True
            names = [name for name in word.split(",") if name] or [word]
            found += [part for name in names for part in (option, name)]
        elif word in ("--data", "--methods"):
            option, given = word, False
        else:
            option, given = "", True
            found.append(word)
    return found if given else [*found, option]


def _parted(word: str) -> list[str]:
    return word.split("=", 1) if word.startswith(("--data=", "--methods=")) else [word]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name. Default: those of this process.
    """
    command = typer.main.get_command(app)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["reproduce"]:  # elsewhere, what follows a name is another argument
        words = _repeated(words)
    try:
        status = command.main(words, prog_name="baserate", standalone_mode=False)
    except typer.Abort:  # what older versions of typer make of Ctrl-C
        status = INTERRUPTED
    except Exception as error:
        # Typer's errors have no common class with a public name in all of its versions.
        if not hasattr(error, "format_message"):
            raise
        typer.echo(f"baserate: {error.format_message()} (see --help)", err=True)
        status = getattr(error, "exit_code", USAGE)
    if status == INTERRUPTED:
        typer.echo("baserate: stopped.", err=True)
    gc.freeze()  # else the interpreter looks for garbage among all that was imported before it lets go of everything
    sys.exit(status)
