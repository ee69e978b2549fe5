"""arXiv: titles and abstracts of papers in 23 subjects, in the order of submission: thirty years of real drift."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._dates import seconds
from baserate_lab.datasets._fetch import DataNotFoundError, DatasetRecipe, Layout, named_folder, obtain
from baserate_lab.datasets._packages import PipPackage
from baserate_lab.datasets._texts import one_line, pack, unpack

_N_CLASSES = 23
_ENOUGH = 220_000  # as in the paper's experiment; the whole file has millions
_BY_TIME, _AT_RANDOM = 2 / 3, 0.9  # share of the source; the latter is the paper's
_PAGE = "https://www.kaggle.com/datasets/Cornell-University/arxiv"


def _papers(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _subject(paper: dict[str, Any]) -> str:
    """Primary subject: the first category. Astrophysics was split in 2009, so its parts count as one subject."""
    first = str(paper["categories"]).split()[0]
    return "astro-ph" if first.startswith("astro-ph.") else first


def _submitted(paper: dict[str, Any]) -> int:
    time = seconds(paper["versions"][0]["created"])
    if time is None:
        raise ValueError(f"paper {paper['id']} has no date")
    return time


def _read(name: str, folder: Path) -> Arrays:
    """Read papers of the 23 largest subjects in the order of submission; reads the file twice to save memory."""
    index = [(_submitted(paper), str(paper["id"]), _subject(paper)) for paper in _papers(folder / name)]
    counted = Counter(subject for _, _, subject in index)
    classes = sorted(sorted(counted, key=lambda subject: (-counted[subject], subject))[:_N_CLASSES])
    wanted = sorted(paper for paper in index if paper[2] in classes)
    if len(wanted) > _ENOUGH:
        chosen = np.random.default_rng(0).choice(len(wanted), size=_ENOUGH, replace=False)
        wanted = [wanted[i] for i in np.sort(chosen)]
    texts = dict.fromkeys((identifier for _, identifier, _ in wanted), "")
    for paper in _papers(folder / name):
        if paper["id"] in texts:
            texts[paper["id"]] = one_line(f"{paper['title']}. {paper['abstract']}")
    return {
        **pack("X", texts.values()),
        "y": np.array([classes.index(subject) for _, _, subject in wanted], dtype=np.int64),
        "time": np.array([time for time, _, _ in wanted], dtype=np.int64),
        "classes": np.array(classes),
    }


def _layout(name: str) -> Layout:
    return Layout((name,), partial(_read, name))


WHOLE = DatasetRecipe("arxiv", page=_PAGE, ways=((_layout("arxiv-metadata-oai-snapshot.json"), None),))
SAMPLE = DatasetRecipe(
    "arxiv-sample",
    page=_PAGE,
    ways=(
        (
            _layout("data-sample.jsonl"),
            PipPackage(
                "papers-without-code",
                "0.3.0",
                sha256="e70ab7ba97aabd58f86fade67b73202516daf63065fb520d142b77515dd18e8f",
            ),
        ),
    ),
    sha256="2a4b4d5c1ac5de3d1600d3ad48f566f4894141ea5ed8a84538261cf1ed55f15f",
)


def load(folder: str | os.PathLike[str] | None = None, *, by_time: bool = True) -> Dataset:
    """Load the data: earlier papers as source, later ones as target in the order of submission; texts.

    Parameters
    ----------
    folder : path, optional
        Folder of the whole metadata file of arXiv (``arxiv-metadata-oai-snapshot.json``, from Kaggle), from which
        always the same 220,000 papers are drawn; or of the sample of 1 % of it (``data-sample.jsonl``). Default: that
        sample, 13,444 papers, fetched once and cached.
    by_time : bool, default True
        False: split at random, nine to one and always the same, for simulated shifts. Source and target then have the
        same p(x|y).
    """
    folder = named_folder(WHOLE, folder)
    try:
        arrays, what = obtain(WHOLE, folder), "220,000 papers of the metadata file of arXiv"
    except DataNotFoundError as missing:
        try:
            arrays, what = obtain(SAMPLE, folder), "a sample of 1 % of the metadata file of arXiv (2022)"
        except DataNotFoundError as error:
            error.add_note(f"Or, for the whole of it: {missing}")
            raise
    X, y = unpack(arrays, "X"), arrays["y"]
    order = np.arange(len(y)) if by_time else np.random.default_rng(0).permutation(len(y))
    source, target = np.split(order, [round(len(y) * (_BY_TIME if by_time else _AT_RANDOM))])
    split = "earlier ones as source, later ones as target" if by_time else "split at random"
    return Dataset(
        X[source],
        y[source],
        X[target],
        y[target],
        class_names=tuple(str(name) for name in arrays["classes"]),
        provenance=(
            f"arXiv (Cornell University): title and abstract, {what}, the 23 largest primary subjects, {split}."
            + (" Subjects change their words over the years, so p(x|y) moves, too." if by_time else "")
        ),
        in_time_order=by_time,
    )
