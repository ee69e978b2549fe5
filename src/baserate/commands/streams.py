"""The standard streams of a process, which may be closed, full, or of an encoding that knows few characters."""

import contextlib
import os
import sys
from typing import TextIO


def prepare_streams() -> None:
    """Make standard input, output and error usable, so that using them can fail in one way only, by an `OSError`.

    A stream that is closed would otherwise be None, and its number that of the next file that is opened. What an
    encoding cannot say is written with backslashes.
    """
    for number, (name, mode) in enumerate([("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)]):
        if getattr(sys, name) is None:
            # Opened the wrong way round, so that to read or to write is refused as it is of a closed file. What goes to
            # standard error has nowhere to be complained about, and is dropped.
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not what tests put in its place
            stream.reconfigure(errors="backslashreplace")


def say(text: str, *, err: bool = False) -> None:
    """Write lines to standard output, or to standard error, in the encoding of that stream.

    `typer.echo` takes a stream of ASCII for a mistake, and writes UTF-8 to it.
    """
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{text}\n")
    stream.flush()


def flush_output() -> None:
    """Write what is left, or raise the `OSError` that the interpreter would show in its own way at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        drop(sys.stdout)
        raise


def drop(stream: TextIO) -> None:
    """Give up what a stream still holds, which the interpreter would try to write at the end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
