"""Running an application of typer, with one line for what is wrong and a status."""

import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from baserate.commands.advice import advice
from baserate.commands.ending import FAILURE, INTERRUPTED, USAGE, complain
from baserate.commands.streams import drop, flush_output, prepare_streams


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
    prepare_streams()
    try:
        status = typer.main.get_command(app).main(list(words), prog_name=name, standalone_mode=False)
        flush_output()
    except typer.Abort:  # what older versions of typer make of Ctrl-C
        status = INTERRUPTED
    except OSError as error:  # every command looks after its own files
        drop(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            complain(f"could not write {error.filename or 'to standard output'} ({error.strerror or error}).")
        status = FAILURE
    except Exception as error:
        # Typer's errors have no common class with a public name in all of its versions.
        if not hasattr(error, "format_message"):
            raise
        complain(f"{advice(error) or error.format_message()} (see --help)")
        status = getattr(error, "exit_code", USAGE)
    if status == INTERRUPTED:
        complain("stopped.")
    gc.freeze()  # else the interpreter looks for garbage among all that was imported before it lets go of everything
    sys.exit(status)
