"""The command line.

What is slow to import is imported inside the commands, so that ``baserate --help`` is not kept waiting.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from baserate._version import __version__

if TYPE_CHECKING:
    from baserate.bench import Demo

FAILURE, USAGE, INTERRUPTED = 1, 2, 130  # exit statuses

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
        _check_writable(out)
        try:
            from baserate.bench import report
        except ModuleNotFoundError as error:
            _fail(f"{error} (or leave the report out with --no-report)")
    log = Console(stderr=True)
    log.quiet = not log.is_terminal
    with Progress(console=log, transient=True) as progress:
        task = progress.add_task("Loading", total=None)

        from baserate import bench

        problem = bench.prepare(seed)
        if batch_size > problem.largest_batch:
            _fail(
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
            _fail(f"could not write the report to {out} ({error.strerror}).", FAILURE)
        typer.echo(f"Report: {out.resolve()}", err=as_json)


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


def _check_writable(path: Path) -> None:
    """Find out now, not after the work, whether a file can be put there."""
    if path.is_dir():
        _fail(f"--out {path} is a folder; name a file, such as {path / 'baserate-demo.html'}")
    if not path.parent.is_dir():
        _fail(f"--out {path}: there is no folder {path.parent}; make it first, or name another.")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        _fail(f"--out {path}: cannot write into the folder {path.parent} ({error.strerror}); name another.")


def _fail(message: str, status: int = USAGE) -> NoReturn:
    """Say what is wrong, in one line, and end."""
    typer.echo(f"baserate: {message}", err=True)
    raise typer.Exit(status)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name. Default: those of this process.
    """
    command = typer.main.get_command(app)
    try:
        status = command.main(arguments, prog_name="baserate", standalone_mode=False)
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
    sys.exit(status)
