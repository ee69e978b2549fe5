"""The section of the demo's report about trust: warnings and bands of an adapter, in figures."""

from html import escape

from baserate.demo.trust_tour import Tour
from baserate.protocols import FloatArray
from baserate.reports.figures import Chart, Line, LineStyle, chart_svg, legend_entry, spans

STYLES = {
    "truth": LineStyle("truth", ()),
    "tracked share, and its 90 % band": LineStyle("line0", ()),
    "evidence": LineStyle("line1", ()),
    "estimated accuracy, and its 90 % band": LineStyle("line2", ()),
}
_TRACKED, _EVIDENCE, _ESTIMATED = list(STYLES)[1:]

_LABELS = {
    "share": "Line chart: the true share of the class that grows, the tracked one, and its band.",
    "evidence": "Line chart: evidence against label shift over the rounds, on a logarithmic axis, with the limit from "
    "which on it is an alarm.",
    "accuracy": "Line chart: the true accuracy and the one that is estimated without labels, with its band.",
}


def section(found: Tour) -> str:
    """Render the section: words and figures."""
    captions = {
        "share": "Tracked without labels. Shaded: the gate uses at most half of the correction.",
        "evidence": "From the dashed line on it is an alarm, whose probability is at most "
        f"{100 * found.alpha:.0f}&nbsp;% on a stream of label shift, however long.",
        "accuracy": "The estimate assumes label shift: do not rely on it after an alarm.",
    }
    pictures = "\n".join(
        f"<figure>{chart_svg(chart, STYLES, label=_LABELS[name], name=f'trust-{name}', height=2.6)}"
        f"<figcaption>{captions[name]}</figcaption></figure>"
        for name, chart in charts(found).items()
    )
    entries = "".join(legend_entry(name, style) for name, style in STYLES.items())
    return f"""<section>
<h2>How far to trust it</h2>
<p>A stream of the paper's synthetic data, with the default adapter as it is. One of three classes grows from a third of
all samples to {100 * found.truth.max():.0f}&nbsp;%: label shift, which the adapter follows, within its band. From round
{found.breaks + 1:,} on all samples are noisy. That is no label shift, and no class mix explains it.
{escape(_said(found))}</p>
<ul class="legend">{entries}</ul>
<div class="figures">
{pictures}
</div>
</section>
"""


def _said(found: Tour) -> str:
    if not found.alarm:
        return "The check has not noticed it on this stream."
    if found.alarm <= found.breaks:
        return f"The check gave a false alarm, in round {found.alarm:,}: {found.why}."
    return (
        f"The check noticed it in round {found.alarm:,} and says what looks wrong: {found.why}. The gate then "
        "reduces the correction."
    )


def charts(found: Tour) -> dict[str, Chart]:
    """The charts by name: share and band, evidence, accuracy; shaded while the correction is reduced."""
    x = found.rounds.tolist()
    held = spans(found.rounds, found.held_back)

    def banded(values: FloatArray) -> Line:
        return Line(x, values[:, 0].tolist(), low=values[:, 1].tolist(), high=values[:, 2].tolist())

    share = {"truth": Line(x, found.truth.tolist()), _TRACKED: banded(found.share)}
    accuracy = {"truth": Line(x, found.right.tolist()), _ESTIMATED: banded(found.accuracy)}
    evidence = {_EVIDENCE: Line(x, found.evidence.tolist())}
    limit = 1.0 / found.alpha
    return {
        "share": Chart("Share of the class that grows", "round", share, spans=held, flush=True, shares=True),
        "evidence": Chart(
            "Evidence against label shift", "round", evidence, spans=held, flush=True, log_y=True, limit=limit
        ),
        "accuracy": Chart("Accuracy", "round", accuracy, spans=held, flush=True, shares=True),
    }
