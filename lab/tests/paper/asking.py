"""Asks the claims of an artefact about results that are made up."""

from baserate_lab.paper import printed
from baserate_lab.paper.artefacts import ARTEFACTS
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.runs.cells import PaperResult

SEEDS = 3


def result(error=None, mse=None, **more):
    return PaperResult(error, mse, **{"mse_true": None, "seconds": 1.0} | more)


def findings(name, give, seeds=SEEDS):
    """Findings of an artefact, its cells given results by a function; those that it gives None were not run."""
    cells = ARTEFACTS[name].cells(seeds)
    return Findings(ARTEFACTS[name], cells, {cell: made for cell in cells if (made := give(cell)) is not None})


def claims(name, give, seeds=SEEDS):
    found = ARTEFACTS[name].claims(findings(name, give, seeds))
    assert {claim.artefact for claim in found} == {name}
    return found


def holds(name, give, seeds=SEEDS):
    return [claim.holds for claim in claims(name, give, seeds)]


def said(cell, metric="error", name="table-uols"):
    return printed.find(name, dataset=cell.dataset, shift=cell.shift, variant="", method=cell.method, metric=metric)
