"""The margin of a holdout: how far the likeliest class mix may be from the source by its faults alone."""

import numpy as np

from baserate.protocols import FloatArray, IntArray

_SURE = 2.0  # standard errors


def holdout_margin(proba: FloatArray, labels: IntArray, source_prior: FloatArray, *, sampled: bool) -> FloatArray:
    """(k,) by how much the likeliest class mix of an endless stream like the source may differ from the source prior.

    It would not differ if the probabilities were calibrated, and the source prior known. On the holdout their mean is
    off by a residual, and is itself the mean of a sample; one step of Newton's method, exact for small differences,
    says where the likelihood's maximum moves by the residual, and by two standard errors of the mean.

    Parameters
    ----------
    proba, labels
        The holdout, calibrated.
    source_prior : (k,) array
        The class mix that the probabilities assume. Samples count by it, if the holdout has another.
    sampled : bool
        Whether the source prior is the holdout's own, and so but a sample of the source's. Otherwise only what differs
        within a class is left to chance.
    """
    n, k = proba.shape
    counts = np.maximum(np.bincount(labels, minlength=k), 1)
    weight = (source_prior / counts)[labels][:, np.newaxis]
    told = np.eye(k)[labels]
    information = (weight * proba).T @ proba + np.diag(source_prior) / n
    step = source_prior[:, np.newaxis] * np.linalg.inv(information)
    fault = step @ ((weight * proba).sum(axis=0) - source_prior)
    moved = proba @ step.T
    centre = (weight * moved).sum(axis=0) if sampled else ((told / counts).T @ moved)[labels]
    return np.asarray(np.abs(fault) + _SURE * np.sqrt((weight**2 * (moved - centre) ** 2).sum(axis=0)))
