"""``baserate reproduce``: the paper's tables and figures."""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from baserate.commands.ending import FAILURE, check_folder, check_writable, fail
from baserate.commands.progress import progress_bars
from baserate.commands.running import run_app

if TYPE_CHECKING:
    from baserate_lab.paper.pages.run import Reproduction
    from baserate_lab.paper.reproduce import Choice

app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})


def main(words: Sequence[str]) -> None:
    """Run the command with the words that follow its name; baserate calls this through its entry point."""
    run_app(app, _repeated(list(words)), "baserate reproduce")


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...|all]", help="Tables and figures; without names, list them.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME...",
            help="Only these data sets. eurosat, shl, arxiv and cinic10 are the real ones if they can be had.",
        ),
    ] = None,
    outputs: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npz", help="Run the methods on the outputs of your own model instead."),
    ] = None,
    methods: Annotated[list[str] | None, typer.Option(metavar="NAME...", help="Only these methods.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each cell; fewer if a run takes minutes.  (default: 10; 3 if quick)"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three seeds; only what needs no download and no long training.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the report, tables and figures.")] = Path("baserate-reproduce"),
    no_report: Annotated[bool, typer.Option("--no-report", help="Print only; write no folder.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write the numbers as JSON records.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Parquet file for the results.  (default: in the cache)"),
    ] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Show stored results; run nothing.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one per core.")] = -1,
) -> None:
    """Reproduce the paper's tables and figures, with our numbers beside the printed ones.

    Results are stored and not computed twice: stop with Ctrl-C and resume later.
    """
    from rich.console import Console

    from baserate_lab.paper import reproduce as paper
    from baserate_lab.paper.artefacts import ARTEFACTS
    from baserate_lab.paper.runs import own
    from baserate_lab.paper.runs.at_hand import at_hand

    console = Console(highlight=False)
    if not names:
        for name, artefact in ARTEFACTS.items():
            console.print(f"{name:<22}{artefact.where}: {artefact.title}", markup=False, soft_wrap=True)
        typer.echo("\nName some of them, or all: baserate reproduce table-uols --quick")
        return
    try:
        choice = paper.choose(
            names,
            data=data or (),
            methods=methods or (),
            seeds=seeds,
            quick=quick,
            outputs="" if outputs is None else own.take(outputs),
            at_hand=lambda name: at_hand(name, fetch=not (quick or no_run)),
        )
    except (ValueError, OSError) as error:
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
            from baserate_lab.paper.pages import files
        except ModuleNotFoundError as error:
            fail(f"{error} (or leave the report out with --no-report)")
    found = _run_paper(choice, results, no_run, jobs)
    if not any(record.seeds for part in found.artefacts for record in part.records):
        if no_run:
            fail("nothing of this is kept yet; leave --no-run out to run it.", FAILURE)
        fail(f"nothing could be run: {' '.join(found.failures)}", FAILURE)
    if json_file is not None:
        records = [
            record.to_json() for part in found.artefacts for record in (*part.records, *part.gains, *part.left_out)
        ]
        try:
            json_file.write_text(json.dumps(records, indent=1) + "\n")
        except OSError as error:
            fail(f"could not write the records to {json_file} ({error.strerror}).", FAILURE)
    from baserate_lab.paper.pages import terminal

    terminal.show(console, found)
    if not no_report:
        try:
            files.write(found, out)
        except OSError as error:
            fail(f"could not write the report into {out} ({error.strerror}).", FAILURE)
        typer.echo(f"Report: {(out / files.REPORT).resolve()}")


def _run_paper(choice: "Choice", results: Path | None, no_run: bool, jobs: int) -> "Reproduction":
    """Run the cells with a progress bar; finished cells are stored whatever happens."""
    import joblib  # type: ignore[import-untyped]

    from baserate_lab.bench.store import StoreError
    from baserate_lab.paper.reproduce import reproduce as run

    command = " ".join(["baserate", *(shlex.quote(word) for word in sys.argv[1:])])
    with progress_bars() as progress:

        def bar(title: str, total: int) -> Callable[[], None]:
            task = progress.add_task(title, total=total)
            return lambda: progress.advance(task)

        try:
            with joblib.parallel_config(n_jobs=jobs):
                return run(choice, results=results, only_kept=no_run, progress=bar, command=command)
        except KeyboardInterrupt:
            typer.echo("baserate: finished cells are stored; run the same command to resume.", err=True)
            raise
        except (StoreError, ModuleNotFoundError, OSError) as error:
            fail(str(error), FAILURE)


def _repeated(words: list[str]) -> list[str]:
    """Write ``--data a b,c`` as ``--data a --data b --data c``, up to the next option or artefact name."""
    found: list[str] = []
    option, given = "", True
    for word in [part for typed in words for part in _parted(typed)]:
        named = option and not word.startswith(("-", "table-", "fig-")) and word != "all"
        if not named and not given:
            found.append(option)  # without a value: typer reports it
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
