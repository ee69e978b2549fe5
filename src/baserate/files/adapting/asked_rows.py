"""Rows of a file that a person should label (``--ask``): a weighted sample of the whole file, in bounded memory."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from baserate.adapters.regress_and_reweight import LabelWorth
from baserate.files.adapting.job import PROBABILITY, ROW, WHY
from baserate.frames import polars
from baserate.protocols import UNLABELLED, FloatArray, IntArray

_SEED = 20_231  # so that the same file asks for the same rows, in a run that was resumed, too


class AskedRows(NamedTuple):
    """The rows of a file that are worth labelling, so far.

    Each row has the priority ``worth / u`` with u uniform in (0, 1], and the `most` rows with the highest are asked
    for. Given the priority p of the next one, a row is among them with probability ``min(1, worth / p)``. Divided by
    these, sums over the rows that are asked for are unbiased for sums over all rows (priority sampling). One row more
    than are asked for is kept, whatever the length of the file.

    Parameters
    ----------
    most : int
        How many to ask for.
    rows : (m,) array of int
        Their places in the file, from 0, in rising order; m is at most ``most + 1``.
    ids, reasons : list of str
        Their ids, and why they are asked for.
    worth, priorities : (m,) arrays

    References
    ----------
    Duffield, Lund, Thorup, "Priority sampling for estimation of arbitrary subset sums", 2007.
    """

    most: int
    rows: IntArray
    ids: list[str]
    reasons: list[str]
    worth: FloatArray
    priorities: FloatArray

    @classmethod
    def none_yet(cls, most: int) -> "AskedRows":
        """Return those of a file before its first row."""
        return cls(most, np.empty(0, dtype=np.int64), [], [], np.empty(0), np.empty(0))

    def plus(
        self, ids: Sequence[str], labels: IntArray | None, found: LabelWorth, *, row: int, number: int
    ) -> "AskedRows":
        """Take in a round, of which rows without a label may be asked for.

        Parameters
        ----------
        ids : sequence of str
        labels : (n,) array of int or None
        found : LabelWorth
            The worth of its rows.
        row : int
            The place of its first row in the file.
        number : int
            The round's number in the stream, by which random numbers are drawn.
        """
        priorities = found.worth / (1.0 - np.random.default_rng([_SEED, number]).random(len(found.worth)))
        lowest = self.priorities.min() if len(self.priorities) > self.most else 0.0
        new = priorities > lowest
        if labels is not None:
            new &= labels == UNLABELLED
        places = np.flatnonzero(new)
        if len(places) == 0:
            return self
        together = AskedRows(
            self.most,
            np.concatenate([self.rows, row + places]),
            [*self.ids, *(ids[i] for i in places.tolist())],
            [*self.reasons, *(found.reasons[i] for i in places.tolist())],
            np.concatenate([self.worth, found.worth[places]]),
            np.concatenate([self.priorities, priorities[places]]),
        )
        return together._with_highest(self.most + 1)

    def _with_highest(self, n: int) -> "AskedRows":
        """Return the rows with the highest priorities, in the order of the file."""
        if len(self.rows) <= n:
            return self
        kept = np.sort(np.argsort(-self.priorities, kind="stable")[:n])
        return AskedRows(
            self.most,
            self.rows[kept],
            [self.ids[i] for i in kept],
            [self.reasons[i] for i in kept],
            self.worth[kept],
            self.priorities[kept],
        )

    def chosen(self) -> tuple["AskedRows", FloatArray]:
        """Return the rows to ask for, at most `most`, and the probability of each."""
        asked = self._with_highest(self.most)
        next_one = self.priorities.min() if len(self.rows) > self.most else 0.0
        probabilities = np.ones(len(asked.rows)) if next_one == 0.0 else np.minimum(1.0, asked.worth / next_one)
        return asked, probabilities

    def table(self, id_column: str, label_column: str) -> Any:
        """Return the file to fill in, as a frame: rows are counted from 1, and labels are empty."""
        pl = polars()
        asked, probabilities = self.chosen()
        columns = {
            id_column: pl.Series(asked.ids, dtype=pl.String),
            ROW: asked.rows + 1,
            PROBABILITY: probabilities,
            WHY: pl.Series(asked.reasons, dtype=pl.String),
            label_column: pl.Series([None] * len(asked.rows), dtype=pl.String),
        }
        return pl.DataFrame(columns)
