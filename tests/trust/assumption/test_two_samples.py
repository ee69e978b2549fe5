"""Evidence of a stream against a holdout, sample by sample."""

import numpy as np
import pytest

from baserate.trust.assumption.regions import DOUBT_EDGES, DOUBT_GRADES, RANGES, count_cells, references, regions
from baserate.trust.assumption.two_samples import log_evidence, residuals

from .four_classes import K, outputs


def test_evidence_is_the_transcribed_product():
    """The product over single samples, as the module's text has it."""
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(400) % K)
    held, stream = outputs(rng, y), outputs(rng, rng.integers(K, size=1000), noise=1.8)
    aside = references(held[:0])
    edges = np.array([DOUBT_EDGES, DOUBT_EDGES])
    counts, holdout = np.zeros((2, 1, K * RANGES)), np.zeros((2, K, K * RANGES))
    count_cells(stream, *aside, edges, counts)
    for c in range(K):
        count_cells(held[y == c], *aside, edges, holdout[:, c : c + 1])
    tests = regions(K, DOUBT_GRADES)
    tested = residuals(tests.values, holdout[0])
    logs = np.linspace(5.0, 15.0, len(tests.values))
    out = log_evidence(counts[0, 0], tested, logs)
    assert log_evidence(np.zeros_like(counts[0, 0]), tested, logs) is None
    confusion = np.array([np.bincount(held[y == c].argmax(axis=1), minlength=K) / (y == c).sum() for c in range(K)])
    v = np.linalg.solve(confusion.T, np.bincount(stream.argmax(axis=1), minlength=K))
    compared = 0
    for g, (c, edge) in enumerate(zip(tests.classes, tests.edges, strict=True)):
        if edge < 0:
            continue

        def value(rows, c=c, edge=edge):
            inside = 1.0 - rows.max(axis=1) > DOUBT_EDGES[edge]
            return inside & ((c < 0) | (rows.argmax(axis=1) == c))

        b = np.linalg.solve(confusion, [value(held[y == j]).mean() for j in range(K)])
        h, e = value(stream) - b[stream.argmax(axis=1)], value(held) - b[held.argmax(axis=1)]
        weight = v[y] / np.bincount(y)[y]
        variance = (h**2).sum() + (weight**2 * e**2).sum()
        side = 0 if h.sum() > 0 else 1
        if abs(h.sum()) <= 2.5 * np.sqrt(variance) or variance < 1e-9:
            assert (out[g] == -np.inf).all()
            continue
        sign = 1 - 2 * side
        possible = np.array([g_ - b[j] for j in range(K) for g_ in ((0.0, 1.0) if c < 0 or c == j else (0.0,))])
        worst = max((-sign * possible).max(), (sign * np.outer(v / np.bincount(y), possible)).max())
        bet = sign * min(np.sqrt(2.0 * logs[g] / variance), 0.9 / worst)
        expected = np.log1p(bet * h).sum() + np.log1p(-bet * weight * e).sum()
        assert out[g, side] == pytest.approx(expected, abs=1e-10)
        assert out[g, 1 - side] == -np.inf
        compared += 1
    assert compared >= 5


def test_the_bets_on_the_holdout_cancel_the_error_in_b():
    """To first order, another b changes nothing: residuals of the holdout have mean zero in every class."""
    rng = np.random.default_rng(2)
    holdout = rng.integers(1, 20, size=(K, K * RANGES)).astype(float)
    holdout[:, :] += 100.0 * np.repeat(np.eye(K), RANGES, axis=1)
    tested = residuals(regions(K, DOUBT_GRADES).values, holdout)
    np.testing.assert_allclose(tested.values @ holdout.T, 0.0, atol=1e-9)
