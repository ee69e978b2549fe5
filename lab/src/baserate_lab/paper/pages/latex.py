"""A run as LaTeX, for a paper; it asks for the package ``booktabs`` alone."""

import re
from collections.abc import Sequence

from baserate_lab.bench.tables import to_latex
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.pages import names
from baserate_lab.paper.pages.records import Record
from baserate_lab.paper.pages.run import Run
from baserate_lab.paper.pages.summary import summarise, verdict, why
from baserate_lab.paper.pages.table import Entry, blocks

_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    '"': "''",
    "`": "{`}",
    "--": "-{}-",
    "±": r"$\pm$",
    "\u2013": "--",
    "“": "``",
    "”": "''",
    "\u00d7": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    # A line break followed by a bracket takes it for a length.
    "[": "{[}",
    "]": "{]}",
    # Only in mathematics, where a star is raised as wanted.
    "*": r"$\ast$",
} | {sign: rf"\{sign}" for sign in "&%$#_{}"}


def document(run: Run) -> str:
    """The whole run as one document: the summary, and all tables."""
    found = summarise(run)
    lines = [r"\section*{Summary}", escaped(" ".join([found.sentence, found.left_out, found.claims_sentence]).strip())]
    reasons = why(run, found)
    if reasons:
        told = [rf"\item {escaped(names.dataset(name))}: {_prose(reason)}" for name, reason in reasons.items()]
        lines += ["", "Where numbers do not agree:", r"\begin{itemize}", *told, r"\end{itemize}"]
    lines += ["", rf"Made by \texttt{{{escaped(run.command)}}} in {names.took(run.seconds, run.in_methods)}."]
    for artefact, records, claims, _ in run.artefacts:
        # Pages end here, because LaTeX can hold back only so many tables.
        lines += ["", r"\clearpage", rf"\section*{{{escaped(artefact.title)}}}"]
        lines += [_prose(" ".join(part for part in (f"{artefact.where}.", artefact.note) if part))]
        if claims:
            told = [rf"\item \emph{{{verdict(claim)}:}} {_prose(claim.text)}" for claim in claims]
            lines += [r"\begin{itemize}", *told, r"\end{itemize}"]
        lines += ["", table(artefact, records)]
    top = [r"\documentclass{article}", r"\usepackage[T1]{fontenc}", r"\usepackage{booktabs}", r"\begin{document}"]
    return "\n".join([*top, *lines, r"\end{document}", ""])


def table(artefact: Artefact, records: Sequence[Record]) -> str:
    """The tables of an artefact; the document that takes them in needs the package ``booktabs``."""
    found = []
    for i, block in enumerate(blocks(artefact, records), start=1):
        head = ["", *map(escaped, block.heads)]
        rows = [row for method, cells in block.rows for row in _rows(method, cells)]
        caption = escaped(f"{artefact.title}. {block.caption}.")
        found.append(to_latex(head, rows, caption=caption, label=f"tab:{artefact.name}-{i}"))
    return "\n\n".join(found)


def escaped(text: str) -> str:
    r"""Text whose signs mean themselves.

    Examples
    --------
    >>> print(escaped("5 % of a_b"))
    5 \% of a\_b
    """
    return re.sub("|".join(map(re.escape, _SIGNS)), lambda sign: _SIGNS[sign[0]], text)


def _prose(text: str) -> str:
    """Text whose signs mean themselves but for backticks, which set code."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(rf"\texttt{{{escaped(part)}}}" if i % 2 else escaped(part) for i, part in enumerate(parts))


def _rows(method: str, cells: Sequence[Entry | None]) -> list[list[str]]:
    """A method's numbers, and the paper's in a line below: beside each other they would leave the page."""
    printed = ["" if entry is None else escaped(entry.paper) for entry in cells]
    return [[escaped(method), *map(_cell, cells)], *([["", *printed]] if any(printed) else [])]


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "--"
    # Bold does not reach into mathematics; the plus-minus sign stays as it is.
    ours = rf"\textbf{{{escaped(entry.ours)}}}" if entry.best else escaped(entry.ours)
    # The mark takes no room, so that the numbers stand in line.
    return ours + (rf"\rlap{{$^{{{entry.mark}}}$}}" if entry.mark else "")
