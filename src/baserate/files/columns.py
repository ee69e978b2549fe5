"""The columns of a file: the probabilities of the classes, and the labels that name classes."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from baserate.files.errors import FileProblemError, did_you_mean, listed, shortened
from baserate.files.formats import Chunk, Reader
from baserate.files.positive import positive_class
from baserate.files.scales import (
    LOGITS,
    PROBABILITIES,
    OutputOptions,
    advice_for_row,
    advice_for_score,
    to_probabilities,
    wrong_scale,
)
from baserate.files.source import Source
from baserate.frames import polars, unnamed
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.validation import SUM_TOLERANCE, first_bad_row, warn_user

_MANY = 100  # so many rows are not all between 0 and 1 by chance
_NO_LABEL = ["", "-1", "nan", "NaN", "NA", "N/A", "null", "NULL", "None"]  # if no class is called so


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
    scale : str
        What the columns hold: probabilities, or what `baserate.files.scales` makes them of.
    positive : int, optional
        The class that the one column of a score is about; None: each class has a column.
    """

    columns: list[str]
    names: list[str]
    numbered: bool = False
    scale: str = PROBABILITIES
    positive: int | None = None

    @property
    def adapted(self) -> list[str]:
        """The names of the adapted columns, without their prefix: those of the file, or, of a score, ``p_<class>``."""
        return self.columns if self.positive is None else [f"p_{name}" for name in self.names]

    @property
    def options(self) -> str:
        """The options that say so, as words of the command line; empty for a column of probability each."""
        words = [] if self.positive is None else [f"--score {self.columns[0]} --positive {self.names[self.positive]}"]
        return " ".join(words + ([] if self.scale == PROBABILITIES else [f"--{self.scale}"]))

    def proba(self, frame: Any, file: str, row: int) -> FloatArray:
        """The probabilities of some rows of a file, the first of which is number `row`; checked."""
        chosen = frame[self.columns].cast(polars().Float64)  # not select, which reads names as patterns
        values = np.ascontiguousarray(chosen.to_numpy(order="c"))
        proba = to_probabilities(values, self.scale, self.positive)
        bad = first_bad_row(proba, SUM_TOLERANCE)
        if bad >= 0:
            self._complain(values[bad], chosen.row(bad), file, row + bad)
        if self.scale == LOGITS and len(values) >= _MANY:
            self._check_scale(values, file)
        return proba

    def check_scale(self, chunks: Sequence[Chunk], labels: IntArray, file: str) -> None:
        """Check that values of a whole file are not of another scale, of which no single row can tell."""
        parts = [chunk.frame[self.columns].cast(polars().Float64).to_numpy() for chunk in chunks]
        known = labels[labels != UNLABELLED]
        share = float((known == self.positive).mean()) if len(known) else None
        values = np.concatenate(parts)
        self._check_scale(values, file, share)
        if self.positive is not None and len(values) >= _MANY and np.isin(values, (0.0, 1.0)).all():
            warn_user(
                f"{file}, column {shortened(self.columns[0])}: every score is 0 or 1, like a decision, and says little "
                "that could be corrected. Give the model's probability, such as model.predict_proba(X)[:, 1]."
            )
        elif len(known) >= _MANY and self._tells_all_apart(values[labels != UNLABELLED], known):
            warn_user(
                f"{file}: the model makes no mistake on these {len(known):,} labelled rows. If it was trained on them, "
                "its probabilities there say nothing about other rows: take labelled rows that it has not seen."
            )

    def _tells_all_apart(self, values: FloatArray, labels: IntArray) -> bool:
        """Tell whether the column of every class is higher for each row of the class than for all other rows."""
        told = range(len(self.names)) if self.positive is None else [self.positive]
        own = [(column, labels == c) for column, c in zip(values.T, told, strict=True)]
        return all(here.any() and not here.all() and column[here].min() > column[~here].max() for column, here in own)

    def _check_scale(self, values: FloatArray, file: str, share: float | None = None) -> None:
        what = wrong_scale(values, self.scale, score=self.positive is not None, share=share)
        if what:
            raise FileProblemError(file, what, column=self._shown_columns())

    def _shown_columns(self) -> str:
        first, last = shortened(self.columns[0]), shortened(self.columns[-1])
        return first if len(self.columns) == 1 else f"{first} to {last}"

    def _complain(self, values: FloatArray, cells: Sequence[Any], file: str, row: int) -> None:
        for place, (value, column) in enumerate(zip(values, self.columns, strict=True)):
            if cells[place] is None:
                what = "is empty; expected a probability. Fill it in, or drop the row"
            elif np.isnan(value):
                what = "is not a number (NaN); drop the row, or fix the model"
            elif np.isinf(value):
                what = "is infinite; drop the row, or fix the model"
            elif self.positive is not None:
                what = advice_for_score(value, self.scale)
            elif value < 0 and self.scale != LOGITS:
                what = f"is negative ({value:.6g}); expected probabilities. If these are logits, add --logits"
            else:
                continue
            raise FileProblemError(file, what, row=row, column=column)
        raise FileProblemError(file, advice_for_row(values, self.scale), row=row, column=self._shown_columns())

    def labels(self, values: Any, file: str, row: int) -> IntArray:
        """Labels of some rows as numbers of columns; -1 where there is none."""
        pl = polars()
        known = [str(i) for i in range(len(self.names))] if self.numbered else self.names
        text = _as_text(values, known)
        codes = text.replace_strict(known, list(range(len(known))), default=UNLABELLED, return_dtype=pl.Int64)
        codes = codes.fill_null(UNLABELLED).to_numpy()
        unknown = (codes == UNLABELLED) & ~(text.is_null() | text.is_in(_NO_LABEL)).to_numpy()
        if unknown.any():
            bad = int(unknown.argmax())
            raise FileProblemError(
                file,
                f"holds the label {shortened(repr(text[bad]), 30)}, which is no class; expected "
                + (f"a number from 0 to {len(known) - 1}" if self.numbered else f"one of {listed(known)}"),
                row=row + bad,
                column=values.name,
            )
        return np.asarray(codes, dtype=np.int64)


def find_classes(
    reader: Reader, file: str, prefix: str, columns: Sequence[str] | None, outputs: OutputOptions
) -> Classes:
    """The probability columns of a holdout: those named, or all that begin with the prefix; or the one of a score.

    The two classes of a score get their names later, by the labels (`named_by_labels`).
    """
    if outputs.score is not None:
        if columns:
            raise ValueError("--score and --columns are two ways to name the columns; give one of them.")
        columns = [outputs.score]
    chosen = list(columns) if columns else [name for name in reader.columns if prefix and name.startswith(prefix)]
    for name in chosen:
        if name not in reader.columns:
            raise FileProblemError(file, f"there is no such column; {_has(reader, name)}", column=name)
    if outputs.score is not None:
        return Classes(chosen, [], scale=outputs.scale)
    if len(set(chosen)) < len(chosen):
        raise ValueError("--columns names a column twice; name each once.")
    if len(chosen) < 2:
        found = f"only {chosen[0]}" if chosen else "none"
        score = chosen[0] if chosen else _likely_score(reader.columns)
        other = _likely_prefix([name for name in reader.columns if name not in chosen])
        raise FileProblemError(
            file,
            f"expected a column of probabilities for each of at least two classes, beginning with {prefix!r}; there is "
            f"{found} of that kind among {listed(reader.columns)}. Give another --prefix{other}, or name them with "
            f"--columns; for one column with the score of a model of two classes, add --score {shlex.quote(score)}",
        )
    names = [name.removeprefix(prefix) or name for name in chosen]
    named = Classes(chosen, names if len(set(names)) == len(names) else chosen, scale=outputs.scale)
    if outputs.positive is not None:
        positive_class(named.names, outputs.positive)
    return named


def _likely_prefix(columns: Sequence[str]) -> str:
    """The beginning that most columns share, up to a line, as an example; empty if there is none."""
    found = Counter(f"{name.rpartition('_')[0]}_" for name in columns if "_" in name).most_common(1)
    return f", such as --prefix {shortened(found[0][0])}" if found and found[0][1] > 1 else ""


def _likely_score(columns: Sequence[str]) -> str:
    usual = ("score", "prob", "pred", "risk", "p1", "y_hat")
    return next((name for word in usual for name in columns if word in name.lower()), "COL")


def _has(reader: Reader, name: str) -> str:
    """The columns that a file has, for a message about one that it does not have, and the one that may be meant."""
    joined_up = [other for other in ";|\t" if any(other in column for column in reader.columns)]
    if joined_up and not any(name == column for column in reader.columns):
        shown = "tab" if joined_up[0] == "\t" else f"'{joined_up[0]}'"
        return f"the file has {listed(reader.columns)}. If {shown} separates its columns, add --separator {shown}"
    spaced = [column for column in reader.columns if column != name and column.strip() == name]
    if spaced:
        return f"the file has {spaced[0]!r}, with a space; take the spaces out of its first line"
    if reader.columns[0].startswith("#"):
        return f"its first line is {shortened(reader.columns[0])}, a comment; delete what is above the line of names"
    if any(_is_number(column) for column in reader.columns):
        return f"its first line is {listed(reader.columns)}, which looks like a row. Write a line of names above it"
    return f"the file has {listed(reader.columns)}{did_you_mean(name, reader.columns)}"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d*[.,]\d+(e-?\d+)?", text) is not None


def check_stream(reader: Reader, file: str, classes: Classes, prefix: str, others: Sequence[str | None]) -> None:
    """Check that a stream has the columns of the holdout, and those that options name."""
    have = set(reader.columns)
    for name in [*classes.columns, *(other for other in others if other is not None)]:
        if name not in have:
            raise FileProblemError(file, f"the column is missing; {_has(reader, name)}", row=0, column=name)
    if prefix and classes.positive is None and all(name.startswith(prefix) for name in classes.columns):
        for name in reader.columns:
            if name.startswith(prefix) and name not in classes.columns and name not in others:
                raise FileProblemError(
                    file,
                    "looks like a probability, and the holdout has no such column; add the class to the holdout, or "
                    "name the columns with --columns",
                    column=name,
                )


def read_holdout(
    source: Source, reader: Reader, classes: Classes, label: str, positive: str | None = None
) -> tuple[Classes, FloatArray, IntArray]:
    """Read the holdout: the classes, now with whether labels are names or numbers; its probabilities; its labels."""
    if label not in reader.columns:
        raise FileProblemError(
            source.shown,
            f"the column of labels is missing. Name it with --holdout-label; {_has(reader, label)}",
            column=label,
        )
    chunks = list(reader.chunks(set(classes.columns)))
    values = joined(chunk.frame.get_column(label) for chunk in chunks)
    classes = named_by_labels(classes, values, positive, source.shown)
    proba = np.concatenate([classes.proba(chunk.frame, source.shown, chunk.row) for chunk in chunks])
    labels = classes.labels(values, source.shown, 0)
    classes.check_scale(chunks, labels, source.shown)
    known = labels != UNLABELLED
    if not known.all():
        warn_user(
            f"{source.shown}, column {shortened(label)}: {int((~known).sum()):,} of {len(known):,} rows have no label, "
            "and are left out."
        )
        proba, labels = proba[known], labels[known]
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


def named_by_labels(classes: Classes, values: Any, positive: str | None, file: str) -> Classes:
    """The classes, with what labels such as these, of which some may be missing, say about them.

    That is, whether they are names or numbers; and of a score, the names of the two classes.
    """
    return _named_or_numbered(classes, values) if classes.names else _two_classes(classes, values, positive, file)


def _two_classes(classes: Classes, values: Any, positive: str | None, file: str) -> Classes:
    text = _as_text(values, [])
    every = set(text.drop_nulls().to_list())
    found = every - set(_NO_LABEL)
    if len(found) == 1 and "-1" in every:  # a class as well, as in -1 and 1, for else there would be one class alone
        found.add("-1")
    names = sorted(found, key=lambda name: (float(name), name) if re.fullmatch("-?[0-9]+", name) else (math.inf, name))
    if len(names) != 2:
        raise FileProblemError(
            file,
            f"--score is for two classes, and the labels are {listed(names) or 'all empty'}; expected two values"
            + _advice_for_two(names),
            column=values.name,
        )
    return classes._replace(names=names, positive=positive_class(names, positive))


def _advice_for_two(names: Sequence[str]) -> str:
    alike = {name.strip().lower() for name in names}
    if len(names) < 2:
        return ". Add rows of the other class: both must be there"
    if len(alike) == 2:
        return f". Some differ in capitals or spaces alone: write each class in one way, {' and '.join(sorted(alike))}"
    return (
        ". Leave labels that are not known empty; for more classes, give a column of probabilities each, such as "
        "p_<class>"
    )


def _named_or_numbered(classes: Classes, values: Any) -> Classes:
    as_names = _as_text(values, classes.names)
    is_name = as_names.is_in(classes.names) | as_names.is_in(_NO_LABEL)
    numbers = [str(i) for i in range(len(classes.names))]
    text = _as_text(values, numbers)
    are_numbers = text.filter(~text.is_in(_NO_LABEL)).is_in(numbers).all()
    if is_name.all() or not are_numbers:
        return classes._replace(numbered=False)
    shown = listed([f"{i} is {name}" for i, name in enumerate(classes.names)])
    warn_user(f"labels are numbers, and are taken for the columns in their order: {shown}.")
    return classes._replace(numbered=True)


def _as_text(values: Any, known: Sequence[str]) -> Any:
    """Labels as text; whole numbers that became floats, because some are missing, without their point."""
    pl = polars()
    values = unnamed(values)
    if values.dtype.is_float():
        values = values.cast(pl.Float64).fill_nan(None)
    text = values.cast(pl.String)
    bare = text.str.replace(r"^(-?\d+)\.0+$", "$1")
    return bare.zip_with(~text.is_in(known).fill_null(False), text)
