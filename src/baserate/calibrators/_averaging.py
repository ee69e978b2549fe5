"""The average calibration map over all widths of its priors.

The prior of a map's scales and biases is hierarchical: a common scale t with the prior of `TemperatureScaling`,
``scales[c] = t (1 + N(0, spread^2))``, ``biases[c] = N(0, width^2)``. Every pair (spread, width) of a grid that begins
at zero is equally probable beforehand. Around the estimate the log-likelihood is a parabola, so that each pair has its
best map and its evidence (the marginal likelihood of the holdout) in closed form; the estimate is the average of these
maps, weighted by their evidence.
"""

import itertools
from typing import NamedTuple

import numpy as np

from baserate.calibrators._fitting import FIRST_SDS, Objective, fit_map, newton, one_thread
from baserate.protocols import FloatArray, IntArray

_SPREADS = (0.0, 0.03, 0.1, 0.3)  # standard deviations of the scales, relative to their common value
_WIDTHS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)  # standard deviations of the biases
_ROUNDS = 20  # largest number of parabolas; about five are usual
_LIGHT = 1e-6  # weight below which a pair is dropped
_STILL = 1e-9  # squared length of a step, in nats per sample, that ends the iteration


class Average(NamedTuple):
    """A map, its log-likelihood on the holdout, and its effective number of parameters."""

    scales: FloatArray
    biases: FloatArray
    value: float
    freedom: float


class Parabola:
    """A quadratic approximation of the log-likelihood, with the prior of the common scale.

    It is a function of u = (t - 1, scales - t, biases), whose prior is around zero.

    Parameters
    ----------
    theta : (2 k,) array
        Scales and biases around which it is made.
    gradient, hessian : arrays
        Derivatives of *minus* the log-likelihood there.
    """

    def __init__(self, theta: FloatArray, gradient: FloatArray, hessian: FloatArray) -> None:
        k = len(theta) // 2
        # The origin is the identity map; h is the slope there.
        h = hessian @ (theta - np.repeat([1.0, 0.0], k)) - gradient
        self.h = np.concatenate([[h[:k].sum()], h])
        row = hessian[:k].sum(axis=0)
        self.curvature = np.block(
            [[row[:k].sum()[np.newaxis, np.newaxis], row[np.newaxis]], [row[:, np.newaxis], hessian]]
        )
        self.k = k

    def best(self, spread: float, width: float) -> tuple[FloatArray, float, float]:
        """Return the best scales and biases under a prior, its log-evidence, and the number of free parameters.

        The log-evidence is relative to that of the identity map, up to a constant that is the same for every prior.
        """
        k = self.k
        sds = np.repeat([1.0, spread, width], [1, k, k])
        precision = np.eye(2 * k + 1)
        precision[0, 0] = 0.0  # the prior of the common scale is in the parabola
        information = sds[:, np.newaxis] * self.curvature * sds
        posterior = precision + information
        covariance = np.linalg.inv(posterior)
        u = sds * (covariance @ (sds * self.h))
        evidence = 0.5 * float(self.h @ u) - 0.5 * float(np.linalg.slogdet(posterior)[1])
        theta = np.concatenate([1.0 + u[0] + u[1 : k + 1], u[k + 1 :]])
        return theta, evidence, float(np.sum(covariance * information))


def fit_average(logs: FloatArray, labels: IntArray) -> Average:
    """Fit the average map.

    The parabola is made around the estimate, and the estimate from the parabola, in turns. Beyond 320 classes that
    would be slow, and the map is that of `BCTS`, with the most probable width: so many biases leave little doubt.
    """
    objective = Objective(logs, labels, tied=False, biased=True)
    if objective.dense:
        with one_thread():
            return _fit_average(objective)
    scales, biases, value, _, bias_sd = fit_map(logs, labels, tied=True, biased=True)
    _, _, (_, _, means, _, _, squares, _, _) = objective.sums(np.concatenate([scales, biases]))
    curvature = means - squares
    return Average(scales, biases, value, 1.0 + float(np.sum(curvature / (curvature + bias_sd**-2.0))))


def _fit_average(objective: Objective) -> Average:
    n, k = objective.logs.shape
    theta = newton(objective, np.repeat([1.0, 0.0], k), FIRST_SDS, rough=True)
    pairs = list(itertools.product(_SPREADS, _WIDTHS))
    for _ in range(_ROUNDS):
        _, gradient, hessian = objective(theta, (np.inf, np.inf))
        parabola = Parabola(theta, gradient, hessian)
        common = float(theta[:k].mean())
        found = [parabola.best(spread * common, width) for spread, width in pairs]
        evidence = np.array([e for _, e, _ in found])
        weights = np.exp(evidence - evidence.max())
        weights /= weights.sum()
        step = weights @ np.array([t for t, _, _ in found]) - theta
        freedom = float(weights @ [f for _, _, f in found])
        while (theta + step)[:k].min() <= 0.0:  # a scale can only be positive
            step *= 0.5
        theta = theta + step
        pairs = [pair for pair, weight in zip(pairs, weights, strict=True) if weight > _LIGHT]
        if float(step @ hessian @ step) < _STILL * n:
            break
    scales, biases = objective.split(theta)
    biases -= biases.mean()
    return Average(scales, biases, objective.sums(theta)[0], freedom)
