"""``baserate inspect``: the content of a state file."""

import json
from pathlib import Path
from typing import Annotated

import typer

from baserate.commands.ending import fail
from baserate.commands.reading import MAX_BYTES
from baserate.commands.streams import say


def inspect(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="State file, written by --state or by baserate.save.")],
    level: Annotated[
        float, typer.Option(help="Level of the band: how often it should contain the true class mix.")
    ] = 0.9,
    keys: Annotated[int, typer.Option(min=0, help="How many keys to show: those whose class mix moved most.")] = 10,
    max_bytes: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help=MAX_BYTES),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show a state file: the class mix now and its band, warnings, and the progress of the last file."""
    from baserate.files.inspecting import inspect_state, show_state

    try:
        found = inspect_state(state, level=level, keys=keys, max_bytes=max_bytes)
    except (ValueError, OSError) as error:
        fail(str(error))
    if as_json:
        say(json.dumps(found, indent=2))
        return
    from rich.console import Console

    show_state(Console(highlight=False), found)
