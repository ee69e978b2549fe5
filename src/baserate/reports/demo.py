"""The HTML report of the demo: one file that asks for nothing from outside."""

import os
import platform
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import sklearn  # type: ignore[import-untyped]

from baserate._version import __version__
from baserate.backtesting.methods import DEFAULT
from baserate.demo.experiment import BASE, MOVING, OPTIMAL, ORACLE, REFERENCES, Cell, Demo, describe
from baserate.demo.trust_tour import tour
from baserate.reports import figures, page
from baserate.reports.demo_rows import COLUMNS, SUMMARY, conclusion, demo_rows, standing, summary_rows
from baserate.reports.demo_trust import section as trust_section
from baserate.reports.tables import to_html
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
    "MSE to batch labels": "mean squared distance to the label frequencies of the round's few samples, as in the "
    "paper's tables. It includes the chance in these samples, so even the oracle does not reach zero.",
    "dynamic regret": "expected mistakes beyond those of the oracle, with one sample a round and labels sampled from "
    "the probabilities. It is measured on the whole pool of images, which each method predicts in every round. It can "
    "be negative: a label sampled from the right probabilities is not always the best guess.",
}


_MAIN = {
    "doing nothing": figures.LineStyle("truth", ()),
    DEFAULT: figures.LineStyle("line0", ()),
    "told the true mix": figures.LineStyle("ink", (1.0, 1.5)),
}
"""The three lines of the first pictures."""
_NAMES = dict(zip(_MAIN, (BASE, DEFAULT, ORACLE), strict=True))
_POINTS = 500  # of a line
_CSS = """
details { margin-top: 3rem; border-top: 1px solid var(--rule) }
summary { cursor: pointer; font-size: 1.5rem; font-weight: 700; padding: 1rem 0 }
details h2 { font-size: 1.3rem }
.figures h2 { font-size: 1.3rem; margin: 1rem 0 0; padding: 0; border: 0 } .figures h2 + p { margin: .2rem 0 .5rem }
"""


def render(demo: Demo) -> str:
    """The page. The same experiment gives the same page, byte for byte."""
    results, model = demo_rows(demo), demo.model
    wrong = 100 * (model.pool_proba.argmax(axis=1) != model.pool_y)
    by_shift: dict[str, list[Cell]] = {}
    for cell in demo.cells:
        by_shift.setdefault(cell.shift, []).append(cell)
    methods = list(dict.fromkeys(cell.method for cell in demo.cells))
    summary = to_html(summary_rows(results), SUMMARY, caption="Wrong predictions, in % of all samples")
    legend = "".join(figures.legend_entry(name, style) for name, style in _MAIN.items())
    command = f"baserate demo --rounds {demo.n_rounds} --batch-size {demo.batch_size} --seed {demo.seed}"
    body = f"""<main>
<h1>{_TITLE}</h1>
<p class="lead">A classifier learned to read handwritten digits when all ten were equally common. Then the mix
changes from round to round, in {len(by_shift)} different ways, while the digits themselves look the same as ever.
baserate watches the classifier at work, {demo.batch_size} images a round for {demo.n_rounds:,} rounds, without one
label, and adapts its predictions to what it sees.</p>
<p class="lead finding">{page.unbroken(conclusion(results))}</p>
{page.scrolling(summary, "Wrong predictions by shift")}
<ul class="legend">{legend}</ul>
<div class="figures">
{"".join(_picture(demo, cells) for cells in by_shift.values())}
</div>
{trust_section(tour(demo.n_rounds, demo.batch_size, demo.seed))}
{_all_methods(demo, by_shift, methods, results)}
</main>
<footer>
<p>Data: {escape(model.provenance)} The model, a logistic regression, was trained on {model.n_train} images; another
{len(model.holdout_y):,} labelled images tell the methods how it errs, and the streams are drawn from
{len(model.pool_y):,} that it never saw. The class that moves is {escape(model.class_names[MOVING])}: the
model mistakes {wrong[model.pool_y == MOVING].mean():.0f}&nbsp;% of them and {wrong.mean():.0f}&nbsp;% of all digits
when all are equally common. On a class that it never mistakes there would be nothing to gain.</p>
<p>Shifts and methods: Baby et al., “Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms”, NeurIPS
2023.</p>
<p>Made by <code>{escape(command)}</code> with baserate {__version__}, NumPy {np.__version__}, scikit-learn
{sklearn.__version__}, Python {platform.python_version()}.</p>
</footer>"""
    return page.render(f"{_TITLE} | baserate demo", body, css=_CSS)


def _told(demo: Demo, shift: str) -> str:
    """The words about a shift."""
    return _SHIFTS[shift].format(period=int(np.sqrt(demo.n_rounds)))


def _picture(demo: Demo, cells: list[Cell]) -> str:
    """One shift: a sentence, and a picture of doing nothing, the default and the oracle."""
    shift = cells[0].shift
    by_method = {cell.method: cell.evaluation for cell in cells}
    rounds = np.unique(np.append(np.arange(0, demo.n_rounds, -(-demo.n_rounds // _POINTS)), demo.n_rounds - 1))
    x = (rounds + 1).tolist()
    shares, mistakes, ends = {}, {}, {}
    for name, method in _NAMES.items():
        evaluation = by_method[method]
        total = evaluation.wrong.cumsum()
        shares[name] = figures.Line(x, evaluation.prior[rounds, MOVING].tolist())
        mistakes[name], ends[name] = figures.Line(x, total[rounds].tolist()), int(total[-1])
    nothing, ours, oracle = ends.values()
    sentence = f"{_told(demo, shift)} {nothing:,} mistakes become {ours:,}; with the true mix, {oracle:,}."
    svg = figures.charts_svg(
        [
            figures.Chart("Share of eights that each assumes", "", shares, flush=True, shares=True),
            figures.Chart("Mistakes so far", "round", mistakes, flush=True),
        ],
        _MAIN,
        label=f"Line charts of the {shift} shift: the share of eights that is assumed by doing nothing, by baserate, "
        f"and truly; and the mistakes so far, which end at {nothing:,}, {ours:,} and {oracle:,}.",
        name=f"{shift}-main",
        heights=(1.6, 2.6),
    )
    return f"""<section><h2>{escape(shift)}</h2>
<p>{escape(sentence)}</p>
<figure>{svg}<figcaption>Out of {demo.n_rounds * demo.batch_size:,} predictions.</figcaption></figure></section>
"""


def _all_methods(
    demo: Demo, by_shift: Mapping[str, list[Cell]], methods: list[str], results: list[dict[str, Any]]
) -> str:
    """The folded part: every method on every shift, and what the figures mean."""
    styles = figures.line_styles([method for method in methods if method not in REFERENCES])
    styles |= {
        BASE: figures.LineStyle("truth", ()),
        OPTIMAL: figures.LineStyle("ink", (6.0, 2.0)),
        ORACLE: figures.LineStyle("ink", (1.0, 1.5)),
    }
    sections = "".join(_section(demo, cells, results, styles) for cells in by_shift.values())
    return f"""<details>
<summary>All {len(methods)} methods</summary>
<p>{page.unbroken(standing(results))}</p>
{sections}
<h2>How to read this</h2>
<dl>{page.definitions(_READING)}</dl>
<p>“best” marks the method with the fewest mistakes on a shift, among those that could be used in earnest, and those
that tie with it: within two standard errors of the difference.</p>
<h2>The methods</h2>
<p>A <em>sighting</em> is what the unlabelled images of one round say about the class mix (BBSE); it is noisy, and the
methods differ in what they make of it. Most average it and re-weight the probabilities; ROGD moves the weights
themselves, and UOGD, ATLAS and RetrainLastLayer change the last layer of the model, which is more work and asks for
more labelled samples. UOGD and ATLAS have no class mix.</p>
<dl>{page.definitions({method: describe(method) for method in methods})}</dl>
</details>"""


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
<p>{escape(_told(demo, shift))}</p>
<ul class="legend">{"".join(figures.legend_entry(name, style) for name, style in names.items())}</ul>
<div class="figures">
<figure>{mix}<figcaption>The grey line is the truth, which no method sees.</figcaption></figure>
<figure>{avoided}<figcaption>Compared with leaving the model alone, the grey line; out of
{demo.n_rounds * demo.batch_size:,} predictions.{escape("".join(sunk))}</figcaption></figure>
</div>
{page.scrolling(table, f"Results of the {shift} shift")}
</section>
"""


def write(demo: Demo, path: str | os.PathLike[str]) -> None:
    """Write the page to a file, whole or not at all."""
    write_atomically(path, render(demo).encode())
