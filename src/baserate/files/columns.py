"""The columns of a file: the probabilities of the classes, and the labels that name classes."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from baserate.files.errors import FileProblemError, listed, shortened
from baserate.files.formats import Reader
from baserate.files.source import Source
from baserate.frames import polars, unnamed
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.validation import SUM_TOLERANCE, first_bad_row

_NO_LABEL = ["", "-1", "nan", "NaN", "NA", "null", "None"]  # if no class is called so


class Classes(NamedTuple):
    """The classes of a model.

    Parameters
    ----------
    columns : list of str
        The column of each class's probability.
    names : list of str
        The name of each class: its column without the prefix.
    numbered : bool
        True if labels are numbers of columns, from 0; else they are names.
    """

    columns: list[str]
    names: list[str]
    numbered: bool = False

    def proba(self, frame: Any, file: str, row: int) -> FloatArray:
        """The probabilities of some rows of a file, the first of which is number `row`; checked."""
        chosen = frame[self.columns].cast(polars().Float64)  # not select, which reads names as patterns
        proba = np.ascontiguousarray(chosen.to_numpy(order="c"))
        bad = first_bad_row(proba, SUM_TOLERANCE)
        if bad >= 0:
            self._complain(proba[bad], chosen.row(bad), file, row + bad)
        return proba

    def _complain(self, values: FloatArray, cells: Sequence[Any], file: str, row: int) -> None:
        for place, (value, column) in enumerate(zip(values, self.columns, strict=True)):
            if cells[place] is None:
                what = "is empty; expected a probability. Fill it in, or drop the row"
            elif np.isnan(value):
                what = "is not a number (NaN); drop the row, or fix the model"
            elif np.isinf(value):
                what = "is infinite; drop the row, or fix the model"
            elif value < 0:
                what = f"is negative ({value:.6g}); expected probabilities (the softmax of logits)"
            else:
                continue
            raise FileProblemError(file, what, row=row, column=column)
        columns = f"{shortened(self.columns[0])} to {shortened(self.columns[-1])}"
        raise FileProblemError(
            file,
            f"the probabilities sum to {values.sum():.6g}; expected 1. Normalise them, and check that these are all "
            "classes of the model and nothing else",
            row=row,
            column=columns,
        )

    def labels(self, values: Any, file: str, row: int, *, missing: bool) -> IntArray:
        """Labels of some rows as numbers of columns; -1 where there is none, if labels may be `missing`."""
        pl = polars()
        known = [str(i) for i in range(len(self.names))] if self.numbered else self.names
        text = _as_text(values, known)
        codes = text.replace_strict(known, list(range(len(known))), default=UNLABELLED, return_dtype=pl.Int64)
        codes = codes.fill_null(UNLABELLED).to_numpy()
        absent = (text.is_null() | text.is_in(_NO_LABEL)).to_numpy() if missing else np.zeros(len(text), dtype=bool)
        unknown = (codes == UNLABELLED) & ~absent
        if unknown.any():
            bad = int(unknown.argmax())
            value = text[bad]
            what = "is empty; every row of the holdout needs its label" if value is None else None
            raise FileProblemError(
                file,
                what
                or f"holds the label {shortened(repr(value), 30)}, which is no class; expected "
                + (f"a number from 0 to {len(known) - 1}" if self.numbered else f"one of {listed(known)}"),
                row=row + bad,
                column=values.name,
            )
        return np.asarray(codes, dtype=np.int64)


def find_classes(reader: Reader, file: str, prefix: str, columns: Sequence[str] | None) -> Classes:
    """The probability columns of a holdout: those named, or all that begin with the prefix."""
    chosen = list(columns) if columns else [name for name in reader.columns if prefix and name.startswith(prefix)]
    for name in chosen:
        if name not in reader.columns:
            raise FileProblemError(file, f"there is no such column; it has {listed(reader.columns)}", column=name)
    if len(set(chosen)) < len(chosen):
        raise ValueError("--columns names a column twice; name each once.")
    if len(chosen) < 2:
        found = f"only {chosen[0]}" if chosen else "none"
        raise FileProblemError(
            file,
            f"expected a column of probabilities for each of at least two classes, beginning with {prefix!r}; there is "
            f"{found} of that kind among {listed(reader.columns)}. Give another --prefix, or name them with --columns",
        )
    names = [name.removeprefix(prefix) or name for name in chosen]
    return Classes(chosen, names if len(set(names)) == len(names) else chosen)


def check_stream(reader: Reader, file: str, classes: Classes, prefix: str, others: Sequence[str | None]) -> None:
    """Check that a stream has the columns of the holdout, and those that options name."""
    have = set(reader.columns)
    for name in [*classes.columns, *(other for other in others if other is not None)]:
        if name not in have:
            raise FileProblemError(
                file, f"the column is missing; the file has {listed(reader.columns)}", row=0, column=name
            )
    if prefix and all(name.startswith(prefix) for name in classes.columns):
        for name in reader.columns:
            if name.startswith(prefix) and name not in classes.columns and name not in others:
                raise FileProblemError(
                    file,
                    "looks like a probability, and the holdout has no such column; add the class to the holdout, or "
                    "name the columns with --columns",
                    column=name,
                )


def read_holdout(source: Source, reader: Reader, classes: Classes, label: str) -> tuple[Classes, FloatArray, IntArray]:
    """Read the holdout: the classes, now with whether labels are names or numbers; its probabilities; its labels."""
    if label not in reader.columns:
        raise FileProblemError(
            source.shown,
            f"the column of labels is missing; the file has {listed(reader.columns)}. Name it with --holdout-label",
            column=label,
        )
    chunks = list(reader.chunks(set(classes.columns)))
    proba = np.concatenate([classes.proba(chunk.frame, source.shown, chunk.row) for chunk in chunks])
    values = joined(chunk.frame.get_column(label) for chunk in chunks)
    classes = named_or_numbered(classes, values)
    labels = classes.labels(values, source.shown, 0, missing=False)
    absent = np.flatnonzero(np.bincount(labels, minlength=len(classes.names)) == 0)
    if len(absent):
        raise FileProblemError(
            source.shown,
            f"has no row of the class {listed([classes.names[c] for c in absent])}; the holdout needs every class. Add "
            "rows, or merge the class with another",
            column=label,
        )
    return classes, proba, labels


def joined(parts: Iterable[Any]) -> Any:
    """A column from its parts, of which some may be without any value, and so without a type."""
    found = polars().concat([part.to_frame() for part in parts], how="vertical_relaxed")
    return found.to_series()


def named_or_numbered(classes: Classes, values: Any) -> Classes:
    """The classes, with whether labels such as these, of which some may be missing, are names or numbers."""
    is_name = _as_text(values, classes.names).is_in(classes.names)
    numbers = [str(i) for i in range(len(classes.names))]
    text = _as_text(values, numbers)
    are_numbers = text.filter(~text.is_in(_NO_LABEL)).is_in(numbers).all()
    return classes._replace(numbered=not bool(is_name.all()) and bool(are_numbers))


def _as_text(values: Any, known: Sequence[str]) -> Any:
    """Labels as text; whole numbers that became floats, because some are missing, without their point."""
    pl = polars()
    values = unnamed(values)
    if values.dtype.is_float():
        values = values.cast(pl.Float64).fill_nan(None)
    text = values.cast(pl.String)
    bare = text.str.replace(r"^(-?\d+)\.0+$", "$1")
    return bare.zip_with(~text.is_in(known).fill_null(False), text)
