"""What a table or a figure of the paper is: which cells it needs, and how they are laid out."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import Cell

if TYPE_CHECKING:
    from baserate_lab.paper.findings import Findings
    from baserate_lab.paper.pages.run import Timeline

Varying = Literal["", "marginal", "batch_size", "train_share", "n_rounds"]


class Artefact(NamedTuple):
    """A table or a figure.

    Attributes
    ----------
    name : str
        As on the command line, such as ``table-uols``.
    title : str
        A line that says what is shown.
    where : str
        Where in the paper it is.
    kind : "table" or "figure"
        A table has one row per method; a figure one line per method.
    metrics : tuple of str
        One table or panel for each.
    columns : tuple of str
        Fields of a record: those that divide a table into columns, or a figure into panels.
    cells : callable
        From a number of seeds to all cells. It may use fewer where one takes very long.
    x : str
        A figure's horizontal axis: ``holdout``, ``variant`` (its number), or ``round``.
    varying : str
        The field of a cell, beyond those that every record has, that tells its cells apart: their variant.
    claims : callable
        From what was found to what the paper says about it.
    timeline : callable
        From what was found to a stream over time, for a figure whose axis is ``round``.
    note : str
        What the reader should know, such as what differs from the published run.
    """

    name: str
    title: str
    where: str
    kind: Literal["table", "figure"]
    metrics: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Callable[[int], list[Cell]]
    x: str = ""
    varying: Varying = ""
    claims: Callable[["Findings"], list[Claim]] = lambda _: []
    timeline: Callable[["Findings"], "Timeline | None"] = lambda _: None
    note: str = ""
