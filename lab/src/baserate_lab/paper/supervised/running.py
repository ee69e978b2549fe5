"""Parallel runs of many cells, with a progress bar."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from joblib import Parallel, delayed  # type: ignore[import-untyped]
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

Cell = TypeVar("Cell", bound=tuple[Any, ...])
Found = TypeVar("Found")


def _one_thread(function: Callable[..., Found], cell: tuple[Any, ...]) -> Found:
    with threadpool_limits(1):  # for small matrices threads only cost time
        return function(*cell)


def run_all(
    function: Callable[..., Found], cells: Iterable[Cell], words: str, *, n_jobs: int = 1
) -> list[tuple[Cell, Found]]:
    """Yield each cell with its result.

    Parameters
    ----------
    function : callable
        Called with the entries of a cell.
    cells : iterable of tuples
        Arguments of the function.
    words : str
        Title of the progress bar.
    n_jobs : int
        Processes; -1 is one per core.
    """
    listed = list(cells)
    done = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_one_thread)(function, cell) for cell in listed)
    watched = track(done, words, total=len(listed), console=Console(stderr=True))
    return list(zip(listed, watched, strict=True))
