"""Tables out of tidy rows, for the terminal and for a page."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from baserate.files.errors import printable

Row = Mapping[str, Any]


class Column(NamedTuple):
    """A column: its title, which entry of a row it shows, and how."""

    title: str
    key: str
    show: Callable[[Any], str]

    def cell(self, row: Row) -> str:
        """The text of a row in this column; a dash for None."""
        value = row[self.key]
        return "-" if value is None else self.show(value)


def to_rich(
    rows: Sequence[Row], columns: Sequence[Column], *, group: str = "", mark: str = "", beside: bool = False
) -> Table:
    """A table for the terminal.

    Parameters
    ----------
    rows : sequence of mappings
        Those with the same `group` follow each other.
    columns : sequence of Column
        The columns to show; the first is text, the others are numbers.
    group : str
        The entry that divides the table into sections. Default: it is one section.
    mark : str
        The entry that says whether a row is marked; its name is what a marked row says. Default: none is.
    beside : bool
        Say it beside the first cell, to save a column.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column(f"{group} / {columns[0].title}" if group else columns[0].title, no_wrap=True)
    for column in columns[1:]:
        table.add_column(column.title, justify="right")
    if not beside:
        table.add_column()
    for name, section in itertools.groupby(rows, key=lambda row: row[group] if group else ""):
        if group:
            table.add_row(Text(printable(name), "bold"))
        for row in section:
            first, *others = (column.cell(row) for column in columns)
            said = mark if mark and row[mark] else ""
            # As text, because square brackets in a name would be taken for markup.
            first = f"{'  ' if group else ''}{first}{f' ({said})' if said and beside else ''}"
            cells = (first, *others, *([] if beside else [said]))
            table.add_row(*(Text(printable(cell), "bold green" if said else "") for cell in cells))
        table.add_section()
    return table


def to_html(rows: Sequence[Row], columns: Sequence[Column], *, caption: str, mark: str = "") -> str:
    """The same for a page; `columns` and `mark` as in `to_rich`."""
    lines = []
    for row in rows:
        first, *others = (escape(column.cell(row)) for column in columns)
        first = re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", first)  # a narrow screen may break LongNames
        marked = bool(mark and row[mark])
        tag = f" <em>{escape(mark)}</em>" if marked else ""
        cells = "".join(f"<td>{cell}</td>" for cell in others)
        lines.append(f'<tr{" class=marked" if marked else ""}><th scope="row">{first}{tag}</th>{cells}</tr>')
    return html_frame([escape(column.title) for column in columns], lines, caption=caption)


def html_frame(head: Sequence[str], lines: Sequence[str], *, caption: str) -> str:
    """A table around rows that are elements already; so are the titles, but not the caption."""
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    body = "\n".join(lines)
    top = f"<caption>{escape(caption)}</caption>\n<thead><tr>{titles}</tr></thead>"
    return f"<table>{top}\n<tbody>\n{body}\n</tbody></table>"


def html_row(name: str, cells: Sequence[str], *, drawn: str | None = None) -> str:
    """A row for `html_frame`: a name, and numbers in words.

    The name is text, the others are elements already. A small picture comes between the name and the numbers; the title
    over it is empty, and a phone shows neither.
    """
    picture = "" if drawn is None else f'<td class="drawn">{drawn}</td>'
    numbers = "".join(f"<td>{cell.replace(' %', '&nbsp;%')}</td>" for cell in cells)
    return f'<tr><th scope="row">{escape(name)}</th>{picture}{numbers}</tr>'
