"""HullTest: the nearest mixture, and what its distance is worth."""

import numpy as np
import pytest
from scipy.optimize import minimize

from baserate.state import dumps, loads
from baserate.trust.assumption.cells import add_to_cells, fit_cells, holdout_counts, n_cells
from baserate.trust.assumption.hull import HullTest
from baserate.trust.assumption.mixtures import covariance, nearest, system

from .four_classes import K, outputs

COUNTS = np.array([[60.0, 30.0, 10.0, 0.0], [10.0, 20.0, 40.0, 30.0]])


def test_a_mixture_has_no_distance():
    of = system(COUNTS, 0.0, 0.5, 0.0, np.zeros((0, 4)))
    found = nearest(1000.0 * np.array([0.3, 0.7]) @ of.means, of, np.array([0.5, 0.5]))
    np.testing.assert_allclose(found.mix, [0.3, 0.7], atol=1e-6)
    assert found.chi2 < 1e-6


def test_the_distance_is_that_of_a_search_over_all_mixtures():
    of = system(COUNTS, 0.0, 0.5, 0.0, np.zeros((0, 4)))
    stream = np.array([500.0, 100.0, 100.0, 300.0])
    found = nearest(stream, of, np.array([0.5, 0.5]))

    def distance(share):
        mix = np.array([share[0], 1.0 - share[0]])
        spread = covariance(of, found.mix, 1000.0)
        gap = (stream / 1000.0 - mix @ of.means)[:-1]  # shares sum to one: three cells say all
        return gap @ np.linalg.solve(spread[:-1, :-1], gap)

    best = minimize(distance, [0.5], bounds=[(0.0, 1.0)])
    assert found.mix[0] == pytest.approx(best.x[0], abs=1e-2)
    assert found.chi2 == pytest.approx(best.fun, rel=0.03)  # its covariance is that of the pass before


def test_contrasts_have_unit_variance_under_label_shift():
    rng = np.random.default_rng(0)
    of_class = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    contrast = np.array([[0.0, 1.0, 0.0]])
    found = []
    for _ in range(400):
        counts = np.array([rng.multinomial(200, shares) for shares in of_class]).astype(float)
        stream = rng.multinomial(500, [0.3, 0.7] @ of_class).astype(float)
        found.append(nearest(stream, system(counts, 2.0, 0.0, 0.0, contrast), np.array([0.5, 0.5])).z[0])
    assert np.std(found) == pytest.approx(1.0, abs=0.1)
    assert abs(np.mean(found)) < 0.15


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
