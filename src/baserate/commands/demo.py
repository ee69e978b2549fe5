"""``baserate demo``: a tour on real data."""

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from baserate._version import __version__
from baserate.commands.ending import FAILURE, check_page, fail
from baserate.commands.progress import progress_bars
from baserate.commands.streams import say
from baserate.files.errors import printable

if TYPE_CHECKING:
    from baserate.demo import Demo


def demo(
    rounds: Annotated[int, typer.Option(min=1, max=1_000_000, help="Number of rounds in each stream.")] = 1000,
    batch_size: Annotated[int, typer.Option(min=1, help="Samples in a round.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same results.")] = 0,
    out: Annotated[Path, typer.Option(help="Where to write the HTML report.")] = Path("baserate-demo.html"),
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report; matplotlib is not needed.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Also print a table of all methods.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show what baserate gains on real data: handwritten digits under four kinds of drift."""
    if not no_report:
        check_page(out, "--out", "baserate-demo.html")
        try:
            from baserate.reports.demo import write
        except ModuleNotFoundError as error:
            fail(f"{error} (or leave the report out with --no-report)")
    with progress_bars() as progress:
        task = progress.add_task("Loading", total=None)

        from baserate.demo import run_demo, train_model

        model = train_model(seed)
        if batch_size > model.largest_batch:
            fail(
                f"--batch-size is {batch_size}; a round may be of one digit alone, and there are only "
                f"{model.largest_batch} images of the rarest. Make batches smaller."
            )

        def watched(cells: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
            for shift, method in progress.track(cells, task_id=task):
                progress.update(task, description=f"{shift}: {method}")
                yield shift, method

        result = run_demo(model, rounds, batch_size, seed, track=watched)
    if as_json:
        say(_json(result))
    else:
        _print(result, every)
    if not no_report:
        try:
            write(result, out)
        except OSError as error:
            fail(f"could not write the report to {out} ({error.strerror}).", FAILURE)
        say(f"Report: {printable(str(out.resolve()))}", err=as_json)


def _print(result: "Demo", every: bool) -> None:
    from rich.console import Console

    from baserate.demo.experiment import OPTIMAL, describe
    from baserate.reports.demo_rows import COLUMNS, SUMMARY, conclusion, demo_rows, standing, summary_rows
    from baserate.reports.tables import to_rich

    rows = demo_rows(result)
    console = Console(highlight=False)
    console.print(to_rich(summary_rows(rows), SUMMARY))
    console.print(f"\n{conclusion(rows)}\n", markup=False)
    if every:
        console.print(to_rich(rows, COLUMNS, group="shift", mark="best"))
        console.print(f"\nbest: the fewest mistakes, or a tie with it within noise. {standing(rows)}", markup=False)
        console.print(f"\n{OPTIMAL}: {describe(OPTIMAL)}\n", markup=False)
    else:
        say(f"All {len({row['method'] for row in rows})} methods: {_own_command()} demo --all\n")


def _own_command() -> str:
    """As this program was called: in a virtual environment that is not active there is no command ``baserate``."""
    if Path(sys.argv[0]).stem == "baserate":
        return "baserate"
    return f"{shlex.quote(min(os.path.relpath(sys.executable), sys.executable, key=len))} -m baserate"


def _json(result: "Demo") -> str:
    from baserate.reports.demo_rows import conclusion, demo_rows, standing

    rows = demo_rows(result)
    found = {
        "baserate": __version__,
        "rounds": result.n_rounds,
        "batch_size": result.batch_size,
        "seed": result.seed,
        "conclusion": conclusion(rows),
        "standing": standing(rows),
        "rows": rows,
    }
    return json.dumps(found, indent=2)
