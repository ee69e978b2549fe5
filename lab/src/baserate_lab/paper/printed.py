"""All numbers in the paper's tables, for comparison with ours.

They are from Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023. Tables
are numbered in the order in which they appear; ``where`` names the table and the part of it. The figures print no
numbers, and a dash in a table gives no row.

The numbers and their digits are as printed. These labels are changed, and ``where`` gives the printed ones:

- Table 10 has a row FTFWH with the numbers of FTH: on Ber and Sin they are those of FTH in Table 8, not of FTFWH. It is
  FTH here. RW-FLH-FTL in that table is FLH-FTL, as the text says.
- Table 5 has columns "CT-RS w FLH" and "CT-RS w FLT-FTL", which in Table 3 are FTH and FLH-FTL. They are so here.
- Table 6 does not name the tracker of CT-RS; it is taken to be FLH-FTL.

The captions of Tables 2, 5 and 6 name no shift. For the last two the text says Ber; for Table 2, the random forest, it
does not, and Ber is our reading.
"""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

_GROWTHS = ("time", "memory")


class Printed(NamedTuple):
    """One number of a table in the paper.

    Attributes
    ----------
    artefact : str
        Name of the table, such as ``table-uols``.
    where : str
        Place in the paper, and the printed label if it differs from ``method``.
    dataset : str
        ``synthetic``, ``mnist``, ``cifar10``, ``eurosat``, ``fashion`` or ``arxiv``; empty for complexities.
    shift : str
        ``mon``, ``squ``, ``sin`` or ``ber``; empty for complexities.
    variant : str
        A setting such as ``marginal=BBSE``; mostly empty.
    method : str
        Label as in the paper.
    metric : str
        ``error`` (percent), ``mse``, ``minutes``, or the growth of ``time`` or ``memory`` with the number of rounds T.
    mean, std : float or None
        The number and its standard deviation; None for a growth.
    mean_text, std_text : str
        The same as printed, since the digits show the precision. A growth such as ``T log T`` has no deviation.
    bold : bool
        True if printed in bold.
    """

    artefact: str
    where: str
    dataset: str
    shift: str
    variant: str
    method: str
    metric: str
    mean: float | None
    std: float | None
    mean_text: str
    std_text: str
    bold: bool


def _number(text: str, metric: str) -> float | None:
    # A growth is never a number, not even the constant one, "1".
    return None if metric in _GROWTHS else float(text)


@cache
def load() -> tuple[Printed, ...]:
    """Load all numbers, table by table and row by row.

    Examples
    --------
    >>> len(load())
    693
    """
    with Path(__file__).with_name("printed.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(
            Printed(
                artefact=row["artefact"],
                where=row["where"],
                dataset=row["dataset"],
                shift=row["shift"],
                variant=row["variant"],
                method=row["method"],
                metric=row["metric"],
                mean=_number(row["mean"], row["metric"]),
                std=_number(row["std"], row["metric"]),
                mean_text=row["mean"],
                std_text=row["std"],
                bold=row["bold"] == "1",
            )
            for row in csv.DictReader(lines)
        )


@cache
def _by_key() -> dict[tuple[str, ...], Printed]:
    return {(p.artefact, p.dataset, p.shift, p.variant, p.method, p.metric): p for p in load()}


def find(artefact: str, *, dataset: str, shift: str, variant: str, method: str, metric: str) -> Printed | None:
    """Number of one cell, or None if the paper prints none.

    Examples
    --------
    >>> cell = find("table-uols", dataset="mnist", shift="ber", variant="", method="FLH-FTL", metric="error")
    >>> cell.mean_text, cell.std_text, cell.bold
    ('4.4', '0.7', True)
    """
    return _by_key().get((artefact, dataset, shift, variant, method, metric))
