"""Tables of results as Markdown and LaTeX."""

from collections.abc import Collection, Sequence


def to_markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, text: Collection[int] = (0,)) -> str:
    """A Markdown table of cells in Markdown. Columns not listed in `text` are numbers, aligned to the right.

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
    # A vertical bar inside a cell would end the cell.
    return f"| {' | '.join(cell.replace(*_BAR) for cell in cells)} |"


def to_latex(head: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, label: str) -> str:
    """A LaTeX table environment of cells in LaTeX, in the style of the package ``booktabs``."""
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
