"""Means, ratios and standard errors of made-up results."""

import math

import numpy as np
import pytest

from baserate_lab.bench.trackers.cells import (
    CAUSAL,
    START,
    WINDOW,
)
from baserate_lab.bench.trackers.findings import Measured, block, paired

from .made_up import ONE, TWO, numbers


def test_geometric_means_are_of_ratios_to_the_better_variant():
    methods = (START, WINDOW, CAUSAL)
    kept, plan = numbers(
        {
            ONE: {START: [0.3, 0.5], WINDOW: [0.1, 0.3], CAUSAL: [0.05, 0.15]},
            TWO: {START: [0.1, 0.1], WINDOW: [0.3, 0.3], CAUSAL: [0.02, 0.02]},
        },
        methods,
    )
    found = block(kept, plan, "mse")
    assert found.better((START, WINDOW)) == [WINDOW, START]
    np.testing.assert_allclose(found.ratios(CAUSAL, (START, WINDOW)), [0.5, 0.2])
    assert found.geometric(CAUSAL, (START, WINDOW)).value == pytest.approx(math.sqrt(0.5 * 0.2))
    assert found.geometric(CAUSAL, [START]).value == pytest.approx(math.sqrt(0.25 * 0.2))
    # Seeds are drawn for all methods at once: where a method moves with the variants, its share does not move.
    assert found.where(lambda p: p == ONE).geometric(CAUSAL, [WINDOW]).error == pytest.approx(0.0, abs=1e-12)
    assert found.geometric(CAUSAL, [START]).error > 0.01


def test_the_better_variant_is_that_of_the_cell_not_of_the_seed():
    kept, plan = numbers({ONE: {START: [0.1, 0.9], WINDOW: [0.6, 0.6], CAUSAL: [0.3, 0.3]}}, (START, WINDOW, CAUSAL))
    found = block(kept, plan, "mse")
    np.testing.assert_allclose(found.ratios(CAUSAL, (START, WINDOW)), [0.6])
    (difference,) = found.difference_to_better(CAUSAL, (START, WINDOW))
    assert difference.value == pytest.approx(0.3 - 0.5)


def test_a_bootstrap_over_seeds_agrees_with_the_standard_error_of_a_mean():
    values = np.random.default_rng(0).normal(size=4)
    kept, plan = numbers({ONE: {CAUSAL: values}}, (CAUSAL,))
    found = block(kept, plan, "mse").measured(lambda means: means[..., 0, 0])
    assert found.value == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(4), rel=0.08)
    kept, plan = numbers({ONE: {CAUSAL: [1.0]}}, (CAUSAL,))
    assert math.isnan(block(kept, plan, "mse").measured(lambda means: means[..., 0, 0]).error)


def test_standard_errors_are_paired():
    noise = np.array([0.0, 0.3, 0.1, 0.7])
    kept, plan = numbers({ONE: {START: 0.2 + noise, CAUSAL: 0.1 + noise}}, (START, CAUSAL))
    (difference,) = block(kept, plan, "error").difference(CAUSAL, START)
    assert difference.value == pytest.approx(-10.0)  # points of a percent
    assert difference.error == pytest.approx(0.0, abs=1e-12)
    assert paired(np.array([1.0, 3.0])) == Measured(2.0, pytest.approx(1.0))


def test_problems_that_are_not_complete_are_left_out():
    kept, plan = numbers({ONE: {START: [1, 2], CAUSAL: [1, 2]}, TWO: {START: [1, 2], CAUSAL: [1]}}, (START, CAUSAL))
    assert block(kept, plan, "mse").problems == (ONE,)
