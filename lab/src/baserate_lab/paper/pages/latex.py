"""A run as LaTeX, for a paper; it needs only the package ``booktabs``."""

import re
from collections.abc import Sequence

from baserate_lab.bench.tables import to_latex
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.pages import names
from baserate_lab.paper.pages.records import Record
from baserate_lab.paper.pages.run import Reproduction
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
    # After a line break LaTeX reads a bracket as a length.
    "[": "{[}",
    "]": "{]}",
    # In math mode, where a star is raised.
    "*": r"$\ast$",
} | {sign: rf"\{sign}" for sign in "&%$#_{}"}


def document(run: Reproduction) -> str:
    """The whole run as one document: the summary and all tables."""
    found = summarise(run)
    sentences = (found.sentence, found.gains_sentence, found.left_out, found.claims_sentence)
    lines = [r"\section*{Summary}", escaped(" ".join(part for part in sentences if part))]
    reasons = why(run, found)
    if reasons:
        told = [rf"\item {escaped(names.dataset(name))}: {_prose(reason)}" for name, reason in reasons.items()]
        lines += ["", "Where numbers do not agree:", r"\begin{itemize}", *told, r"\end{itemize}"]
    lines += ["", rf"Made by \texttt{{{escaped(run.command)}}} in {names.took(run.seconds, run.in_methods)}."]
    for artefact, records, claims, *_ in run.artefacts:
        # A page break, because LaTeX can defer only a few tables.
        lines += ["", r"\clearpage", rf"\section*{{{escaped(artefact.title)}}}"]
        lines += [_prose(" ".join(part for part in (f"{artefact.where}.", artefact.note) if part))]
        if claims:
            told = [rf"\item \emph{{{verdict(claim)}:}} {_prose(claim.text)}" for claim in claims]
            lines += [r"\begin{itemize}", *told, r"\end{itemize}"]
        lines += ["", table(artefact, records)]
    top = [r"\documentclass{article}", r"\usepackage[T1]{fontenc}", r"\usepackage{booktabs}", r"\begin{document}"]
    return "\n".join([*top, *lines, r"\end{document}", ""])


def table(artefact: Artefact, records: Sequence[Record]) -> str:
    """Tables of an artefact; the document that includes them needs the package ``booktabs``."""
    found = []
    for i, block in enumerate(blocks(artefact, records), start=1):
        head = ["", *map(escaped, block.heads)]
        rows = [row for method, cells in block.rows for row in _rows(method, cells)]
        caption = escaped(f"{artefact.title}. {block.caption}.")
        found.append(to_latex(head, rows, caption=caption, label=f"tab:{artefact.name}-{i}"))
    return "\n\n".join(found)


def escaped(text: str) -> str:
    r"""Text with LaTeX's special characters escaped.

    Examples
    --------
    >>> print(escaped("5 % of a_b"))
    5 \% of a\_b
    """
    return re.sub("|".join(map(re.escape, _SIGNS)), lambda sign: _SIGNS[sign[0]], text)


def _prose(text: str) -> str:
    """Text with special characters escaped, except backticks, which mark code."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(rf"\texttt{{{escaped(part)}}}" if i % 2 else escaped(part) for i, part in enumerate(parts))


def _rows(method: str, cells: Sequence[Entry | None]) -> list[list[str]]:
    """A method's numbers, and the paper's in a row below, as both in one row would be too wide for a page."""
    printed = ["" if entry is None else escaped(entry.paper) for entry in cells]
    return [[escaped(method), *map(_cell, cells)], *([["", *printed]] if any(printed) else [])]


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "--"
    # Bold has no effect in math mode; the plus-minus sign stays as it is.
    ours = rf"\textbf{{{escaped(entry.ours)}}}" if entry.best else escaped(entry.ours)
    # The mark has no width, so that the numbers are aligned.
    return ours + (rf"\rlap{{$^{{{entry.mark}}}$}}" if entry.mark else "")
