"""A run of which everything can be counted by hand."""

import pytest

from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.pages.run import Reproduction, ShownArtefact

from .made_up import artefact, record

RECORDS = [
    record("FTH", 5.0, 5.0),
    record("ROGD", (5.375, 0.25), 5.0),  # within the interval
    record("UOGD", 7.0, 5.0),
    record("ATLAS", 1.0, 5.0, seeds=1),  # one seed tells nothing
    record("FTH", 9.0, 5.0, dataset="cifar10"),
    record("FTH", 5.0, 5.0, dataset="crop", stand_in="eurosat"),
    record("ROGD", 50.0, 5.0, dataset="crop", stand_in="eurosat"),
    record("Base", None, 5.0),
    record("Arrows", 5.0, None),
    record("FTH", 5.0, 5.0, metric="minutes"),
    record("FTH", 5.0, 5.0, metric="seconds"),  # not a metric of the artefact
]
GAINS = [
    record("ROGD", (1.0, 0.1), 1.0, metric="gain"),
    record("UOGD", (1.0, 0.0), 3.0, metric="gain"),
    record("ATLAS", 1.0, 1.0, metric="gain", seeds=1),
    record("FTH", 1.0, 1.0, metric="gain", dataset="crop", stand_in="eurosat"),
]
CLAIMS = [Claim("table-a", "a", True, ""), Claim("table-a", "b", False, ""), Claim("table-a", "c", None, "")]


@pytest.fixture
def run():
    return Reproduction(
        "baserate reproduce",
        1.0,
        [ShownArtefact(artefact(metrics=("error", "minutes")), RECORDS, CLAIMS, gains=GAINS)],
        {"cifar10 mlp": "Why."},
    )
