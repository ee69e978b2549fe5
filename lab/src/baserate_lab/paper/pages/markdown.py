"""A run as Markdown, for the documentation."""

import re
from collections.abc import Mapping, Sequence

from baserate_lab.bench.tables import to_markdown
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.pages import names
from baserate_lab.paper.pages.machine import machine, versions
from baserate_lab.paper.pages.records import Claim, Record
from baserate_lab.paper.pages.run import Reproduction, ShownArtefact
from baserate_lab.paper.pages.summary import READING, Summary, summarise, verdict, why
from baserate_lab.paper.pages.table import Entry, blocks

_NONE = "-"


def page(run: Reproduction, figures: Mapping[str, str] | None = None) -> str:
    """The whole run as one document.

    Parameters
    ----------
    run : Reproduction
        The run.
    figures : mapping of str to str, optional
        File of each artefact that was drawn, relative to the document.
    """
    files = figures or {}
    parts = [
        "# The paper's tables and figures, and ours",
        f"Made by `{run.command}` in {names.took(run.seconds, run.in_methods)}.",
        summary(run),
        "## How to read the tables",
        "\n".join(f"- {_term(name)}: {text}" for name, text in READING.items()),
        *(_section(part, files.get(part.artefact.name)) for part in run.artefacts),
    ]
    return "\n\n".join(parts) + "\n"


def summary(run: Reproduction) -> str:
    """Summary of the run: agreement with the paper, differences and their reasons, claims, and machine."""
    found = summarise(run)
    sentences = (found.gains_sentence, found.left_out, found.claims_sentence)
    lines = [" ".join(part for part in (f"**{found.sentence}**", *sentences) if part)]
    if found.datasets:
        lines.append(_counts(run, found))
    if found.claims:
        lines.append(_claims(found.claims, named=True))
    made = ", ".join(f"{name} {number}" for name, number in versions().items())
    lines.append(f"Seeds: {found.seeds_sentence}. Machine: {machine()}. Versions: {made}.")
    return "\n\n".join(lines)


def table(artefact: Artefact, records: Sequence[Record]) -> str:
    """Tables of an artefact, each under its caption."""
    found = []
    for block in blocks(artefact, records):
        rows = [[escaped(method), *map(_cell, cells)] for method, cells in block.rows]
        found.append(f"{escaped(block.caption)}\n\n{to_markdown(['', *map(escaped, block.heads)], rows)}")
    return "\n\n".join(found)


def escaped(text: str) -> str:
    r"""Text with Markdown's special characters escaped.

    Examples
    --------
    >>> print(escaped("a*b_c <d>"))
    a\*b\_c \<d>
    """
    return re.sub(r"([\\`*_\[\]<])", r"\\\1", text)


def _section(part: ShownArtefact, file: str | None) -> str:
    artefact = part.artefact
    lines = [f"## {escaped(artefact.title)}", f"{escaped(artefact.where)}; `{artefact.name}`."]
    lines += [_prose(artefact.note)] if artefact.note else []
    lines += [f"![{escaped(artefact.title)}]({file})"] if file else []
    lines.append(table(artefact, part.records))
    lines += [_claims(part.claims)] if part.claims else []
    return "\n\n".join(lines)


def _counts(run: Reproduction, found: Summary) -> str:
    reasons = why(run, found)
    rows = [
        [
            escaped(names.problem(name)),
            f"{agree}",
            f"{compared}",
            f"{too_wide}",
            f"{found.gains[name].agree} of {found.gains[name].compared}" if name in found.gains else _NONE,
            _prose(reasons.get(name, "")),
        ]
        for name, (agree, compared, too_wide) in found.datasets.items()
    ]
    heads = ["data set", "agree", "compared", "too wide to tell", "gains that agree", "why the others do not"]
    return to_markdown(heads, rows, text=(0, 5))


def _claims(claims: Sequence[Claim], *, named: bool = False) -> str:
    return "\n".join(
        f"- **{verdict(claim)}**: "
        + (f"`{claim.artefact}`, " if named else "")
        + f"{_prose(claim.text)}"
        + (f" ({_prose(claim.evidence)})" if claim.evidence else "")
        for claim in claims
    )


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return _NONE
    ours = f"**{entry.ours}**" if entry.best else entry.ours
    return " ".join(part for part in (ours, entry.paper, escaped(entry.mark)) if part)


def _prose(text: str) -> str:
    """Text with special characters escaped, except backticks, which mark code."""
    return "".join(part if part.startswith("`") else escaped(part) for part in re.split(r"(`[^`]+`)", text))


def _term(name: str) -> str:
    return f"**{name}**" if name == "bold" else escaped(name)
