"""Running an application of typer, with one line for what is wrong and a status."""

import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from baserate.commands.ending import INTERRUPTED, USAGE


def run_app(app: typer.Typer, words: Sequence[str], name: str) -> NoReturn:
    """Run an application with words of the command line, and end the process.

    Parameters
    ----------
    app : typer.Typer
        One command, or several.
    words : sequence of str
        The words after the program's name.
    name : str
        The name of the application in its help.
    """
    try:
        status = typer.main.get_command(app).main(list(words), prog_name=name, standalone_mode=False)
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
