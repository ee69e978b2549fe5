"""GroupWriter: many commits with one fsync, which a thread waits for."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from baserate.service.problems import ProblemError, UnavailableError

Statement = tuple[str, Sequence[Any]]


class ContradictionError(Exception):
    """A group of statements that contradicts what is there: only that group is undone."""


class _Job(NamedTuple):
    statements: Sequence[Statement]
    check: Callable[[sqlite3.Connection], None] | None
    done: "asyncio.Future[None]"


class GroupWriter:
    """Writes groups of statements, each of them completely or not at all.

    Whatever has been handed over while the disk was busy goes into one transaction, in the order in which it came, so
    that a hundred requests wait for one fsync. A future is done when its statements are on disk.

    Statements are made where they are handed over, as they take microseconds; only the commit, which waits for the
    disk, is left to a thread. Made in the thread, each of them would wait for its turn of the interpreter.

    Parameters
    ----------
    connect : callable
        Opens the connection.
    loop : asyncio.AbstractEventLoop
        Where the futures belong.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], loop: asyncio.AbstractEventLoop) -> None:
        self._connection, self._loop = connect(), loop
        self._thread = ThreadPoolExecutor(1, "baserate-commit")
        self._jobs: list[_Job] = []
        self._busy = self._ending = False
        self.commits = 0

    def write(
        self, statements: Sequence[Statement], check: Callable[[sqlite3.Connection], None] | None = None
    ) -> "asyncio.Future[None]":
        """Hand over statements.

        Parameters
        ----------
        statements : sequence of (str, sequence)
        check : callable, optional
            Called before them, in the same transaction; raises `ContradictionError` if they must not be made.
        """
        done: asyncio.Future[None] = self._loop.create_future()
        if self._ending:
            done.set_exception(UnavailableError("the server is ending; try again."))
            return done
        self._jobs.append(_Job(statements, check, done))
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._make)
        return done

    async def close(self) -> None:
        """Write what is left, and close the connection."""
        self._ending = True
        while self._busy:
            await asyncio.sleep(0.001)
        self._thread.shutdown()
        self._connection.close()

    def _make(self) -> None:
        """Make all statements that there are, and let the thread commit them."""
        jobs, self._jobs = self._jobs, []
        outcomes: list[BaseException | None] = [None] * len(jobs)
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for i, job in enumerate(jobs):
                if job.check is None:
                    _execute(connection, job)
                    continue
                connection.execute("SAVEPOINT job")
                try:
                    job.check(connection)
                    _execute(connection, job)
                except (ContradictionError, ProblemError) as error:
                    outcomes[i] = error
                    connection.execute("ROLLBACK TO job")
                connection.execute("RELEASE job")
        except Exception as error:  # whatever it is, those who wait have to hear of it
            self._tell(jobs, outcomes, error)
            return
        committing = self._loop.run_in_executor(self._thread, connection.execute, "COMMIT")
        committing.add_done_callback(lambda done: self._tell(jobs, outcomes, done.exception()))

    def _tell(self, jobs: list[_Job], outcomes: list[BaseException | None], error: BaseException | None) -> None:
        """Say how it went, and go on with what has come meanwhile."""
        if error is None:
            self.commits += 1
        else:
            if self._connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):  # the next one to begin fails, and tries it again
                    self._connection.execute("ROLLBACK")
            failure = UnavailableError(f"the store could not be written ({error}); nothing was counted.")
            outcomes = [failure] * len(jobs)
        for job, outcome in zip(jobs, outcomes, strict=True):
            if job.done.done():
                continue
            if outcome is None:
                job.done.set_result(None)
            else:
                job.done.set_exception(outcome)
        if self._jobs:
            self._loop.call_soon(self._make)
        else:
            self._busy = False


def _execute(connection: sqlite3.Connection, job: _Job) -> None:
    for text, values in job.statements:
        connection.execute(text, values)
