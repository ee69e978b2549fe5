"""Processes that try crafted files: one that dies or hangs is noticed, and its file is known."""

import multiprocessing
import multiprocessing.connection
import resource
import time
from pathlib import Path

from .using import Outcome, outcome

SECONDS = 10.0
"""The seconds that a file may take."""
MEMORY = 3 * 2**30
"""The memory that a process may take beyond that at its start."""

_FORK = multiprocessing.get_context("fork")  # all is imported and compiled by then


class Worker:
    """A process that tries files one after the other.

    Parameters
    ----------
    mutator : Mutator
        Makes the files.
    """

    def __init__(self, mutator):
        self.mutator = mutator
        self.waiting = []
        self._process = None

    def give(self, numbers):
        """Let it try the files of these numbers."""
        self.waiting = list(numbers)
        self._start()

    def _start(self):
        if not self.waiting:
            return
        if self._process is None:
            self._ours, theirs = _FORK.Pipe()
            self._process = _FORK.Process(target=_try, args=(self.mutator, theirs), daemon=True)
            self._process.start()
            theirs.close()
        self._ours.send(self.waiting)
        self._since = time.monotonic()

    def fileno(self):
        """Give the number by which several can be waited for."""
        return self._ours.fileno()

    def heard(self):
        """Give the outcomes of files since: pairs of a number and an outcome."""
        found = []
        try:
            while self._ours.poll():
                number, kind, said = self._ours.recv()
                self.waiting.remove(number)
                self._since = time.monotonic()
                found.append((number, Outcome(kind, said)))
        except (EOFError, ConnectionResetError):
            self._process.join()
            found.append(self._lost("crash", f"exit code {self._process.exitcode}"))
        else:
            if self.waiting and time.monotonic() - self._since > SECONDS:
                found.append(self._lost("hang", f"more than {SECONDS:.0f} seconds"))
        return found

    def _lost(self, kind, said):
        self.stop()
        number = self.waiting.pop(0)
        self._start()
        return number, Outcome(kind, said)

    def stop(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
            self._ours.close()


def _try(mutator, pipe):
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_size() + MEMORY, hard))
    while True:
        try:
            numbers = pipe.recv()
        except EOFError:
            return
        for number in numbers:
            found = outcome(mutator.case(number)[0])
            pipe.send((number, found.kind, found.said[:2000]))


def _size():
    """Give the memory that this process has asked for."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def tried(mutator, chunks, jobs, until):
    """Try chunks of numbers in some processes; gives (chunk, [(number, outcome)]) as each is done.

    Parameters
    ----------
    chunks : iterator of range
        The numbers.
    until : float
        When to give out no more, on the clock of `time.monotonic`.
    """
    workers = {Worker(mutator): None for _ in range(jobs)}
    results = {}
    try:
        while True:
            for worker in workers:
                if not worker.waiting and time.monotonic() < until:
                    chunk = next(chunks, None)
                    if chunk is not None:
                        workers[worker], results[worker] = chunk, []
                        worker.give(chunk)
            busy = [worker for worker in workers if worker.waiting]
            if not busy:
                return
            multiprocessing.connection.wait(busy, timeout=1.0)
            for worker in busy:
                results[worker].extend(worker.heard())
                if not worker.waiting:
                    yield workers[worker], results[worker]
    finally:
        for worker in workers:
            worker.stop()
