"""Tables out of tidy rows, for the terminal and for a page."""

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]


class Column(NamedTuple):
    """A column: its title, which entry of a row it shows, and how."""

    title: str
    key: str
    show: Callable[[Any], str]

    def cell(self, row: Row) -> str:
        """What a row shows in this column; a dash for what it has not."""
        value = row[self.key]
        return "-" if value is None else self.show(value)


COLUMNS = (
    Column("method", "method", str),
    Column("error %", "error", lambda value: f"{100 * value:.2f}"),
    Column("MSE to true mix", "mse", lambda value: f"{value:.4f}"),
    Column("MSE to batch labels", "mse_to_frequencies", lambda value: f"{value:.4f}"),
    Column("dynamic regret", "dynamic_regret", lambda value: f"{value:.1f}"),
)
"""What is reported of a method on a shift."""


def to_rich(rows: Sequence[Row], columns: Sequence[Column], *, group: str, mark: str) -> Table:
    """A table for the terminal.

    Parameters
    ----------
    rows : sequence of mappings
        Those with the same `group` follow each other.
    columns : sequence of Column
        What to show; the first is text, the others are numbers.
    group : str
        The entry that divides the table into sections.
    mark : str
        The entry that says whether a row is marked; its name is what a marked row says.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column(f"{group} / {columns[0].title}", no_wrap=True)
    for column in columns[1:]:
        table.add_column(column.title, justify="right")
    table.add_column()
    for name, section in itertools.groupby(rows, key=lambda row: row[group]):
        table.add_row(Text(name, "bold"))
        for row in section:
            first, *others = (column.cell(row) for column in columns)
            # As text, because square brackets in a name would be taken for markup.
            cells = (f"  {first}", *others, mark if row[mark] else "")
            table.add_row(*(Text(cell, "bold green" if row[mark] else "") for cell in cells))
        table.add_section()
    return table


def to_html(rows: Sequence[Row], columns: Sequence[Column], *, caption: str, mark: str) -> str:
    """The same for a page; `columns` and `mark` as in `to_rich`."""
    lines = []
    for row in rows:
        first, *others = (escape(column.cell(row)) for column in columns)
        first = re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", first)  # a narrow screen may break LongNames
        tag = f" <em>{escape(mark)}</em>" if row[mark] else ""
        cells = "".join(f"<td>{cell}</td>" for cell in others)
        lines.append(f'<tr{" class=marked" if row[mark] else ""}><th scope="row">{first}{tag}</th>{cells}</tr>')
    return html_frame([escape(column.title) for column in columns], lines, caption=caption)


def html_frame(head: Sequence[str], lines: Sequence[str], *, caption: str) -> str:
    """A table around rows that are elements already; so are the titles, but not the caption."""
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    body = "\n".join(lines)
    top = f"<caption>{escape(caption)}</caption>\n<thead><tr>{titles}</tr></thead>"
    return f"<table>{top}\n<tbody>\n{body}\n</tbody></table>"


def to_markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, text: Collection[int] = (0,)) -> str:
    """A table of cells that are Markdown already; columns that are not `text` are numbers.

    Examples
    --------
    >>> print(to_markdown(["method", "error"], [["Base", "8.60"]]))
    | method | error |
    |---|---:|
    | Base | 8.60 |
    """
    rule = "".join("---|" if i in text else "---:|" for i in range(len(head)))
    return "\n".join([_markdown_line(head), f"|{rule}", *map(_markdown_line, rows)])


_BAR = "|", r"\|"


def _markdown_line(cells: Sequence[str]) -> str:
    # A bar within a cell would end it.
    return f"| {' | '.join(cell.replace(*_BAR) for cell in cells)} |"


def to_latex(head: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, label: str) -> str:
    """A floating table of cells that are LaTeX already, in the style of the package ``booktabs``."""
    body = [f"{' & '.join(row)} \\\\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{{label}}}",
            r"\small",
            rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
            r"\toprule",
            f"{' & '.join(head)} \\\\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )
