"""The end of a command when something is wrong: one line that says so, and a status."""

import contextlib
import tempfile
from pathlib import Path
from typing import NoReturn

import typer

from baserate.commands.streams import say
from baserate.files.errors import check_page_name, printable

FAILURE, USAGE, INTERRUPTED = 1, 2, 130  # exit statuses


def fail(message: str, status: int = USAGE) -> NoReturn:
    """Say what is wrong, in one line, and end."""
    complain(message)
    raise typer.Exit(status)


def complain(message: str) -> None:
    """Say something on standard error, in one line, if anybody can hear it."""
    with contextlib.suppress(OSError):
        say(f"baserate: {printable(message)}", err=True)


def check_writable(path: Path, option: str, example: str) -> None:
    """Find out now, not after the work, whether a file can be put there."""
    if path.is_dir():
        fail(f"{option} {path} is a folder; name a file, such as {path / example}")
    if not path.parent.is_dir():
        fail(f"{option} {path}: there is no folder {path.parent}; make it first, or name another.")
    check_room(path.parent, f"{option} {path}")


def check_page(path: Path, option: str, example: str) -> None:
    """The same for a report."""
    check_writable(path, option, example)
    try:
        check_page_name(path, option)
    except ValueError as error:
        fail(str(error))


def check_folder(folder: Path) -> None:
    """The same for a folder, which is made if need be."""
    if folder.is_file():
        fail(f"--out {folder} is a file; name a folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--out {folder}: the folder cannot be made ({error.strerror}); name another.")
    check_room(folder, f"--out {folder}")


def check_room(folder: Path, named: str) -> None:
    """Find out whether files can be made in a folder."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        fail(f"{named}: cannot write into the folder {folder} ({error.strerror}); name another.")
