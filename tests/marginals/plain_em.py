"""EM for the class mix of a batch, written as in the literature."""

import numpy as np


def plain_em(proba, base, tol, max_iter=1_000_000):
    """Steps of EM from the mean output, until one changes the mix by less than `tol` in total."""
    q = proba.mean(axis=0)
    for _ in range(max_iter):
        posterior = proba * (q / base)
        posterior /= posterior.sum(axis=1, keepdims=True)
        last, q = q, posterior.mean(axis=0)
        if np.abs(q - last).sum() < tol:
            break
    return q


def mean_log_likelihood(proba, base, q):
    return np.log((proba / base) @ q).mean()


def gradient(proba, base, q):
    """Of the mean log-likelihood. At the maximum it is at most 1, and 1 where q is positive."""
    rows = proba / base
    return (rows / (rows @ q)[:, np.newaxis]).mean(axis=0)
