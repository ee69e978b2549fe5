"""Terminal output of a run."""

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.pages import names
from baserate_lab.paper.pages.records import Claim, Record
from baserate_lab.paper.pages.run import Reproduction
from baserate_lab.paper.pages.summary import summarise, verdict, why
from baserate_lab.paper.pages.table import Entry, TableBlock, blocks

_LEGEND = (
    "Ours, and below in brackets the paper's. ** does not agree; * our runs vary too much to tell, which does not "
    "count as agreeing; stand-ins are never marked."
)
_SPACE = "\u00a0"  # not trimmed
_COLOURS = {True: "green", False: "red", None: "yellow"}


def show(console: Console, run: Reproduction) -> None:
    """Print every table, the claims of each artefact, and the summary last."""
    for artefact, records, claims, *_ in run.artefacts:
        console.print()
        console.rule(Text(artefact.name, "bold"), align="left")
        console.print(Text(f"{artefact.where}: {artefact.title}."))
        if artefact.note:
            console.print(Text(artefact.note, "dim"))
        for table in tables(artefact, records):
            console.print()
            console.print(table)
        if claims:
            console.print()
            _show_claims(console, claims)
    if run.artefacts:
        console.print(Text(f"\n{_LEGEND}", "dim"))
    show_summary(console, run)


def tables(artefact: Artefact, records: Sequence[Record]) -> list[RenderableType]:
    """Tables of an artefact; each fits into 80 characters unless names are long."""
    return [_table(block) for block in blocks(artefact, records)]


def show_summary(console: Console, run: Reproduction) -> None:
    """Print how far the run agrees with the paper, where it does not, and why."""
    found = summarise(run)
    console.print()
    console.rule(Text("Summary", "bold"), align="left")
    console.print(Text(found.sentence, "bold"))
    for line in (found.gains_sentence, found.left_out, found.claims_sentence):
        if line:
            console.print(Text(line))
    reasons = why(run, found)
    if found.datasets:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
        table.add_column("data set", no_wrap=True)
        table.add_column("agree", justify="right", no_wrap=True)
        table.add_column("gains", justify="right", no_wrap=True)
        table.add_column("why the others do not")
        for name, (agree, compared, _) in found.datasets.items():
            colour = "green" if agree == compared else "yellow"
            counts = Text(f"{agree} of {compared}", colour)
            gains = found.gains.get(name)
            said = Text(f"{gains.agree} of {gains.compared}" if gains else "-")
            table.add_row(Text(names.problem(name)), counts, said, Text(reasons.get(name, "")))
        console.print()
        console.print(table)
    console.print(Text(f"\n{names.took(run.seconds, run.in_methods)}, seeds: {found.seeds_sentence}."))


def _table(block: TableBlock) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("")
    for head in block.heads:
        # As Text, because square brackets would be read as markup.
        table.add_column(Text(head), justify="right")
    # Room for the stars, so that the numbers are aligned.
    room = max(len(cell.mark) if cell else 0 for _, cells in block.rows for cell in cells)
    for method, cells in block.rows:
        table.add_row(Text(method), *(_cell(cell, room) for cell in cells))
    # Not the table's own title, which would be wrapped to the width of the table.
    return Group(Text(block.caption, "bold"), table)


def _cell(entry: Entry | None, room: int) -> Text:
    if entry is None:
        return Text("-" + _SPACE * room, "dim")
    text = Text(entry.ours, "bold green" if entry.best else "")
    text.append(entry.mark.ljust(room, _SPACE), "red" if entry.mark == "**" else "yellow")
    if entry.paper:
        text.append(f"\n{entry.paper}{_SPACE * room}", "not bold dim")
    return text


def _show_claims(console: Console, claims: Sequence[Claim]) -> None:
    for claim in claims:
        line = Text(f"{verdict(claim)}: ", f"bold {_COLOURS[claim.holds]}")
        line.append(claim.text, "not bold default")
        line.append(f" ({claim.evidence})" if claim.evidence else "", "not bold dim")
        console.print(line)
