"""What a model's likelihoods say about a sample's label, without bias for samples of every class."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import FloatArray

_LEAST = 1e-9  # share of a class: likelihood ratios must stay finite
_BLIND = 1e-3  # bias that rounding does not explain
_OPEN = 1e12


class LabelEstimates(NamedTuple):
    """For every row of the holdout a vector t with ``E[t | class c]`` = the c-th unit vector.

    Attributes
    ----------
    rows : (n, k) array
        The vectors t.
    inverse : (k, k) array
        What turns a sample's scores into them.
    mix : (k,) array
        The class mix of a stream whose most likely mix is `at`, where these were made.
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
    """The likelihood's score at the class mix `at`, ``s[j] = L[j] / (at . L)``, times the inverse of its class means.

    Near the most likely mix these are the weights that the likelihood gives to samples, so that their spread is that
    of the estimate. Where the model can hardly tell classes apart they are very large. Where it cannot at all there are
    none, and their squares are set to 1e12.
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
    squares[:, blind] = _OPEN
    return LabelEstimates(rows, inverse, inverse.sum(axis=0), squares, blind)
