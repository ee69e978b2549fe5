"""How far from the source mix a likelihood leads by the holdout's fault alone."""

import numpy as np

from baserate.protocols import FloatArray, IntArray

_SURE = 2.0  # standard errors


def slack(proba: FloatArray, labels: IntArray, source_prior: FloatArray, *, sampled: bool) -> FloatArray:
    """(k,) by how much the likeliest mix of an endless stream like the source may differ from the source prior.

    It would not differ if the probabilities were honest, and the source prior known. On the holdout they are off by a
    mean residual, probability less label, of which the holdout knows the size and its standard error; one step of
    Newton's method, exact for small residuals, says where the likelihood's maximum moves by it.

    Parameters
    ----------
    proba, labels
        The holdout, calibrated.
    source_prior : (k,) array
        The class mix that the probabilities assume. Samples count by it, if the holdout has another.
    sampled : bool
        Whether the source prior is the holdout's own, and so but a sample of the source's.
    """
    n, k = proba.shape
    weight = (source_prior / np.bincount(labels, minlength=k))[labels][:, np.newaxis]
    told = np.eye(k)[labels]
    information = (weight * proba).T @ proba + np.diag(source_prior) / n
    moved = (proba - told) @ (source_prior[:, np.newaxis] * np.linalg.inv(information)).T
    fault = (weight * moved).sum(axis=0)
    moved -= fault
    if sampled:
        moved += told - source_prior
    return np.asarray(np.abs(fault) + _SURE * np.sqrt((weight**2 * moved**2).sum(axis=0)))
