"""``baserate inspect``: what a state file knows."""

import json
from pathlib import Path
from typing import Annotated

import typer

from baserate.commands.ending import fail


def inspect(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="A file that --state or baserate.save has written.")],
    level: Annotated[float, typer.Option(help="How often the band should hold the true mix.")] = 0.9,
    keys: Annotated[int, typer.Option(min=0, help="How many keys to show, those furthest from the holdout.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say what a state file knows: the class mix now, how sure that is, and how far a file has come."""
    from baserate.files.inspecting import inspect_state, show_state

    try:
        found = inspect_state(state, level=level, keys=keys)
    except (ValueError, OSError) as error:
        fail(str(error))
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    from rich.console import Console

    show_state(Console(highlight=False), found)
