"""The HTML report of the demo: one file that asks for nothing from outside."""

import os
import platform
import re
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import sklearn  # type: ignore[import-untyped]

from baserate._version import __version__
from baserate.bench import figures
from baserate.bench.demo import BASE, MOVING, OPTIMAL, ORACLE, REFERENCES, Cell, Demo, conclusion, describe, rows
from baserate.bench.tables import COLUMNS, to_html
from baserate.state import write_atomically

_TITLE = "Handwritten digits while their mix drifts"
_SHIFTS = {
    "Monotone": "Eights become steadily more common, from one digit in ten to every digit.",
    "Square": "Every {period} rounds the stream jumps from an even mix of digits to eights alone, or back.",
    "Sinusoidal": "Eights swell from one digit in ten to every digit and ebb away again, in waves of {period} rounds.",
    "Bernoulli": "The stream jumps from an even mix of digits to eights alone, or back, at random: once in {period} "
    "rounds on average.",
}
_READING = {
    "error %": "share of samples whose most probable digit was wrong.",
    "MSE to true mix": "mean squared distance between the class mix a method used and the true one that round.",
    "MSE to batch labels": "the same to the label frequencies of the round's few samples, as the paper's tables have "
    "it. Their chance is part of this figure, so that even the oracle does not reach zero.",
    "dynamic regret": "expected mistakes beyond the oracle's if each round had one sample, with labels sampled from "
    "the probabilities, measured on the whole pool of images. Below zero is possible: a label sampled from the right "
    "probabilities is not always the best guess.",
}
_CSS = """
:root { color-scheme: light dark; --page: #fff; --soft: #f4f6f8; --good: #00623f; PALETTE }
@media screen and (prefers-color-scheme: dark) { :root { --page: #14181d; --soft: #1e242b; --good: #4fdcae; NIGHT } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 72rem; background: var(--page); color: var(--ink);
  font: 1.05rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif }
h1 { font-size: clamp(1.6rem, 5vw, 2.4rem); line-height: 1.15; margin: .5rem 0 1rem }
h2 { font-size: 1.5rem; margin: 3rem 0 .25rem; padding-top: 1rem; border-top: 1px solid var(--rule) }
p, dl, .lead { max-width: 44rem }
.lead { font-size: 1.2rem }
.finding { border-left: .3rem solid var(--good); padding-left: 1rem }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem 2rem }
figure { margin: 0 }
figure svg { display: block; width: 100%; height: auto; stroke-linejoin: round }
figure text { font-family: inherit !important }
figcaption { font-size: .9rem }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: 1rem 0; list-style: none;
  font-size: .95rem }
.legend svg { width: 2rem; height: .7rem; margin-right: .4rem }
.scroll { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem }
caption { text-align: left; padding-bottom: .4rem; font-weight: 600 }
th, td { padding: .3rem .8rem; text-align: right; vertical-align: bottom }
th:first-child { text-align: left; padding-left: .4rem }
thead th { border-bottom: 2px solid var(--ink); line-height: 1.25 }
tbody th { font-weight: normal; white-space: nowrap }
tbody tr + tr > * { border-top: 1px solid var(--rule) }
.marked > * { font-weight: 700; background: var(--soft) }
.marked em { font-style: normal; color: var(--good) }
dt { font-weight: 600; margin-top: .6rem }
dd { margin: 0 }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; overflow-wrap: anywhere }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--rule); font-size: .9rem }
@media (max-width: 40rem) { th, td { padding: .3rem } table { font-size: .8rem } tbody th { white-space: normal }
  .lead { font-size: 1.1rem } figure text { font-size: 12.5px !important } }
@media print { html { font-size: 9pt } body { max-width: none; padding: 0 } .figures { grid-template-columns: 1fr 1fr }
  section, table { break-inside: avoid } h2 { break-after: avoid; margin-top: 1rem } }
"""


def render(demo: Demo) -> str:
    """The page. The same experiment gives the same page, byte for byte."""
    results, problem = rows(demo), demo.problem
    wrong = 100 * (problem.pool_proba.argmax(axis=1) != problem.pool_y)
    shifts = list(dict.fromkeys(cell.shift for cell in demo.cells))
    methods = list(dict.fromkeys(cell.method for cell in demo.cells))
    styles = figures.line_styles([method for method in methods if method not in REFERENCES])
    styles |= {
        BASE: figures.LineStyle("truth", ()),
        OPTIMAL: figures.LineStyle("ink", (6.0, 2.0)),
        ORACLE: figures.LineStyle("ink", (1.0, 1.5)),
    }
    sections = [
        _section(demo, [cell for cell in demo.cells if cell.shift == shift], results, styles) for shift in shifts
    ]
    css = _CSS.replace("PALETTE", _variables(figures.LIGHT)).replace("NIGHT", _variables(figures.DARK))
    command = f"baserate demo --rounds {demo.n_rounds} --batch-size {demo.batch_size} --seed {demo.seed}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_TITLE} | baserate demo</title>
<style>{css}</style>
</head>
<body>
<main>
<h1>{_TITLE}</h1>
<p class="lead">A classifier learned to read handwritten digits when all ten were equally common. Then the mix
changes from round to round, in {len(shifts)} different ways, while the digits themselves look the same as ever. Each
method below watches the classifier at work, {demo.batch_size} images a round for {demo.n_rounds:,} rounds, without one
label, and adapts its predictions to what it sees.</p>
<p class="lead finding">{escape(conclusion(results)).replace(" %", "&nbsp;%")}</p>
{"".join(sections)}
<h2>How to read this</h2>
<dl>{_definitions(_READING)}</dl>
<p>“best” marks the method with the fewest mistakes on a shift, among those that could be used in earnest.</p>
<h2>The methods</h2>
<p>A <em>sighting</em> is what the unlabelled images of one round say about the class mix (BBSE); it is noisy, and the
methods differ in what they make of it. Most average it and re-weight the probabilities; ROGD moves the weights
themselves, and UOGD, ATLAS and RetrainLastLayer change the last layer of the model, which is more work and asks for
more labelled samples: what they play is no re-weighting, so that they have no dynamic regret here, and UOGD and ATLAS
have no class mix either.</p>
<dl>{_definitions({method: describe(method) for method in methods})}</dl>
</main>
<footer>
<p>Data: {escape(problem.provenance)} The model, a logistic regression, was trained on {problem.n_train} images; another
{len(problem.holdout_y):,} labelled images tell the methods how it errs, and the streams are drawn from
{len(problem.pool_y):,} that it never saw. The class that moves is {escape(problem.class_names[MOVING])}: the
model mistakes {wrong[problem.pool_y == MOVING].mean():.0f}&nbsp;% of them and {wrong.mean():.0f}&nbsp;% of all digits
when all are equally common. On a class that it never mistakes there would be nothing to gain.</p>
<p>Shifts and methods: Baby et al., “Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms”, NeurIPS
2023.</p>
<p>Made by <code>{escape(command)}</code> with baserate {__version__}, NumPy {np.__version__}, scikit-learn
{sklearn.__version__}, Python {platform.python_version()}.</p>
</footer>
</body>
</html>
"""


def _section(
    demo: Demo, cells: list[Cell], results: list[dict[str, Any]], styles: Mapping[str, figures.LineStyle]
) -> str:
    """One shift: words, figures, table."""
    shift = cells[0].shift
    by_method = {cell.method: cell.evaluation for cell in cells}
    rivals = [method for method in by_method if method not in REFERENCES]
    tracked = {m: by_method[m].prior[:, MOVING] for m in rivals if not np.isnan(by_method[m].prior).any()}
    mistakes = {method: evaluation.wrong.cumsum() for method, evaluation in by_method.items()}
    saved = {method: mistakes[BASE] - wrong for method, wrong in mistakes.items() if method != BASE}
    sunk = [
        f" {m} leaves the picture and ends at {saved[m][-1]:,}."
        for m in rivals
        if saved[m].min() < figures.lower_edge(saved)
    ]
    most = max(rivals, key=lambda method: int(saved[method][-1]))
    mix = figures.mix_figure(
        by_method[BASE].q[:, MOVING],
        tracked,
        styles,
        label=f"Line chart: the true share of eights under the {shift} shift, and the share that each method tracks.",
        name=f"{shift}-mix",
    )
    avoided = figures.saved_figure(
        saved,
        styles,
        label=f"Line chart: mistakes avoided under the {shift} shift. {most} ends highest of the methods without "
        f"labels, at {saved[most][-1]:,}; the oracle ends at {saved[ORACLE][-1]:,}.",
        name=f"{shift}-saved",
    )
    table = to_html(
        [row for row in results if row["shift"] == shift], COLUMNS, caption=f"{shift} shift: results", mark="best"
    )
    names = {"true share, or doing nothing": styles[BASE]} | {m: s for m, s in styles.items() if m != BASE}
    return f"""<section>
<h2>{escape(shift)}</h2>
<p>{escape(_SHIFTS[shift].format(period=int(np.sqrt(demo.n_rounds))))}</p>
<ul class="legend">{"".join(figures.legend_entry(name, style) for name, style in names.items())}</ul>
<div class="figures">
<figure>{mix}<figcaption>The grey line is the truth, which no method sees.</figcaption></figure>
<figure>{avoided}<figcaption>Compared with leaving the model alone, the grey line; out of
{demo.n_rounds * demo.batch_size:,} predictions.{escape("".join(sunk))}</figcaption></figure>
</div>
<div class="scroll" tabindex="0" role="region" aria-label="Results of the {escape(shift)} shift">{table}</div>
</section>
"""


def _variables(palette: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in palette.items())


def _definitions(entries: Mapping[str, str]) -> str:
    texts = {name: re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text)) for name, text in entries.items()}
    return "\n".join(f"<dt>{escape(name)}</dt><dd>{text}</dd>" for name, text in texts.items())


def write(demo: Demo, path: str | os.PathLike[str]) -> None:
    """Write the page to a file, whole or not at all."""
    write_atomically(path, render(demo).encode())
