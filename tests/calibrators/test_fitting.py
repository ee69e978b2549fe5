"""How maps are fitted: derivatives, the optimum, and the width of the prior on biases and scales."""

import numpy as np
import pytest
from scipy.optimize import minimize

from baserate.calibrators import BCTS, VectorScaling
from baserate.calibrators import _fitting as fitting

from .honest import distort, draw, nats, softmax

SHAPES = {"temperature": (True, False), "bcts": (True, True), "vector": (False, True)}
SDS = (0.3, 0.7)


def posterior(theta, logs, y, shape, sds=SDS):
    """Minus the log-posterior, written out plainly."""
    tied, biased = SHAPES[shape]
    k = logs.shape[1]
    scales = theta[:1] if tied else theta[:k]
    biases = theta[len(scales) :] if biased else np.zeros(k)
    p = softmax(scales * logs + biases)
    value = -np.log(p[np.arange(len(y)), y]).sum() + np.mean(scales - 1 - np.log(scales))
    if not tied:
        value += ((scales - scales.mean()) ** 2).sum() / (2 * sds[0] ** 2)
    return value + (biases**2).sum() / (2 * sds[1] ** 2)


def problem(shape, n=60, k=4, seed=0):
    rng = np.random.default_rng(seed)
    p, y = draw(rng, n, k)
    logs = np.log(distort(p, 0.6, rng.standard_normal(k)))
    tied, biased = SHAPES[shape]
    objective = fitting.Objective(logs, y, tied=tied, biased=biased)
    theta = 0.8 + 0.4 * rng.random(objective.n_parameters)
    if biased:
        theta[objective.n_scales :] = rng.standard_normal(k)
    return objective, logs, y, theta


@pytest.mark.parametrize("block", [10**6, 40])
@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives(shape, block, monkeypatch):
    monkeypatch.setattr(fitting, "_BLOCK", block)  # 40 numbers: the samples come in many blocks
    objective, logs, y, theta = problem(shape)
    value, gradient, hessian = objective(theta, SDS)
    assert value == pytest.approx(posterior(theta, logs, y, shape), rel=1e-12)
    steps = 1e-5 * np.eye(len(theta))
    numeric = [(posterior(theta + h, logs, y, shape) - posterior(theta - h, logs, y, shape)) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-5)
    numeric = [(objective(theta + h, SDS)[1] - objective(theta - h, SDS)[1]) / 2e-5 for h in steps]
    np.testing.assert_allclose(hessian, numeric, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("shape", ["bcts", "vector"])
def test_the_diagonal_of_large_problems_is_that_of_the_hessian(shape):
    objective, *_, theta = problem(shape)
    _, gradient, hessian = objective(theta, SDS)
    objective.dense = False
    _, same, diagonal = objective(theta, SDS)
    np.testing.assert_allclose(gradient, same, rtol=1e-12)
    np.testing.assert_allclose(diagonal, np.diag(hessian), rtol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_optimum_of_an_independent_solver(shape):
    objective, logs, y, _ = problem(shape, n=150)
    tied, biased = SHAPES[shape]
    fit = fitting.fit_map(logs, y, tied=tied, biased=biased)
    sds = (fit.scale_sd or SDS[0], fit.bias_sd or SDS[1])
    start = np.concatenate([np.ones(objective.n_scales), np.zeros(objective.n_parameters - objective.n_scales)])
    bounds = [(1e-3, None)] * objective.n_scales + [(None, None)] * (len(start) - objective.n_scales)
    found = minimize(posterior, start, (logs, y, shape, sds), "L-BFGS-B", bounds=bounds, options={"ftol": 1e-15}).x
    scales, biases = objective.split(found)
    np.testing.assert_allclose(fit.scales, scales, atol=1e-4)
    np.testing.assert_allclose(fit.biases, biases, atol=1e-4)
    mine = np.concatenate([fit.scales[: objective.n_scales], fit.biases if biased else []])
    assert posterior(mine, logs, y, shape, sds) <= posterior(found, logs, y, shape, sds) + 1e-9
    assert fit.value == pytest.approx(nats(softmax(fit.scales * logs + fit.biases), y) * len(y), rel=1e-12)


@pytest.mark.parametrize("cls", [BCTS, VectorScaling])
def test_many_classes_take_another_road_to_the_same_optimum(cls, monkeypatch):
    rng = np.random.default_rng(0)
    p, y = draw(rng, 400, 8)
    p = distort(p, 0.6, rng.standard_normal(8))
    one = cls().fit(p, y)
    monkeypatch.setattr(fitting, "_DENSE", 0)
    other = cls().fit(p, y)
    np.testing.assert_allclose(other.scales_, one.scales_, atol=2e-4)
    np.testing.assert_allclose(other.biases_, one.biases_, atol=2e-4)


@pytest.mark.parametrize("size", [0.0, 0.1, 0.3, 1.0, 3.0])
def test_the_width_of_the_prior_is_the_most_probable_one(size):
    """Against the evidence for two classes, integrated numerically over biases (x, -x)."""
    p, y = draw(np.random.default_rng(9), 300, 2)
    logs = np.log(distort(p, 1.0, [size, -size]))
    fit = fitting.fit_map(logs, y, tied=True, biased=True)
    x = np.linspace(-8.0, 8.0, 4001)
    margin = (2 * y - 1) * fit.scales[0] * (logs[:, 1] - logs[:, 0])
    totals = np.array([-np.logaddexp(0.0, -(margin - (2 * y - 1) * 2 * b)).sum() for b in x])
    likelihood = np.exp(totals - totals.max())
    evidence = [np.sum(likelihood * np.exp(-(x**2) / sd**2)) / sd for sd in fitting._SDS]
    assert abs(int(np.argmax(evidence)) - int(np.searchsorted(fitting._SDS, fit.bias_sd - 1e-9))) <= (size == 0.0)


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("size", [0.1, 0.3])
def test_the_width_on_many_small_holdouts(n, size):
    for seed in range(20):
        p, y = draw(np.random.default_rng([seed, 9]), n, 2)
        logs = np.log(distort(p, 1.0, [size, -size]))
        fit = fitting.fit_map(logs, y, tied=True, biased=True)
        x = np.linspace(-8.0, 8.0, 4001)
        sign = 2 * y - 1
        margin = sign * fit.scales[0] * (logs[:, 1] - logs[:, 0])
        totals = -np.logaddexp(0.0, 2 * x[:, np.newaxis] * sign - margin).sum(axis=1)
        likelihood = np.exp(totals - totals.max())
        evidence = [np.sum(likelihood * np.exp(-(x**2) / sd**2)) / sd for sd in fitting._SDS]
        assert fit.bias_sd == fitting._SDS[np.argmax(evidence)]


def test_a_scale_is_measured_with_its_bias_left_free(monkeypatch):
    rng = np.random.default_rng(0)
    p, y = draw(rng, 60, 4)
    objective = fitting.Objective(np.log(p), y, tied=False, biased=True)
    theta = np.concatenate([0.8 + 0.4 * rng.random(4), rng.standard_normal(4)])
    seen = []
    monkeypatch.setattr(fitting, "_most_probable_sd", lambda *given: seen.append(given) or 0.01)
    fitting._choose_sds(objective, theta)
    _, gradient, hessian = objective(theta, (1e9, 1e9))
    i, s = np.arange(4), theta[:4]
    scales = hessian[i, i] - fitting.SCALE_PRIOR / 4 / s**2
    biases, both = hessian[4 + i, 4 + i], hessian[i, 4 + i]
    slope_s, slope_b = fitting.SCALE_PRIOR / 4 * (1 - 1 / s) - gradient[:4], -gradient[4:]
    (values_b, gradient_b, curvature_b), (values_s, gradient_s, curvature_s) = seen
    np.testing.assert_allclose(values_b, theta[4:])
    np.testing.assert_allclose(gradient_b, slope_b, atol=1e-9)
    np.testing.assert_allclose(curvature_b, biases)
    np.testing.assert_allclose(values_s, s - s.mean())
    np.testing.assert_allclose(curvature_s, scales - both**2 / biases)
    np.testing.assert_allclose(gradient_s, slope_s - both / biases * slope_b, atol=1e-9)


def test_many_classes_may_have_small_scales(monkeypatch):
    p, y = draw(np.random.default_rng(0), 2000, 8)
    p = distort(p, 0.05)
    one = BCTS().fit(p, y)
    monkeypatch.setattr(fitting, "_DENSE", 0)
    assert one.scales_[0] < 0.095
    np.testing.assert_allclose(BCTS().fit(p, y).scales_, one.scales_, rtol=1e-3)
