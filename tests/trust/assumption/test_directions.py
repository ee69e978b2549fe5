"""Directions that are learned from the past of a stream: what they find, and what they cost."""

import numpy as np
import pytest

from baserate.trust.assumption.bets import Bets
from baserate.trust.assumption.directions import Directions
from baserate.trust.assumption.schedule import renewal_due

from .four_classes import PATHS, K, fitted, outputs, run, unseen


def test_an_unseen_class_is_found_by_directions_alone():
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        check = fitted(rng, 2000)
        check._room = np.inf  # no look at regions
        for _ in range(300):
            check.update(unseen(rng, 10, 0.1))
        found += check.alarm_
        assert all(finding.score.startswith("log-probability of class") for finding in check.explain())
    assert found >= 9


@pytest.mark.parametrize("path", PATHS)
def test_directions_alone_raise_no_false_alarms(path):
    """Halves of 50 samples against a stream of 30,000: at most a third of alpha is spent here; 2 of 20 tolerated."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 9])
        check = fitted(rng, 100)
        check._room = np.inf
        alarms += run(check, rng, 60, batch=500, path=PATHS[path]).alarm_
    assert alarms <= 2


def test_a_direction_is_learned_from_what_came_before_it_alone():
    """The bet in force is not changed by samples it is placed on, nor by the half of the holdout it is tested on."""
    rng = np.random.default_rng(0)
    y = np.arange(800) % K
    held = outputs(rng, y)
    stream = [unseen(rng, 10, 0.3) for _ in range(30)]
    other = held.copy()
    tested = np.zeros(len(y), dtype=bool)
    for c in range(K):
        tested[np.flatnonzero(y == c)[1::2]] = True
    other[tested] = outputs(rng, y[tested])
    slopes = []
    for rows in (held, other):
        check = Bets().fit(rows, y)
        for batch in stream[:26]:
            check.update(batch)
        slopes.append(check._directions.slopes.copy())
        assert slopes[-1].any()
        for batch in stream[26:]:
            check.update(batch)
        np.testing.assert_array_equal(check._directions.slopes, slopes[-1])
    np.testing.assert_array_equal(*slopes)


def test_the_account_of_directions_is_the_transcribed_one():
    """Two directions, one after the other: sums over single samples, and the sum of bets on each of the holdout."""
    rng = np.random.default_rng(5)
    y = np.arange(800) % K
    held = outputs(rng, y)
    check = Bets().fit(held, y)
    check._room = np.inf
    learned: Directions = check._directions
    tested = np.concatenate([np.flatnonzero(y == c)[1::2] for c in range(K)])
    tested.sort()
    logs, classes = np.log(np.maximum(held[tested], 1e-8)), y[tested]
    guess = logs.argmax(axis=1)
    confusion = np.array([np.bincount(guess[classes == c], minlength=K) / (classes == c).sum() for c in range(K)])
    residuals_of_stream, tilts = [], np.zeros(len(tested))
    for renewal in range(3):
        slopes, centres = learned.slopes.copy(), learned.centres.copy()
        batch = unseen(rng, int(np.ceil(renewal_due(renewal))) - sum(map(len, residuals_of_stream)), 0.3)
        rows = np.log(np.maximum(batch, 1e-8))

        def score(rows, slopes=slopes, centres=centres):
            c = rows.argmax(axis=1)
            return np.clip((slopes[c] * rows).sum(axis=1) - centres[c], -1.0, 1.0)

        b = np.linalg.solve(confusion, [score(logs)[classes == c].mean() for c in range(K)])
        residuals_of_stream.append(score(rows) - b[rows.argmax(axis=1)])
        v = np.linalg.solve(confusion.T, np.bincount(rows.argmax(axis=1), minlength=K))
        tilts += (v / np.bincount(classes))[classes] * (score(logs) - b[guess])
        check.update(batch)
    h = np.concatenate(residuals_of_stream)
    np.testing.assert_allclose(learned.moments, [(h**power).sum() for power in (1, 2, 3, 4)])
    np.testing.assert_allclose(learned._tilts, tilts, atol=1e-12)
    assert np.abs(h).max() <= learned._widest
    assert (np.abs(tilts) <= learned._reached[classes]).all()
    bet = np.sqrt(2.0 * 9.0 / ((h**2).sum() + (tilts**2).sum()))
    bet = min(bet, 0.5 / learned._widest, 0.9 / learned._reached.max())
    exact = np.log1p(bet * h).sum() + np.log1p(-bet * tilts).sum()
    assert exact - 0.3 < learned._log_evidence(9.0) <= exact


def test_the_polynomial_is_below_the_logarithm():
    x = np.linspace(-0.5, 0.5, 1001)
    assert (x - x**2 / 2 + x**3 / 3 - 0.4237 * x**4 <= np.log1p(x) + 1e-15).all()
