"""Description of a table or figure of the paper: the cells it needs, and their layout."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell

if TYPE_CHECKING:
    from baserate_lab.paper.findings import Findings
    from baserate_lab.paper.pages.run import Timeline

Varying = Literal["", "marginal", "batch_size", "train_share", "n_rounds"]


class Artefact(NamedTuple):
    """A table or figure of the paper.

    Attributes
    ----------
    name : str
        Name on the command line, such as ``table-uols``.
    title : str
        One line that says what is shown.
    where : str
        Place in the paper.
    kind : "table" or "figure"
        A table has one row per method; a figure one line per method.
    metrics : tuple of str
        Metrics shown, each in its own table or panel.
    columns : tuple of str
        Fields of a record that divide a table into columns, or a figure into panels.
    cells : callable
        Returns all cells for a number of seeds; may use fewer seeds if a cell takes very long.
    x : str
        Horizontal axis of a figure: ``holdout``, ``variant`` (its number), or ``round``.
    varying : str
        Field of a cell that tells its variants apart, if the fields of a record do not.
    claims : callable
        Returns the paper's claims, checked against the findings.
    timeline : callable
        Returns a stream over time, for a figure whose axis is ``round``.
    beside : tuple of str
        Further tables of the paper whose printed numbers stand beside ours.
    note : str
        Remarks for the reader, such as differences from the published run.
    """

    name: str
    title: str
    where: str
    kind: Literal["table", "figure"]
    metrics: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Callable[[int], list[PaperCell]]
    x: str = ""
    varying: Varying = ""
    claims: Callable[["Findings"], list[Claim]] = lambda _: []
    timeline: Callable[["Findings"], "Timeline | None"] = lambda _: None
    beside: tuple[str, ...] = ()
    note: str = ""
