"""The nearest mixture, and what its distance is worth."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from baserate.trust.assumption.mixtures import LEAST, covariance, nearest, system

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


def by_least_squares(counts, of, start):
    """The same with a matrix for all cells, and non-negative least squares."""
    n, mix, cells = counts.sum(), start, len(counts)
    shares = counts / n
    for _ in range(3):
        spread = covariance(of, mix, n)
        root = np.linalg.cholesky(spread + np.trace(spread) * (1.0 / cells + 1e-12 * np.eye(cells)))
        columns, target = np.linalg.solve(root, of.means.T), np.linalg.solve(root, shares)
        sure = 1e5 * np.abs(columns).max()  # that shares sum to one
        mix = nnls(np.vstack([columns, np.full(len(mix), sure)]), np.append(target, sure))[0]
        mix /= mix.sum()
    residual = shares - mix @ of.means
    white, used = np.linalg.solve(root, residual), columns[:, mix > LEAST]
    ways = np.linalg.qr(used[:, 1:] - used[:, :1])[0]
    rest = of.contrasts @ root
    rest = rest - (rest @ ways) @ ways.T
    noise = np.linalg.solve(root, np.linalg.solve(root, covariance(of, mix, n)).T)
    return mix, white @ white, rest @ white / np.sqrt(np.einsum("ij,jk,ik->i", rest, noise, rest))


@pytest.mark.parametrize("k", [2, 5, 12])
@pytest.mark.parametrize("missing", [0, 1])
def test_it_is_that_of_least_squares_over_all_cells(k, missing):
    rng = np.random.default_rng(k)
    of_class = rng.dirichlet(np.full(20, 0.5), size=k)
    holdout = np.array([rng.multinomial(300, shares) for shares in of_class]).astype(float)
    of = system(holdout, 2.0, 0.0, 20.0, (np.arange(20) > np.array([[4], [9], [14]])).astype(float))
    true = rng.dirichlet(np.ones(k)) * (np.arange(k) >= missing)
    stream = rng.multinomial(800, 0.9 * true / true.sum() @ of_class + 0.1 / 20).astype(float)
    found = nearest(stream, of, np.full(k, 1.0 / k))
    mix, chi2, z = by_least_squares(stream, of, np.full(k, 1.0 / k))
    np.testing.assert_allclose(found.mix, mix, atol=1e-6)
    assert found.chi2 == pytest.approx(chi2, rel=1e-6)
    np.testing.assert_allclose(found.z, z, atol=1e-5)
