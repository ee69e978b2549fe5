"""GroupWriter: one thread that writes, and makes many commits with one fsync."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
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

    Parameters
    ----------
    connect : callable
        Opens the connection, in the thread that uses it.
    loop : asyncio.AbstractEventLoop
        Where the futures belong.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], loop: asyncio.AbstractEventLoop) -> None:
        self._connect, self._loop = connect, loop
        self._jobs: list[_Job] = []
        self._wake = threading.Condition()
        self._ending = False
        self.commits = 0
        self._thread = threading.Thread(target=self._run, name="baserate-writer", daemon=True)
        self._thread.start()

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
        with self._wake:
            if self._ending:
                done.set_exception(UnavailableError("the server is ending; try again."))
                return done
            self._jobs.append(_Job(statements, check, done))
            self._wake.notify()
        return done

    def close(self) -> None:
        """Write what is left, and end the thread."""
        with self._wake:
            self._ending = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        connection = self._connect()
        while True:
            with self._wake:
                while not self._jobs and not self._ending:
                    self._wake.wait()
                jobs, self._jobs = self._jobs, []
            if not jobs:
                connection.close()
                return
            outcomes = self._commit(connection, jobs)
            try:
                self._loop.call_soon_threadsafe(_tell, jobs, outcomes)
            except RuntimeError:  # the loop is closed: nobody waits any more
                connection.close()
                return

    def _commit(self, connection: sqlite3.Connection, jobs: list[_Job]) -> list[BaseException | None]:
        outcomes: list[BaseException | None] = [None] * len(jobs)
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
            connection.execute("COMMIT")
            self.commits += 1
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            outcomes = [UnavailableError(f"the store could not be written ({error}); nothing was counted.")] * len(jobs)
        return outcomes


def _execute(connection: sqlite3.Connection, job: _Job) -> None:
    for text, values in job.statements:
        connection.execute(text, values)


def _tell(jobs: list[_Job], outcomes: list[BaseException | None]) -> None:
    for job, outcome in zip(jobs, outcomes, strict=True):
        if job.done.done():
            continue
        if outcome is None:
            job.done.set_result(None)
        else:
            job.done.set_exception(outcome)
