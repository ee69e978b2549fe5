"""The page of the trackers' benchmark: made of the results alone, and the committed one of the committed file."""

from pathlib import Path

import numpy as np

from baserate_lab.bench.store import Store
from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.cells import (
    BASE,
    CALIBRATED,
    CAUSAL,
    HISTORY,
    ORACLE,
    START,
    TABLES,
    TOLD,
    TRANSDUCTIVE,
    WINDOW,
    Cell,
    Result,
)
from baserate_lab.bench.trackers.figure import BARS, draw, shares
from baserate_lab.bench.trackers.findings import n_seeds, share_complete
from baserate_lab.bench.trackers.page import FIGURE, PAGE, bars, page
from baserate_lab.bench.trackers.running import PROTOCOL

FOLDER = Path(__file__).parents[4] / "docs" / "results" / "trackers"


# A run in which all is well.
MADE_UP = {
    BASE: Result(1.0, 0.10),
    CALIBRATED: Result(1.0, 0.09),
    START: Result(0.40, 0.08),
    WINDOW: Result(0.30, 0.075),
    HISTORY: Result(0.50, 0.09),
    CAUSAL: Result(0.10, 0.07),
    TRANSDUCTIVE: Result(0.05, 0.069),
    TOLD: Result(0.05, 0.069),
    ORACLE: Result(0.0, 0.068),
}


def everything(n_seeds=2):
    kept = {cell: MADE_UP[cell.method] for cell in cells.cells(TABLES, n_seeds)}
    single = {cell: MADE_UP[CAUSAL] for cell in kept if cell.n == 1 and cell.method == TRANSDUCTIVE}
    return kept | single


def test_every_line_of_what_must_come_out_is_on_the_page():
    kept = everything()
    text = page(kept)
    lines = text.splitlines()
    for part in bars(kept).values():
        for bar in part:
            assert bar.verdict == "holds"
            assert f"| {bar.text} | {bar.limit} | {bar.measured} | holds | {bar.where} |" in lines
    assert "python -m baserate_lab.bench.trackers --seeds 2" in text
    assert "0 does not hold, 0 not run" in text
    n_problems = sum(len(plan()) for plan in TABLES.values())
    assert f"Of {n_problems} problems {n_problems} were run" in text


def test_the_page_shows_what_does_not_hold_and_what_was_not_run():
    kept = {cell: result for cell, result in everything().items() if cell.labels != "all"}
    kept = {c: r._replace(mse=0.29) if c.method == CAUSAL and c.n > 1 else r for c, r in kept.items()}
    text = page(kept)
    assert "| <= 0.38 | 0.967 ± 0.000 | **does not hold** |" in text
    assert "| <= 1 | - | not run |" in text


def test_the_tables_show_the_numbers():
    text = page(everything())
    assert "| digits | 10 | 0.333 ± 0.000 | 0.250 ± 0.000 | 0.167 ± 0.000 |" in text
    assert "| cifar10 | Bernoulli | 0.1000 | 0.1000 | 0.1000 | 0.1000 | 1.000 ± 0.000 | 1.000 ± 0.000 |" in text
    assert "| fashion | Square drawn | 100 | 8.00 | 7.00 | 6.80 | 0.83 ± 0.00 |" in text
    assert "| Bernoulli | 10 | 7.00 | 6.90 | 6.80 | 0.1000 | 0.0500 |" in text
    assert "| mnist | 1 | 10.00 | 8.00 | 7.50 | 7.00 | 7.00 | 6.80 |" in text
    assert "| forest | all | as they are | 10.00 | 9.00 | 7.00 | -3.00 ± 0.00 | -2.00 ± 0.00 |" in text
    assert "| too sure | 200 | 0.000 ± 0.000 |" in text


def test_the_page_depends_on_the_file_alone(tmp_path):
    kept = everything()
    store = Store(tmp_path / "results.parquet", Cell, Result, protocol=PROTOCOL)
    order = np.random.default_rng(0).permutation(len(kept))
    rows = list(kept.items())
    for i in order:
        store._found[rows[i][0]] = rows[i][1]
        store._rows.append({**rows[i][0]._asdict(), **rows[i][1]._asdict(), "protocol": PROTOCOL})
    store._dirty = True
    store.flush()
    read = Store(tmp_path / "results.parquet", Cell, Result, protocol=PROTOCOL)
    assert page(read.results) == page(kept)


def test_the_figure_shows_the_shares(tmp_path):
    kept = everything()
    found = shares(kept)
    assert round(found["digits", (10,), CAUSAL].value, 3) == 0.333
    assert round(found["all sets", (10, 100), TRANSDUCTIVE].value, 3) == 0.167
    draw(kept, tmp_path / "a.svg")
    draw(kept, tmp_path / "b.svg")
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


def committed():
    return Store(FOLDER / "results.parquet", Cell, Result, protocol=PROTOCOL).results


def test_the_committed_page_shows_what_the_committed_file_holds():
    assert (FOLDER / FIGURE).exists()
    assert page(committed()) == (FOLDER / PAGE).read_text()


def test_all_of_it_was_run_with_ten_seeds():
    kept = committed()
    assert n_seeds(kept) >= 10
    done, planned = share_complete(kept, [plan() for plan in TABLES.values()])
    assert done == planned
    assert {cell.data for cell in kept} == set(cells.SETS)
