"""Page of results, made from the stored results alone."""

from collections.abc import Mapping, Sequence

from baserate_lab.bench.efficiency import after_change_tables, fraud_tables, one_batch_tables, weak_models
from baserate_lab.bench.efficiency.cells import Results, Section, n_seeds
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trackers.bars import Bar

COMMAND = "python -m baserate_lab.bench.efficiency"
PAGE, FIGURE = "efficiency.md", "efficiency.svg"

SECTIONS: dict[str, Section] = {
    "efficiency": after_change_tables.SECTION,
    "fraud": fraud_tables.SECTION,
    "one-batch": one_batch_tables.SECTION,
    "weak-models": weak_models.SECTION,
}
"""Sections by the name that the command line knows."""

_STREAMS = {
    False: "None of the streams was looked at while the tracker was designed.",
    True: "These are the streams to look at while designing (`--design`); they judge nothing.",
}


def bars(kept: Mapping[str, Results]) -> dict[str, list[Bar]]:
    """All acceptance bars, by title of the section."""
    return {section.title: section.bars(kept.get(name, {})) for name, section in SECTIONS.items()}


def page(kept: Mapping[str, Results], *, figure: str = FIGURE) -> str:
    """The page in Markdown.

    Parameters
    ----------
    kept : mapping
        Results by cell, by name of the section.
    figure : str
        The figure's file, beside the page.
    """
    design = any(cell.design for results in kept.values() for cell in results)
    checked = bars(kept)
    verdicts = [bar.verdict for part in checked.values() for bar in part]
    counted = ", ".join(f"{verdicts.count(word)} {word}" for word in ("holds", "does not hold", "not run"))
    ran = ", ".join(f"{name} {n_seeds(kept.get(name, {}))}" for name in SECTIONS)
    parts = [
        "# Efficiency of the default tracker",
        f"Made by `make bench-efficiency` (`{COMMAND}`). *default* is `LikelihoodMixture`, *light* its light profile "
        "for banks of very many keys. ± is one standard error: of differences over seeds, paired, since every method "
        f"sees the same stream; of all else from a bootstrap over seeds. {_STREAMS[design]}",
        f"Seeds: {ran}. Of {len(verdicts)} bars: {counted}.",
        f"![MSE after a change, by rows since the change: default, light and maximum likelihood]({figure})",
        "## Bars",
    ]
    for title, part in checked.items():
        parts += [f"### {title}", _table(part)]
    for name, section in SECTIONS.items():
        if text := section.tables(kept.get(name, {})):
            parts += [f"## {section.title}", text]
    return "\n\n".join(parts) + "\n"


def _table(part: Sequence[Bar]) -> str:
    rows = [[bar.text, bar.limit, bar.measured, _marked(bar), bar.where] for bar in part]
    return to_markdown(["what", "bar", "measured", "", "where"], rows, text=(0, 1, 2, 3, 4))


def _marked(bar: Bar) -> str:
    return f"**{bar.verdict}**" if bar.holds is False else bar.verdict
