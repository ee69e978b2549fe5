"""Files of a run: a report, the tables in three formats, the figures in two."""

import os
from pathlib import Path

from baserate.state import write_atomically
from baserate_lab.paper.pages import figures, latex, markdown, report
from baserate_lab.paper.pages.run import Reproduction

REPORT = "report.html"


def write(run: Reproduction, folder: str | os.PathLike[str]) -> None:
    """Write everything into a folder, which is created if it does not exist.

    Parameters
    ----------
    run : Reproduction
        The run.
    folder : path
        Gets ``report.html``, ``tables.md``, ``tables.tex``, and each figure as SVG and PNG.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for part in run.artefacts:
        if part.artefact.kind == "figure" and any(record.seeds for record in part.records):
            name = part.artefact.name
            drawn[name] = f"{name}.svg"
            for ending in ("svg", "png"):
                figures.save(part, place / f"{name}.{ending}")
    report.write(run, place / REPORT)
    write_atomically(place / "tables.md", markdown.page(run, drawn).encode())
    write_atomically(place / "tables.tex", latex.document(run).encode())
