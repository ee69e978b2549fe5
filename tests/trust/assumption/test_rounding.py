"""Grids of rounded outputs."""

import numpy as np
import pytest

from baserate.trust.assumption.rounding import GRIDS, coarsest, from_three_grids, normalised, on_grids, rounded


@pytest.mark.parametrize("k", [2, 10])
@pytest.mark.parametrize("grid", range(1, len(GRIDS) + 1))
def test_rounded_rows_are_known_again(k, grid):
    rows = np.random.default_rng(0).dirichlet(np.full(k, 0.5), 200)
    assert coarsest(on_grids(rows)) == 0
    decimals = GRIDS[grid - 1].split()[0]
    half = decimals == "float16"
    exact = rows.astype(np.float16).astype(float) if half else np.round(rows, int(decimals))
    assert coarsest(on_grids(exact)) == grid
    if not half:  # rows of float16 that were normalised are no longer such numbers
        assert coarsest(on_grids(normalised(exact))) == grid
    np.testing.assert_allclose(rounded(rows, grid), normalised(exact))
    np.testing.assert_allclose(rounded(rows, grid).sum(axis=1), 1.0)


def test_one_row_that_is_not_is_enough():
    rows = np.round(np.random.default_rng(0).dirichlet([1.0, 1.0], 100), 2)
    rows[57] = [0.1234567, 0.8765433]
    assert coarsest(on_grids(rows)) == 0


def test_a_row_that_rounding_empties_stays():
    rows = np.full((1, 300), 1.0 / 300)
    np.testing.assert_array_equal(rounded(rows, GRIDS.index("2 decimals") + 1), rows)


def test_numbers_in_single_precision_are_on_a_grid_too():
    rows = np.round(np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 100), 4).astype(np.float32)
    assert GRIDS[coarsest(on_grids(rows.astype(np.float64))) - 1] == "4 decimals"


def test_flags_of_earlier_files_are_of_the_coarse_grids():
    on = from_three_grids(np.array([[True, False, False], [False, True, True]]))
    assert [[GRIDS[j] for j in row.nonzero()[0]] for row in on] == [["float16"], ["3 decimals", "2 decimals"]]
