"""The benchmark of estimated accuracies on real streams looks at the windows that it says."""

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate_lab.bench.trust.stream_accuracy import Looked, looks, table


def test_windows_end_at_every_thousandth_row_and_a_short_stream_has_one():
    rng = np.random.default_rng(0)
    y = (rng.random(7400) < 0.3).astype(int)
    odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, 1.0))
    proba = np.column_stack([1 / (1 + odds), odds / (1 + odds)])
    adapter = RegressAndReweight().fit(proba[:1000], y[:1000])
    found = looks(adapter, proba[1000:], y[1000:])
    assert len(found) == 2
    assert all(abs(window.value - window.truth) < 0.03 for window in found)
    adapter.reset()
    assert len(looks(adapter, proba[:1200], y[:1200])) == 1


def test_a_window_in_doubt_is_answered_for():
    calm, wrong = Looked(0.8, 0.8, 0.7, 0.9, ""), Looked(0.5, 0.8, 0.7, 0.9, "")
    windows = [calm, wrong, wrong._replace(doubt="of course")]
    cells = table({("a", 1000): windows}).splitlines()[2].split("|")
    assert [cell.strip() for cell in cells[3:-1]] == ["3", "60.0", "20.0", "33", "33", "67", "50", "20.0"]
