"""Page of results, generated from the store alone."""

from collections.abc import Sequence

from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trackers import sections
from baserate_lab.bench.trackers.bars import Bar, main_bars, small_holdout_bars
from baserate_lab.bench.trackers.cells import TABLES
from baserate_lab.bench.trackers.findings import TrackingResults, n_seeds, share_complete
from baserate_lab.bench.trackers.more_bars import constant_bars, label_bars, limit_bars, miscalibration_bars

COMMAND = "python -m baserate_lab.bench.trackers"
PAGE, FIGURE = "trackers.md", "trackers.svg"

_PARTS = {
    "The main table": main_bars,
    "Little holdout": small_holdout_bars,
    "Near the limit": limit_bars,
    "Labels": label_bars,
    "Miscalibrated outputs": miscalibration_bars,
    "No shift": constant_bars,
}


def bars(kept: TrackingResults) -> dict[str, list[Bar]]:
    """All acceptance bars, by section."""
    return {title: part(kept) for title, part in _PARTS.items()}


def page(kept: TrackingResults, *, figure: str = FIGURE) -> str:
    """The page in Markdown.

    Parameters
    ----------
    kept : mapping of TrackingCell to TrackingResult
        The results.
    figure : str
        The figure's file, beside the page.
    """
    seeds = n_seeds(kept)
    checked = bars(kept)
    done, planned = share_complete(kept, [plan() for plan in TABLES.values()])
    verdicts = [bar.verdict for part in checked.values() for bar in part]
    counted = ", ".join(f"{verdicts.count(word)} {word}" for word in ("holds", "does not hold", "not run"))
    head = [
        "# Following the class mix: LikelihoodMixture beside FLH-FTL",
        f"Made by `make bench-trackers` (`{COMMAND} --seeds {seeds}`). {sections.PREAMBLE}",
        f"Of {planned} problems {done} were run with all {seeds} seeds. Of {len(verdicts)} lines of what must come "
        f"out: {counted}.",
        f"![MSE of LikelihoodMixture as a share of that of the better FLH-FTL, by set and samples a round]({figure})",
        "## What must come out",
    ]
    body = [text for title, part in checked.items() for text in (f"### {title}", _table(part))]
    return "\n\n".join([*head, *body, *sections.sections(kept)]) + "\n"


def _table(part: Sequence[Bar]) -> str:
    rows = [[bar.text, bar.limit, bar.measured, _marked(bar), bar.where] for bar in part]
    return to_markdown(["what", "bar", "measured", "", "where"], rows, text=(0, 1, 2, 3, 4))


def _marked(bar: Bar) -> str:
    return f"**{bar.verdict}**" if bar.holds is False else bar.verdict
