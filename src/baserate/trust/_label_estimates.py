"""Unbiased estimates of a sample's label from the model's likelihoods."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import FloatArray

_LEAST = 1e-9  # least share of a class, so that likelihood ratios stay finite
_BLIND = 1e-3  # largest bias that rounding explains
_UNKNOWN = 1e12  # mean square for classes that cannot be told apart


class LabelEstimates(NamedTuple):
    """A vector t for every row of the holdout, with ``E[t | class c]`` = the c-th unit vector.

    Attributes
    ----------
    rows : (n, k) array
        The vectors t.
    inverse : (k, k) array
        The matrix that turns a sample's scores into t.
    mix : (k,) array
        The class mix of a stream whose most likely mix is `at`, at which the scores were computed.
    squares : (k, k) array
        ``squares[c, j]``: mean of ``t[j] ** 2`` over class c.
    blind : (k,) array of bool
        Classes that the model cannot tell from others at all.
    """

    rows: FloatArray
    inverse: FloatArray
    mix: FloatArray
    squares: FloatArray
    blind: NDArray[np.bool_]


def label_estimates(
    proba: FloatArray, class_weights: FloatArray, source_prior: FloatArray, at: FloatArray
) -> LabelEstimates:
    """Return the score of the likelihood at the mix `at`, ``s[j] = L[j] / (at . L)``, times its inverse class means.

    Near the most likely mix these are the weights that the likelihood gives to samples, so their spread is that of the
    estimate. They are very large where the model can hardly tell classes apart. Where it cannot at all, they do not
    exist, and their squares are set to 1e12.
    """
    mix = np.maximum(at, _LEAST)
    likelihoods = proba / source_prior
    scores = likelihoods / (likelihoods @ (mix / mix.sum()))[:, np.newaxis]
    means = class_weights.T @ scores
    try:
        inverse = np.linalg.inv(means)
    except np.linalg.LinAlgError:  # classes with the same outputs
        inverse = np.linalg.pinv(means)
    rows = scores @ inverse
    squares = class_weights.T @ rows**2
    blind = np.abs(class_weights.T @ rows - np.eye(len(means))).max(axis=0) > _BLIND
    squares[:, blind] = _UNKNOWN
    return LabelEstimates(rows, inverse, inverse.sum(axis=0), squares, blind)
