"""Charts of records and timelines, for files and pages."""

import os
from collections.abc import Sequence

import numpy as np

from baserate.reports import figures
from baserate.reports.figures import AreaStyle, Chart, Line, LineStyle
from baserate_lab.bench.figures import save_charts
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.pages import names
from baserate_lab.paper.pages.records import Record
from baserate_lab.paper.pages.run import ShownArtefact, Timeline, fields_of
from baserate_lab.paper.pages.table import settings

_REFERENCES = {
    "Base": LineStyle("truth", ()),
    "OFC": LineStyle("ink", (6.0, 2.0)),
    "Oracle": LineStyle("ink", (1.0, 1.5)),
}


def styles(methods: Sequence[str]) -> dict[str, LineStyle]:
    """Style of each method; the paper's methods have the same style in every figure."""
    # FLH-FTL comes first, so that it does not share a colour with its main rivals if colours repeat.
    adaptive = dict.fromkeys(["FLH-FTL", *names.METHODS, *methods])
    drawn = figures.line_styles([name for name in adaptive if name not in _REFERENCES]) | _REFERENCES
    return {name: drawn[name] for name in names.in_order(methods)}


def charts(artefact: Artefact, records: Sequence[Record]) -> list[Chart]:
    """One panel per metric and combination of the artefact's columns, with one line per method.

    A method without a place on the axis is a level line, such as one that needs no holdout on an axis of holdout sizes.
    """
    mine = [r for r in records if r.metric in artefact.metrics and (r.ours_mean, r.paper_mean) != (None, None)]
    fields = tuple(field for field in fields_of(artefact, mine) if field != artefact.x)
    found = []
    for metric in artefact.metrics:
        of_metric = [record for record in mine if record.metric == metric]
        for title, members in settings(of_metric, fields):
            places = sorted({place for record in members if (place := _place(record, artefact.x)) is not None})
            if not places:
                continue
            by_method = {name: [r for r in members if r.method == name] for name in _methods(members)}
            lines = {name: _line(group, artefact.x, places) for name, group in by_method.items()}
            found.append(
                Chart(
                    ": ".join(part for part in (title, names.metric(metric)) if part),
                    _axis(artefact.x, members),
                    {name: line for name, line in lines.items() if len(line.x)},
                    dots={name: dots for name, group in by_method.items() if len((dots := _dots(group, artefact.x)).x)},
                    ticks=places[:: -(-len(places) // 8)],
                    log_x=artefact.x == "holdout" or members[0].variant.startswith("batch="),
                )
            )
    return found


def timeline(data: Timeline) -> list[Chart]:
    """Charts over time: accuracy, squared distance of the tracked mix, and label frequencies."""
    marginals = np.asarray(data.marginals, dtype=np.float64)

    def over_time(values: Sequence[float]) -> Line:
        # A block is drawn at its centre.
        return Line([data.block * (i + 0.5) for i in range(len(values))], list(values))

    methods = names.in_order(data.curves)
    accuracy = {name: over_time([100.0 - error for error in data.curves[name][0]]) for name in methods}
    distance = {name: over_time(values) for name in methods if (values := data.curves[name][1]) is not None}
    shares = {name: over_time(marginals[:, j].tolist()) for j, name in enumerate(data.classes)}
    return [
        Chart("Accuracy %", "round", accuracy, flush=True),
        Chart("MSE of the class mix", "round", distance, flush=True),
        Chart("Labels in the stream", "round", shares, flush=True, stacked=True),
    ]


def drawn(part: ShownArtefact) -> tuple[list[Chart], dict[str, LineStyle | AreaStyle]]:
    """Charts of an artefact and the styles of all lines and areas; no charts if it is a table."""
    panels = charts(part.artefact, part.records) if part.artefact.kind == "figure" else []
    panels += timeline(part.timeline) if part.timeline is not None else []
    lines = [name for panel in panels if not panel.stacked for name in [*panel.lines, *panel.dots]]
    looks: dict[str, LineStyle | AreaStyle] = {**styles(lines)}
    if part.timeline is not None:
        looks |= figures.area_styles(part.timeline.classes)
    return panels, looks


def save(part: ShownArtefact, path: str | os.PathLike[str]) -> None:
    """Draw an artefact into a file whose suffix sets the format: ``.png``, ``.svg``, ``.pdf``."""
    panels, looks = drawn(part)
    if not panels:
        raise ValueError(f"{part.artefact.name} has nothing to draw; it is a table, or none of its runs are there.")
    save_charts(panels, looks, path, wide=part.timeline is not None)


def _methods(records: Sequence[Record]) -> list[str]:
    return names.in_order(record.method for record in records)


def _place(record: Record, x: str) -> float | None:
    if x == "holdout":
        return record.holdout or None
    if x == "variant":
        return names.number_of(record.variant)
    return None


def _axis(x: str, records: Sequence[Record]) -> str:
    return names.axis(records[0].variant.partition("=")[0] if x == "variant" else x)


def _line(records: Sequence[Record], x: str, places: Sequence[float]) -> Line:
    run = [record for record in records if record.ours_mean is not None]
    placed = [(place, record) for record in run if (place := _place(record, x)) is not None]
    if run and not placed:
        placed = [(place, run[0]) for place in (places[0], places[-1])]
    placed.sort(key=lambda point: point[0])
    return Line(
        [place for place, _ in placed],
        [record.ours_mean or 0.0 for _, record in placed],
        [record.ours_std or 0.0 for _, record in placed],
    )


def _dots(records: Sequence[Record], x: str) -> Line:
    points = [
        (place, record.paper_mean)
        for record in records
        if record.paper_mean is not None and record.stand_in is None and (place := _place(record, x)) is not None
    ]
    return Line([place for place, _ in points], [mean for _, mean in points])
