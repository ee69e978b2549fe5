"""The table of the widths that audits buy."""

import numpy as np
import pytest
from scipy.stats import norm

from baserate.trust.prediction_powered import labelled_sums, powered
from baserate_lab.bench.audit_widths import explained, table, width


def test_widths_are_those_of_audits_that_are_drawn():
    rng, share, auc, audits = np.random.default_rng(0), 0.2, 0.95, 200
    distance = np.sqrt(2.0) * norm.ppf(auc)
    y = (rng.random((500, audits)) < share).astype(float)
    odds = share / (1.0 - share) * np.exp(distance * (rng.normal(size=y.shape) + distance * y) - 0.5 * distance**2)
    sums = labelled_sums(y.T, (odds / (1.0 + odds)).T)
    low, high = powered(sums, np.full(500, share), np.full(500, np.inf)).limits(0.9)
    assert 100 * (high - low).mean() == pytest.approx(width(share, auc, audits), rel=0.04)
    assert ((low <= share) & (share <= high)).mean() == pytest.approx(0.9, abs=0.04)


def test_a_better_model_explains_more_and_one_that_guesses_nothing():
    assert explained(0.1, 0.5) == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < explained(0.01, 0.8) < explained(0.01, 0.99) < explained(0.3, 0.99) < 1.0


def test_the_table_has_a_row_for_each_share_and_number_of_audits():
    lines = table([0.01, 0.1], [50, 200]).splitlines()
    assert len(lines) == 6
    assert lines[2].startswith("| 1 % | 50 | 6.8 |")
