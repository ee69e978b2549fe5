"""The rows of the output: the input's columns, and what was made of them."""

from typing import Any

import numpy as np

from baserate.bank import Bank
from baserate.files.columns import Classes
from baserate.files.errors import FileProblemError
from baserate.files.job import Job
from baserate.files.stepping import Outcome
from baserate.frames import polars, unnamed
from baserate.protocols import IntArray


class Output:
    """Makes frames of outcomes.

    Parameters
    ----------
    job : Job
        What is asked for.
    classes : Classes
        The columns of probabilities, and the names of the classes.
    columns : list of str
        The input's.
    keyed : bool
        Whether there is a tracker per key; then there are no bands, and no flags.
    """

    def __init__(self, job: Job, classes: Classes, columns: list[str], *, keyed: bool) -> None:
        used = {*classes.columns, *(name for name in job.columns if name is not None)}
        self.kept = [name for name in columns if name in used] if job.only else columns
        self._names = classes.names
        self._file, self._format = job.stream.shown, job.out.format
        self._schema: dict[str, Any] | None = None
        self._wide, self._keyed, self._prefix = job.wide, keyed, job.out_prefix
        self._adapted = [f"{job.out_prefix}{name}" for name in classes.columns]

    @property
    def new(self) -> list[str]:
        """The columns that are added."""
        p = self._prefix
        flags = [] if self._keyed else [f"{p}alarm", f"{p}fallback"]
        return [*self._adapted, f"{p}label", f"{p}round", *flags, *(f"{p}{name}" for name in self._shares)]

    @property
    def _shares(self) -> list[str]:
        if not self._wide:
            return []
        what = ("prior",) if self._keyed else ("prior", "low", "high")
        return [f"{kind}_{name}" for kind in what for name in self._names]

    def rows(self, outcome: Outcome) -> Any:
        """The rows of a piece."""
        pl = polars()
        frame, p = outcome.batch.piece.frame[self.kept], self._prefix  # not select, which reads names as patterns
        if frame.schema != self._schema:
            self._check_types(frame, outcome.batch.piece.row)
        names = pl.Series(f"{p}label", self._names)
        shares = [pl.Series(name, column) for name, column in zip(self._adapted, outcome.adapted, strict=True)]
        label = names.gather(outcome.labels)
        numbers = outcome.numbers()
        number = pl.Series(f"{p}round", numbers)
        return frame.with_columns(*shares, label, number, *self._by_round(outcome, numbers))

    def _check_types(self, frame: Any, row: int) -> None:
        """Check that the output's format can hold every column, and each in the type that it began with if it must."""
        for name, kind in frame.schema.items():
            before = kind if self._schema is None else self._schema[name]
            if self._format.fixed_types and kind != before:
                raise FileProblemError(
                    self._file,
                    f"is of the type {kind} from here on, and was {before} before; a {self._format.title} file cannot "
                    f"change. Leave it out with --only, or write {self._format.instead}",
                    row=row + int(unnamed(frame.get_column(name)).is_not_null().arg_max() or 0),
                    column=name,
                )
            if not self._format.can_hold(kind):
                raise FileProblemError(
                    self._file,
                    f"is of the type {kind}, which {self._format.title} cannot hold; leave it out with --only, or "
                    f"write {self._format.instead}",
                    column=name,
                )
        self._schema = frame.schema

    def _by_round(self, outcome: Outcome, numbers: IntArray) -> list[Any]:
        """What is the same for all rows of a round (and key), spread over its rows."""
        pl = polars()
        wanted = [*([] if self._keyed else ["alarm", "fallback"]), *self._shares]
        if not wanted:
            return []
        if self._keyed:
            where = {pair: i for i, pair in enumerate(zip(outcome.rounds["round"], outcome.rounds["key"], strict=True))}
            assert outcome.batch.keys is not None
            pairs = zip(numbers.tolist(), outcome.batch.keys, strict=True)
            places = np.fromiter((where[pair] for pair in pairs), np.int64, len(numbers))
        else:
            sizes = np.diff(outcome.batch.piece.starts)
            places = np.repeat(np.arange(len(sizes)), sizes)
        kinds = {name: pl.Boolean if name in ("alarm", "fallback") else pl.Float64 for name in wanted}
        return [
            pl.Series(f"{self._prefix}{name}", outcome.rounds[name], dtype=kinds[name]).gather(places)
            for name in wanted
        ]


def table_of_rounds(outcome: Outcome) -> Any:
    """The rounds of a piece as rows."""
    pl = polars()
    columns = {name: values for name, values in outcome.rounds.items() if name != "time" or values[0] is not None}
    return pl.DataFrame(columns, infer_schema_length=None, strict=False)


def is_keyed(adapter: Any) -> bool:
    """Whether there is a tracker per key."""
    return isinstance(adapter, Bank)
