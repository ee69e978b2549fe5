"""Titles of arXiv papers in 23 categories, in the order of submission: not the sample of the paper's experiment."""

import csv
import lzma
import os
from pathlib import Path

import numpy as np

from baserate.datasets import Dataset
from baserate.protocols import IntArray
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._texts import one_line, pack, unpack

_FILE = "arxiv_titles.tsv.xz"
_COLUMNS = ["created", "primary_category", "arxiv_id", "title"]
_EARLY = 2 / 3  # share of the titles, in time order, that the source is drawn from; the others are the target's
_SOURCE, _TARGET = 40_000, 10_000


def _read(folder: Path) -> Arrays:
    """Read a line per paper: date, category, identifier and title, separated by tabs, in the order of the dates."""
    with lzma.open(folder / _FILE, "rt", encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if (header := next(rows, [])) != _COLUMNS:
            raise ValueError(f"its columns are {', '.join(header)}; expected {', '.join(_COLUMNS)}")
        papers = [(row[0], row[1], one_line(row[3])) for row in rows]
    papers.sort(key=lambda paper: paper[0])  # stable: papers of a day stay as they are
    classes = sorted({category for _, category, _ in papers})
    return {
        **pack("X", (title for _, _, title in papers)),
        "y": np.array([classes.index(category) for _, category, _ in papers], dtype=np.int64),
        "classes": np.array(classes),
    }


RECIPE = DatasetRecipe(
    "arxiv_titles",
    page="https://www.kaggle.com/datasets/Cornell-University/arxiv",
    ways=((Layout((_FILE,), _read, note=" (columns created, primary_category, arxiv_id, title)"), None),),
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: titles of the first two thirds in time as source, of the last third as target; texts.

    At most 40,000 and 10,000 of them, drawn evenly over time and always the same: a target of 1,000 rounds of ten, as
    in the paper.

    Parameters
    ----------
    folder : path, optional
        Folder of ``arxiv_titles.tsv.xz``: a line per paper, in columns that are separated by tabs. Default: the folder
        `arxiv_titles` in the one named by ``BASERATE_DATA``.
    """
    arrays = obtain(RECIPE, folder)
    X, y = unpack(arrays, "X"), arrays["y"]
    early, late = np.split(np.arange(len(y)), [round(_EARLY * len(y))])
    source, target = _evenly(early, _SOURCE), _evenly(late, _TARGET)
    return Dataset(
        X[source],
        y[source],
        X[target],
        y[target],
        class_names=tuple(str(name) for name in arrays["classes"]),
        provenance=(
            f"arXiv (Cornell University): titles of {len(source):,} and {len(target):,} papers, drawn evenly over time "
            "from the first two thirds and the last third of those in the 23 largest primary categories that could be "
            "had whole: other categories than in the paper's experiment. Subjects change their words over the years, "
            "so p(x|y) moves, too."
        ),
        in_time_order=True,
        stand_in_for="arxiv",
    )


def _evenly(rows: IntArray, most: int) -> IntArray:
    """At most so many rows, evenly spaced."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]
