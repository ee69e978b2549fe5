"""Work on many keys at the same time, in threads: compiled functions let others run meanwhile."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from baserate.compiled import max_threads

_LEAST = 1_000  # keys: with fewer, starting a thread takes longer than it saves


def in_threads(work: Callable[[int, int], object], n: int) -> None:
    """Call ``work(begin, end)`` for parts of ``range(n)`` until all of it is done, one part in this thread.

    Whatever happens in one part, the others are finished before an error is raised: an interrupt leaves no thread that
    still writes. There are threads for as long as the call takes only, so that nothing is left for a fork to break.
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
