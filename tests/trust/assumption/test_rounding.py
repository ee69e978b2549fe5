"""Grids of rounded outputs."""

import numpy as np
import pytest

from baserate.trust.assumption.rounding import coarsest, normalised, on_grids, rounded


@pytest.mark.parametrize("k", [2, 10])
@pytest.mark.parametrize("grid", [1, 2, 3])
def test_rounded_rows_are_known_again(k, grid):
    rows = np.random.default_rng(0).dirichlet(np.full(k, 0.5), 200)
    assert coarsest(on_grids(rows)) == 0
    exact = {1: rows.astype(np.float16).astype(float), 2: np.round(rows, 3), 3: np.round(rows, 2)}[grid]
    assert coarsest(on_grids(exact)) == grid
    if grid > 1:  # rows of float16 that were normalised are no longer such numbers
        assert coarsest(on_grids(normalised(exact))) == grid
    np.testing.assert_allclose(rounded(rows, grid), normalised(exact))
    np.testing.assert_allclose(rounded(rows, grid).sum(axis=1), 1.0)


def test_one_row_that_is_not_is_enough():
    rows = np.round(np.random.default_rng(0).dirichlet([1.0, 1.0], 100), 2)
    rows[57] = [0.12345, 0.87655]
    assert coarsest(on_grids(rows)) == 0


def test_a_row_that_rounding_empties_stays():
    rows = np.full((1, 300), 1.0 / 300)
    np.testing.assert_array_equal(rounded(rows, 3), rows)
