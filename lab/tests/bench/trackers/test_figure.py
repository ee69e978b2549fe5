"""The figure of the trackers' benchmark shows the shares."""

from baserate_lab.bench.trackers.cells import CAUSAL, TRANSDUCTIVE
from baserate_lab.bench.trackers.figure import BARS, draw_shares, shares
from baserate_lab.bench.trackers.page import bars

from .well_run import everything


def test_the_figure_shows_the_shares(tmp_path):
    kept = everything()
    found = shares(kept)
    assert round(found["digits", (10,), CAUSAL].value, 3) == 0.333
    assert round(found["all sets", (10, 100), TRANSDUCTIVE].value, 3) == 0.167
    draw_shares(kept, tmp_path / "a.svg")
    draw_shares(kept, tmp_path / "b.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn == (tmp_path / "b.svg").read_text()
    for word in ("cifar10", "all sets", "100 samples a round", "bar for all sets, transductive"):
        assert word in drawn
    limits = {bar.text: bar.limit for bar in bars(kept)["The main table"]}
    for method, name in ((CAUSAL, "causal"), (TRANSDUCTIVE, "transductive")):
        for sizes, limit in BARS[method].items():
            words = "n = 1" if sizes == (1,) else "n >= 10"
            line = f"{name}: MSE beside that of the better FLH-FTL, {words}, geometric mean"
            assert limits[line] == f"<= {limit:g}"
