"""The rows of the output: the input's columns, and those that adapting adds."""

from collections.abc import Sequence
from typing import Any

from baserate.files.adapting.job import AdaptJob
from baserate.files.adapting.pieces import AdaptedPiece
from baserate.files.columns import Classes
from baserate.files.errors import FileProblemError
from baserate.frames import polars, unnamed
from baserate.protocols import IntArray


class Output:
    """The columns of the output, and their values for each piece.

    Parameters
    ----------
    job : AdaptJob
        The job.
    classes : Classes
        The columns of probabilities, and the names of the classes.
    columns : list of str
        The input's columns.
    keyed : bool
        True if there is a tracker per key; then there are no bands.
    decisions : sequence of str
        The names of decisions; none without costs and threshold.
    """

    def __init__(
        self, job: AdaptJob, classes: Classes, columns: list[str], *, keyed: bool, decisions: Sequence[str] = ()
    ) -> None:
        used = {*classes.columns, *(name for name in job.columns if name is not None)}
        self._passed_on = [name for name in columns if name in used] if job.only else columns
        self._names, self._decisions = classes.names, decisions
        self._file, self._format = job.stream.shown, job.out.format
        self._schema: dict[str, Any] | None = None
        self._prefix = job.out_prefix
        self._adapted = [f"{job.out_prefix}{name}" for name in classes.adapted]
        self._warnings = ["alarm", "fallback"]
        shares = ("prior",) if keyed else ("prior", "low", "high")
        self._shares = [f"{share}_{name}" for share in shares for name in classes.names] if job.wide else []

    def check_names(self) -> None:
        """Check that new columns do not take the name of one that is there."""
        p = self._prefix
        of_rounds = [f"{p}{name}" for name in (*self._warnings, *self._shares)]
        seen = set(self._passed_on)
        decision = [f"{p}decision"] if self._decisions else []
        for name in [*self._adapted, f"{p}label", *decision, f"{p}round", *of_rounds]:
            if name in seen:
                raise FileProblemError(
                    self._file,
                    "the output would have two columns of this name; choose another --out-prefix",
                    column=name,
                )
            seen.add(name)

    def rows(self, adapted: AdaptedPiece) -> Any:
        """The rows of a piece, as a frame."""
        pl = polars()
        piece, p = adapted.source.piece, self._prefix
        frame = piece.frame[self._passed_on]  # not select, which reads names as patterns
        if frame.schema != self._schema:
            self._check_types(frame, piece.row)
        names = pl.Series(f"{p}label", self._names)
        shares = [pl.Series(name, column) for name, column in zip(self._adapted, adapted.proba, strict=True)]
        label = [names.gather(adapted.labels)]
        if adapted.decisions is not None:
            label.append(pl.Series(f"{p}decision", self._decisions).gather(adapted.decisions))
        number = pl.Series(f"{p}round", adapted.numbers())
        return frame.with_columns(*shares, *label, number, *self._by_round(adapted))

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

    def _by_round(self, adapted: AdaptedPiece) -> list[Any]:
        """The columns that are the same for all rows of a round (and key), spread over its rows."""
        pl = polars()
        kinds = {**dict.fromkeys(self._warnings, pl.Boolean), **dict.fromkeys(self._shares, pl.Float64)}
        if not kinds:
            return []
        lines: IntArray = adapted.lines()
        return [
            pl.Series(f"{self._prefix}{name}", adapted.round_table[name], dtype=kind).gather(lines)
            for name, kind in kinds.items()
        ]


def round_table(adapted: AdaptedPiece) -> Any:
    """The lines of a piece's rounds, as a frame."""
    pl = polars()
    columns = {name: values for name, values in adapted.round_table.items() if name != "time" or values[0] is not None}
    return pl.DataFrame(columns, infer_schema_length=None, strict=False)
