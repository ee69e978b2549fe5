"""Timing on a noisy machine: contenders take turns, and the fastest turn of each counts."""

import contextlib
import gc
from time import perf_counter, thread_time


@contextlib.contextmanager
def quiet():
    """Turn garbage collection off: its time would go to whichever contender is running."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def seconds(call, number=1, clock=perf_counter):
    """Mean seconds of one call, over `number` calls in a row."""
    with quiet():
        start = clock()
        for _ in range(number):
            call()
        return (clock() - start) / number


def own_seconds(call, number=1):
    """The same of this thread's processor time: for turns so long that others interrupt all of them."""
    return seconds(call, number, thread_time)


def fastest(*contenders, repeats):
    """Fastest of `repeats` measurements of each contender, a function that measures once and returns seconds.

    Contenders take turns, so that a slow minute of the machine affects all of them.
    """
    best = [float("inf")] * len(contenders)
    for _ in range(repeats):
        best = [min(least, measure()) for least, measure in zip(best, contenders, strict=True)]
    return best


def spread_rounds(rounds, n):
    """Middle rounds of `n` equally long stretches of ``range(rounds)``."""
    return [int((i + 0.5) * rounds / n) for i in range(n)]
