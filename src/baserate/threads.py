"""Work on many keys in threads; compiled functions release Python's global lock."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from baserate.compiled import max_threads

_LEAST = 1_000  # least number of keys per thread: with fewer, starting one takes longer than it saves


def in_threads(work: Callable[[int, int], object], n: int) -> None:
    """Call ``work(begin, end)`` for parts of ``range(n)``, one part in this thread and the others in new threads.

    If a part fails, the others are finished before its error is raised, so that no thread is still writing. Threads
    live only as long as the call, so that a later fork is safe.
    """
    parts = max(1, min(max_threads(), n // _LEAST))
    cuts = [n * i // parts for i in range(parts + 1)]
    if parts == 1:
        work(0, n)
        return
    with ThreadPoolExecutor(parts - 1) as pool:
        others = [pool.submit(work, begin, end) for begin, end in itertools.pairwise(cuts[1:])]
        work(0, cuts[1])
    for other in others:
        other.result()
