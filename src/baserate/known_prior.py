"""Re-weighting to a class mix that is known: nothing is tracked."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from baserate import simplex
from baserate.protocols import FloatArray
from baserate.validation import check_prior, check_proba, check_real

__all__ = ["reweight"]


def reweight(proba: ArrayLike, source_prior: ArrayLike, target_prior: ArrayLike) -> FloatArray:
    """Return a model's probabilities for another class mix than the one that they assume.

    Each probability is multiplied by its class's share in the target over its share in the source, and rows are
    normalised. That is exact where the probabilities are calibrated for the source's mix, and classes look the same in
    both. It undoes over- and undersampling: the source prior is the class mix after resampling.

    Parameters
    ----------
    proba : (n, k) array, or (n,) array
        The model's probabilities; of two classes, those of the second one are enough.
    source_prior : (k,) array, or float
        The class mix that the probabilities assume, usually that of the training data as the model saw it. Of two
        classes, the share of the second one is enough.
    target_prior : (k,) array, or float
        The class mix to predict for.

    Returns
    -------
    (n, k) array
        A row whose every possible class has no share in the target is returned as it came.

    Examples
    --------
    A fraud model was trained on as many frauds as other payments; in fact, 1 % are fraud:

    >>> reweight([0.5, 0.9, 0.99], source_prior=0.5, target_prior=0.01)[:, 1].round(3)
    array([0.01 , 0.083, 0.5  ])
    """
    rows = check_proba(proba)
    k = rows.shape[1]
    source = check_mix(source_prior, k, "source_prior", positive=True)
    target = check_mix(target_prior, k, "target_prior")
    return simplex.reweight(rows, simplex.log_ratio(target, source)[np.newaxis], np.array([0, len(rows)]))


def check_mix(prior: ArrayLike, n_classes: int, name: str, *, positive: bool = False) -> FloatArray:
    """Check a class mix, of which one number is the share of the second of two classes."""
    if isinstance(prior, Real) and n_classes == 2:
        share = check_real(prior, name, 0.0, 1.0)
        prior = [1.0 - share, share]
    return check_prior(prior, n_classes, name, positive=positive)
