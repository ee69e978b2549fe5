"""HullTest: how rows are counted, and what a file may hold."""

import numpy as np
import pytest

from baserate.state import dumps, loads
from baserate.trust.assumption.cells import add_to_cells, fit_cells, holdout_counts, n_cells
from baserate.trust.assumption.hull import HullTest

from .four_classes import K, outputs


def test_rows_are_counted_once_in_each_system_of_cells():
    rng = np.random.default_rng(0)
    rows = outputs(rng, rng.integers(K, size=300))
    cells = fit_cells(rows)
    counts = np.zeros(n_cells(cells))
    add_to_cells(rows, cells.columns, cells.edges, counts[np.newaxis])
    m, ranges = len(cells.centres), cells.edges.shape[1] + 1
    logs = np.log(np.maximum(rows, 1e-3))
    by_hand = ((logs[:, np.newaxis] - cells.centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(counts[:m], np.bincount(by_hand, minlength=m))
    predicted = rows.argmax(axis=1)
    level = (rows.max(axis=1)[:, np.newaxis] > cells.edges[predicted]).sum(axis=1)
    np.testing.assert_array_equal(counts[m:], np.bincount(predicted * ranges + level, minlength=K * ranges))
    y = rng.integers(K, size=300)
    assert holdout_counts(rows, y, cells).sum(axis=1) == pytest.approx(2 * np.bincount(y, minlength=K))


def test_more_classes_than_groups_share_cells():
    rows = np.random.default_rng(0).dirichlet(np.full(70, 0.1), 400)
    cells = fit_cells(rows)
    counts = np.zeros(n_cells(cells))
    add_to_cells(rows, cells.columns, cells.edges, counts[np.newaxis])
    assert counts[len(cells.centres) :].sum() == 400


def test_windows_of_a_long_stream_are_larger():
    """Looks become rarer, and each keeps its worth."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % K
    hull = HullTest().fit(outputs(rng, y), y)
    turns = []
    for _ in range(24):
        hull.add(outputs(rng, rng.integers(K, size=2500)))
        turns.append(hull._turns.tolist())
    assert turns[3] == [0, 4, 4]  # each time that 2,500 samples were added
    assert turns[-1] == [0, 24, 14]  # from 20,000 on, an eighth of the stream is more than 2,500
    assert dumps(loads(dumps(hull))) == dumps(hull)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_counts", np.zeros((3, 5))),
        ("_sizes", np.array([5, 0, 0])),
        ("_looks", 300),
        ("grid", 9),
        ("log_evidence", float("nan")),
        ("_findings", np.array([[K, -1.0, 0.5, 0, 0.1, 0.1, 0.1, 1.0]])),
        ("_findings", np.array([[0, -7.0, 0.5, 0, 0.1, 0.1, 0.1, 1.0]])),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    rng = np.random.default_rng(0)
    y = np.arange(200) % K
    hull = HullTest().fit(outputs(rng, y), y)
    loads(dumps(hull))
    setattr(hull, name, wrong)
    with pytest.raises(ValueError, match="HullTest"):
        loads(dumps(hull))
