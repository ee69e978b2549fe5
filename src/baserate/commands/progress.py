"""Progress of long work, on standard error: a bar on a terminal, nothing elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def progress_bars() -> Iterator["Progress"]:
    """Bars with counts, time and time left, which vanish at the end; tasks are added as to any ``rich.Progress``.

    Examples
    --------
    >>> with progress_bars() as progress:
    ...     task = progress.add_task("Counting", total=2)
    ...     progress.advance(task)
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    times = TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, *times, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield progress
