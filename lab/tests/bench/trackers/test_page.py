"""The page of the trackers' benchmark: made of the results alone, and the committed one of the committed file."""

from pathlib import Path

import numpy as np

from baserate_lab.bench.store import Store
from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.cells import (
    CAUSAL,
    TABLES,
    TrackingCell,
    TrackingResult,
)
from baserate_lab.bench.trackers.findings import n_seeds, share_complete
from baserate_lab.bench.trackers.page import FIGURE, PAGE, bars, page
from baserate_lab.bench.trackers.running import PROTOCOL

from .well_run import everything

FOLDER = Path(__file__).parents[4] / "docs" / "results" / "trackers"


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


def test_the_page_depends_on_the_file_alone(tmp_path):
    kept = everything()
    store = Store(tmp_path / "results.parquet", TrackingCell, TrackingResult, protocol=PROTOCOL)
    order = np.random.default_rng(0).permutation(len(kept))
    rows = list(kept.items())
    for i in order:
        store._found[rows[i][0]] = rows[i][1]
        store._rows.append({**rows[i][0]._asdict(), **rows[i][1]._asdict(), "protocol": PROTOCOL})
    store._dirty = True
    store.flush()
    read = Store(tmp_path / "results.parquet", TrackingCell, TrackingResult, protocol=PROTOCOL)
    assert page(read.results) == page(kept)


def committed():
    return Store(FOLDER / "results.parquet", TrackingCell, TrackingResult, protocol=PROTOCOL).results


def test_the_committed_page_shows_what_the_committed_file_holds():
    assert (FOLDER / FIGURE).exists()
    assert page(committed()) == (FOLDER / PAGE).read_text()


def test_all_of_it_was_run_with_ten_seeds():
    kept = committed()
    assert n_seeds(kept) >= 10
    done, planned = share_complete(kept, [plan() for plan in TABLES.values()])
    assert done == planned
    assert {cell.data for cell in kept} == set(cells.SETS)
