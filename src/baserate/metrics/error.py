"""Error rate of predictions, and squared error of tracked class mixes."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.validation import check_labels, check_path, check_proba


def error_rate(proba: ArrayLike, y: ArrayLike, *, sampled: bool = False) -> float:
    """Return the share of wrong predictions.

    Parameters
    ----------
    proba : (n, k) array
        Predicted probabilities.
    y : (n,) array of int
        True labels.
    sampled : bool
        ``False``: the prediction is the most probable class. ``True``: it is sampled from the probabilities, as in line
        3 of the paper's Algorithm 1; the exact expectation is returned.

    Examples
    --------
    >>> error_rate([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    0.5
    >>> round(error_rate([[0.9, 0.1], [0.6, 0.4]], [0, 1], sampled=True), 12)
    0.35
    """
    checked = check_proba(proba)
    labels = check_labels(y, *checked.shape)
    if len(labels) == 0:
        raise ValueError("proba is empty; the error rate of no samples is not defined.")
    if sampled:
        return float(1.0 - checked[np.arange(len(labels)), labels].mean())
    return float((checked.argmax(axis=1) != labels).mean())


def marginal_mse(estimates: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean over rounds of the squared distance between class mixes (summed over classes).

    Parameters
    ----------
    estimates : (T, k) array
        Tracked class mixes.
    truth : (T, k) array
        The true q_t, or the label frequencies of each batch (`baserate.shifts.frequencies`) as in the paper's tables.
        With frequencies, the result has a floor of about ``mean(1 - |q_t|^2) / n``, however good the estimate.

    Examples
    --------
    >>> round(marginal_mse([[0.5, 0.5], [1.0, 0.0]], [[0.4, 0.6], [1.0, 0.0]]), 12)
    0.01
    """
    tracked = check_path(estimates, name="estimates")
    target = check_path(truth, tracked.shape[1], "truth")
    if len(tracked) != len(target):
        raise ValueError(f"truth has {len(target)} rounds; expected {len(tracked)}, as many as estimates.")
    return float(((tracked - target) ** 2).sum(axis=1).mean())
