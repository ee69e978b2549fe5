"""A grid of cells, run in parallel with joblib; each cell is run once, and a stopped run resumes.

``joblib.parallel_config`` decides where the cells run and in how many processes: on this machine by default, or on a
cluster of Dask, Ray or Spark that is registered with joblib.
"""

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]

from baserate_lab.bench.store import Store


class Failure(NamedTuple):
    """Reason why a cell gave no result."""

    reason: str


def each(
    function: Callable[[Any], Any], items: Sequence[Any], expected: tuple[type[Exception], ...] = ()
) -> Generator[tuple[Any, Any], None, None]:
    """Run a function on every item in parallel; yields (item, result) as they finish.

    Closing the generator cancels the items that have not started.

    Parameters
    ----------
    function : callable
        Called with one item. It must be importable by name, because other processes run it.
    items : sequence
        Put items that share work next to each other.
    expected : tuple of exception types
        Exceptions that make the item's result a `Failure`; any other exception ends the run.
    """
    tasks = [delayed(_guarded)(function, index, item, expected) for index, item in enumerate(items)]
    try:
        one_by_one = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
    except ValueError:  # this backend returns its results all at once
        work = _in_chunks(tasks)
    else:
        work = one_by_one(tasks)
    try:
        for index, result in work:
            yield items[index], result
    finally:
        with warnings.catch_warnings():
            # Closing cancels tasks on purpose.
            warnings.filterwarnings("ignore", message=".*tasks (which were still|have been successfully)")
            work.close()


def _in_chunks(tasks: Sequence[Any]) -> Generator[tuple[int, Any], None, None]:
    """Yield results chunk by chunk, for backends that return whole lists: multiprocessing, Ray and Spark.

    Chunks are short, because an interruption loses a whole chunk. They hold two tasks per process, so that a process
    that finishes early has more to do.
    """
    with Parallel(batch_size=1) as parallel:
        size = 2 * effective_n_jobs(parallel.n_jobs)
        for start in range(0, len(tasks), size):
            yield from parallel(tasks[start : start + size])


def run_missing(
    cells: Sequence[Any],
    function: Callable[[Any], Any],
    store: Store,
    *,
    expected: tuple[type[Exception], ...] = (),
    watch: Callable[[Any], None] = lambda _: None,
) -> dict[Any, Failure]:
    """Run the cells that are not in the store yet.

    An interruption such as Ctrl-C loses at most the cells that are running and those that finished in the same moment.
    (With a joblib backend that returns whole lists, it loses up to two cells per process.)

    Parameters
    ----------
    cells : sequence of named tuples
        Hashable.
    function : callable
        Returns the result of a cell, which must not depend on what ran before; importable by name.
    store : Store
        Results that exist already, and where new ones go.
    expected : tuple of exception types
        As in `each`.
    watch : callable, optional
        Called with each cell when it is done.

    Returns
    -------
    dict of cell to Failure
        The cells that gave no result.
    """
    failures = {}
    try:
        with closing(each(function, store.missing(cells), expected)) as done:
            for cell, result in done:
                if isinstance(result, Failure):
                    failures[cell] = result
                else:
                    store.keep(cell, result)
                watch(cell)
    finally:
        store.flush()
    return failures


def _guarded(
    function: Callable[[Any], Any], index: int, item: Any, expected: tuple[type[Exception], ...]
) -> tuple[int, Any]:
    try:
        return index, function(item)
    except expected as error:
        return index, Failure(str(error))
