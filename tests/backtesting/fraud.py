"""A made-up log of card payments: a model's score, and later whether it was fraud."""

import numpy as np

NAMES = ("good", "fraud")
DISTANCE = 1.8124
"""Between the mean scores of the two classes, in standard deviations: an AUC of 0.9."""
N_HELD = 12_000


def shares(n, *, drift=True):
    """The share of fraud at each payment after the holdout: 1 %, a wave of 8 %, then 2 %."""
    at = np.linspace(0.0, 1.0, n)
    return np.interp(at, [0.0, 0.2, 0.3, 0.6, 0.7, 1.0], [0.01, 0.01, 0.08, 0.08, 0.02, 0.02] if drift else [0.01] * 6)


def scores(y, rng):
    """The probability of fraud by a model that is right where 1 % of the payments are."""
    x = rng.normal(DISTANCE * y, 1.0)
    log_odds = np.log(0.01 / 0.99) + DISTANCE * x - DISTANCE**2 / 2
    return 1.0 / (1.0 + np.exp(-log_odds))


def fraud_log(n=40_000, seed=0, *, drift=True):
    """Probabilities and labels: the holdout, then n payments."""
    rng = np.random.default_rng(seed)
    share = np.concatenate([np.full(N_HELD, 0.01), shares(n, drift=drift)])
    y = (rng.random(len(share)) < share).astype(np.int64)
    p = scores(y, rng)
    return np.column_stack([1 - p, p]), y


def split(proba, y):
    """The arguments of a backtest: the log, and its holdout."""
    held = proba[:N_HELD], y[:N_HELD]
    return {"proba": proba[N_HELD:], "y": y[N_HELD:], "holdout": held, "names": NAMES, "positive": 1}
