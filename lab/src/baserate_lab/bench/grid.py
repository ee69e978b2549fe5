"""A grid of cells, each run once: in parallel, resumable, whatever backend joblib is told to use.

``joblib.parallel_config`` decides where and how many: processes of this machine by default, or a cluster of Dask, Ray
or Spark that has been registered with joblib.
"""

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]

from baserate_lab.bench.store import Store


class Failure(NamedTuple):
    """Why a cell gave no result."""

    reason: str


def each(
    function: Callable[[Any], Any], items: Sequence[Any], expected: tuple[type[Exception], ...] = ()
) -> Generator[tuple[Any, Any], None, None]:
    """Run a function on every item in parallel; yields (item, result) as they come.

    Close it to give up what has not begun.

    Parameters
    ----------
    function : callable
        Of one item. It must be importable by name, because other processes run it.
    items : sequence
        Neighbours that share work should be neighbours here.
    expected : tuple of exception types
        What may go wrong with one item without ending the whole: the result is then a `Failure`.
    """
    tasks = [delayed(_guarded)(function, index, item, expected) for index, item in enumerate(items)]
    try:
        one_by_one = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
    except ValueError:  # of a backend that gives no results before it has them all
        work = _in_chunks(tasks)
    else:
        work = one_by_one(tasks)
    try:
        for index, result in work:
            yield items[index], result
    finally:
        with warnings.catch_warnings():
            # That tasks are cancelled is what closing is for.
            warnings.filterwarnings("ignore", message=".*tasks (which were still|have been successfully)")
            work.close()


def _in_chunks(tasks: Sequence[Any]) -> Generator[tuple[int, Any], None, None]:
    """Results chunk by chunk, so that some are there before the end: for multiprocessing, and those of Ray and Spark.

    Chunks are short, because their results are lost together, and yet give each process a second task while others
    are still at their first.
    """
    with Parallel(batch_size=1) as parallel:
        size = 2 * effective_n_jobs(parallel.n_jobs)
        for start in range(0, len(tasks), size):
            yield from parallel(tasks[start : start + size])


def run(
    cells: Sequence[Any],
    function: Callable[[Any], Any],
    store: Store,
    *,
    expected: tuple[type[Exception], ...] = (),
    watch: Callable[[Any], None] = lambda _: None,
) -> dict[Any, Failure]:
    """Run the cells that are not in the store yet.

    Ctrl-C, or any other end, loses at most the cells that are running, and those that were done in the same moment. (A
    backend of joblib that gives its results in lists only loses twice as many as there are processes.)

    Parameters
    ----------
    cells : sequence of named tuples
        Hashable.
    function : callable
        From a cell to its result, the same whatever ran before; importable by name.
    store : Store
        Where results are kept.
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
