"""Maximum a posteriori fits of the calibration map, and the choice of their priors' widths.

Minus the log-posterior is convex in (scales, biases), so there is one optimum, which Newton's method finds.
"""

import functools
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from baserate.calibrators._softmax import take_sums
from baserate.protocols import FloatArray, IntArray

SCALE_PRIOR = 1.0
"""Weight of the prior ``mean(s - log s)`` of the scales, in samples."""
FIRST_SDS = (0.16, 1.28)
"""Initial standard deviations, of scales and biases."""
_SDS = 0.01 * 2.0 ** np.arange(10)  # candidates for the standard deviation of a Gaussian prior
_ROUNDS = 6  # largest number of alternations of fitting and choosing; two or three are usual
_DENSE = 640  # parameters up to which the Hessian is formed
_BLOCK = 1_000_000  # numbers in memory at a time while it is formed
_ROUGH = 1e-3  # squared Newton decrement (twice the remaining gain, in nats) at which widths can be chosen
_EXACT = 1e-18  # the same, per sample, after which one more full step is exact to rounding
_MOST_STEPS = 100  # largest number of Newton steps; about five are usual
_FLAT = 1e-9  # curvature below which a class carries no information


class Fit(NamedTuple):
    """A fitted map, its log-likelihood on the holdout, and the priors' standard deviations (zero: not fitted)."""

    scales: FloatArray
    biases: FloatArray
    value: float
    scale_sd: float
    bias_sd: float


class Objective:
    """Minus the log-posterior of a map, as a function of one vector of parameters.

    The parameters are (scale) for the temperature, (scale, k biases) with tied scales, (k scales, k biases) with free
    ones.

    Parameters
    ----------
    logs : (n, k) array
        Log-probabilities of the holdout.
    labels : (n,) array of int
        Its labels.
    tied : bool
        One scale for all classes.
    biased : bool
        A bias per class.
    """

    def __init__(self, logs: FloatArray, labels: IntArray, *, tied: bool, biased: bool) -> None:
        self.logs, self.labels, self.tied, self.biased = logs, labels, tied, biased
        k = logs.shape[1]
        self.n_scales = 1 if tied else k
        self.n_parameters = self.n_scales + (k if biased else 0)
        self.dense = self.n_parameters <= _DENSE

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return scales and biases of all classes."""
        k = self.logs.shape[1]
        scales = np.full(k, theta[0]) if self.tied else theta[:k].copy()
        biases = theta[self.n_scales :].copy() if self.biased else np.zeros(k)
        return scales, biases

    def sums(self, theta: FloatArray, outer: FloatArray | None = None) -> tuple[float, float, FloatArray]:
        """Return the results of `take_sums`; the Gram matrix of its weights is added to `outer`, if given."""
        scales, biases = self.split(theta)
        n, k = self.logs.shape
        sums = np.zeros((8, k))
        value = squared_means = 0.0
        width = 0 if outer is None else len(outer)
        rows = n if outer is None else 1 + _BLOCK // width
        for start in range(0, n, rows):  # in blocks, to limit the memory for the weights
            part = slice(start, min(start + rows, n))
            weights = np.empty((part.stop - start, width))
            got = take_sums(self.logs[part], self.labels[part], scales, biases, sums, weights)
            value, squared_means = value + got[0], squared_means + got[1]
            if outer is not None:
                outer += weights.T @ weights
        return value, squared_means, sums

    def __call__(self, theta: FloatArray, sds: tuple[float, float]) -> tuple[float, FloatArray, FloatArray]:
        """Return value, gradient, and Hessian, or the diagonal of the Hessian if there are many parameters."""
        k, m, p = self.logs.shape[1], self.n_scales, self.n_parameters
        outer = np.zeros((p, p)) if self.dense and self.biased else None
        log_likelihood, squared_means, sums = self.sums(theta, outer)
        d_scales, d_biases, m0, m1, m2, s0, _, s2 = sums
        s, weight = theta[:m], SCALE_PRIOR / m
        value = -log_likelihood + weight * float(np.sum(s - 1.0 - np.log(s)))
        gradient = np.empty(p)
        gradient[:m] = weight * (1.0 - 1.0 / s) - (d_scales.sum() if self.tied else d_scales)
        curvature = weight / s**2
        spread = s - s.mean()
        if not self.tied:
            value += float(spread @ spread) / (2.0 * sds[0] ** 2)
            gradient[:m] += spread / sds[0] ** 2
        if not self.biased:
            return value, gradient, (curvature + m2.sum() - squared_means)[np.newaxis]
        b = theta[m:]
        value += float(b @ b) / (2.0 * sds[1] ** 2)
        gradient[m:] = b / sds[1] ** 2 - d_biases
        precision = 1.0 / sds[1] ** 2
        if not self.dense:
            scale_part = m2.sum() - squared_means if self.tied else m2 - s2 + (1.0 - 1.0 / k) / sds[0] ** 2
            return value, gradient, np.concatenate([curvature + scale_part, m0 - s0 + precision])
        assert outer is not None
        hessian = -outer
        i, j = np.arange(m), np.arange(m, p)
        hessian[i, i] += curvature + (m2.sum() if self.tied else m2)
        hessian[j, j] += m0 + precision
        if self.tied:
            hessian[0, j] += m1
            hessian[j, 0] += m1
        else:
            hessian[i, j] += m1
            hessian[j, i] += m1
            hessian[:m, :m] += (np.eye(m) - 1.0 / m) / sds[0] ** 2
        return value, gradient, hessian


@functools.cache
def _linear_algebra() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Use one thread: the matrices are small, and the number of threads would change the last bits."""
    limited: AbstractContextManager[object] = _linear_algebra().limit(limits=1, user_api="blas")
    return limited


def fit_map(logs: FloatArray, labels: IntArray, *, tied: bool, biased: bool) -> Fit:
    """Fit a map; the widths of the priors of biases and of the scales' spread maximise the holdout's evidence.

    One temperature is fitted first. Then the fit at given widths and the choice of widths alternate until the choice is
    stable, or returns to an earlier one; then the narrower of the last two is taken.
    """
    with one_thread():
        return _fit_map(logs, labels, tied=tied, biased=biased)


def _fit_map(logs: FloatArray, labels: IntArray, *, tied: bool, biased: bool) -> Fit:
    one = Objective(logs, labels, tied=True, biased=False)
    theta = newton(one, np.ones(1), FIRST_SDS, rough=biased)
    objective, sds = one, (0.0, 0.0)
    if biased:
        objective = Objective(logs, labels, tied=tied, biased=True)
        theta = np.concatenate([np.full(objective.n_scales, theta[0]), np.zeros(logs.shape[1])])
        solve = newton if objective.dense else _quasi_newton
        sds = FIRST_SDS
        seen = {sds}
        for _ in range(_ROUNDS):
            theta = solve(objective, theta, sds, rough=True)
            before, sds = sds, _choose_sds(objective, theta)
            if sds in seen:
                sds = min(before, sds)
                break
            seen.add(sds)
        theta = solve(objective, theta, sds, rough=False)
        if tied:
            sds = (0.0, sds[1])
    scales, biases = objective.split(theta)
    biases -= biases.mean()  # which the prior has done already, if Newton's method was used
    value = objective.sums(theta)[0]
    return Fit(scales, biases, value, *sds)


def newton(objective: Objective, theta: FloatArray, sds: tuple[float, float], *, rough: bool) -> FloatArray:
    """Minimise by Newton's method; steps are halved until they stay in the domain and lower the objective."""
    m = objective.n_scales
    tolerance = _ROUGH if rough else _EXACT * len(objective.logs)
    value, gradient, hessian = objective(theta, sds)
    for _ in range(_MOST_STEPS):
        step = np.linalg.solve(hessian, gradient)
        decrement = float(gradient @ step)
        size, there = 1.0, theta - step
        if decrement < tolerance:
            return there if there[:m].min() > 0.0 else theta
        while True:
            if there[:m].min() > 0.0:
                new = objective(there, sds)
                if new[0] <= value - 1e-4 * size * decrement + 1e-13 * abs(value):
                    break
            size *= 0.5
            if size < 1e-9:  # the remaining gain is below rounding
                return theta
            there = theta - size * step
        theta, (value, gradient, hessian) = there, new
    return theta


def _quasi_newton(objective: Objective, theta: FloatArray, sds: tuple[float, float], *, rough: bool) -> FloatArray:
    """Minimise by L-BFGS, in units in which every parameter has about the same curvature."""
    from scipy.optimize import Bounds, minimize  # slow to import, and seldom needed

    unit = 1.0 / np.sqrt(objective(theta, sds)[2])

    def scaled(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient, _ = objective(x * unit, sds)
        return value, gradient * unit

    m = objective.n_scales
    # The prior keeps scales away from zero; the bound keeps line searches from trying negative ones.
    low = np.concatenate([1e-6 / unit[:m], np.full(len(theta) - m, -np.inf)])
    found = minimize(
        scaled,
        theta / unit,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low, np.full(len(theta), np.inf)),
        options={"maxiter": 500, "maxcor": 20, "ftol": 1e-10 if rough else 1e-14, "gtol": 1e-6},
    )
    return np.asarray(found.x * unit, dtype=np.float64)


def _choose_sds(objective: Objective, theta: FloatArray) -> tuple[float, float]:
    """Return the widths of the priors of scales and biases that maximise the evidence of the holdout.

    Around the fit the log-likelihood is approximated by a parabola in each class's parameters: a noisy measurement of
    its bias, and of its scale with the bias free.
    """
    _, _, (d_scales, d_biases, m0, m1, m2, s0, s1, s2) = objective.sums(theta)
    scales, biases = objective.split(theta)
    bias_sd = _most_probable_sd(biases, d_biases, m0 - s0)
    if objective.tied:
        return FIRST_SDS[0], bias_sd
    slope = (m1 - s1) / np.maximum(m0 - s0, _FLAT)
    curvature = m2 - s2 - slope * (m1 - s1)
    return _most_probable_sd(scales - scales.mean(), d_scales - slope * d_biases, curvature), bias_sd


def _most_probable_sd(values: FloatArray, gradient: FloatArray, curvature: FloatArray) -> float:
    """Return the most probable width of the prior of k values that sum to zero, and so have k - 1 degrees of freedom.

    With the factor k / (k - 1) the evidence is exact, for parabolas, with two classes, or with classes that are alike.
    """
    among = len(values) / (len(values) - 1.0)
    known = curvature > _FLAT
    noise = 1.0 / (among * curvature[known])
    modes = values[known] + gradient[known] * noise
    variances = _SDS[:, np.newaxis] ** 2 + noise
    evidence = -0.5 * np.sum(np.log(variances) + among * modes**2 / variances, axis=1)
    return float(_SDS[evidence.argmax()])
