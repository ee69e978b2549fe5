"""The average over priors: the evidence, the best map of each prior, the number of free parameters, the limits."""

import numpy as np
import pytest

from baserate.calibrators import BCTS, AutoCalibrator, VectorScaling, _averaging, _fitting
from baserate.calibrators._averaging import Parabola, fit_average
from baserate.calibrators._fitting import Objective

from .honest import distort, draw


def parabola_at(logs, y, theta):
    _, gradient, hessian = Objective(logs, y, tied=False, biased=True)(theta, (np.inf, np.inf))
    return Parabola(theta, gradient, hessian)


def log_likelihood(logs, y, t, d0, d1, bias):
    """For two classes, on the grid of all arguments."""
    sign = 1 - 2 * y
    margin = (t + d0) * logs[:, 0] - (t + d1) * logs[:, 1] + bias
    return -np.logaddexp(0.0, -sign * margin).sum(axis=-1)


@pytest.mark.parametrize("how", [{}, {"biases": np.array([0.4, -0.4])}, {"temperature": 0.6}])
def test_evidence_of_widths_by_brute_force(how):
    """Only the difference of the biases of two classes matters, which has twice their variance."""
    p, y = draw(np.random.default_rng(3), 500, 2)
    logs = np.log(distort(p, **how))
    found = fit_average(logs, y)
    parabola = parabola_at(logs, y, np.concatenate([found.scales, found.biases]))
    t = np.linspace(0.02, 3.0, 300)[:, np.newaxis, np.newaxis]
    bias = np.linspace(-4.0, 4.0, 401)[np.newaxis, :, np.newaxis]
    total = log_likelihood(logs, y, t, 0.0, 0.0, bias) - (t - np.log(t))[..., 0]

    def evidence(width):
        prior = np.exp(-((bias[..., 0] / (2 * width)) ** 2)) / width if width else 1.0 * (np.abs(bias[..., 0]) < 1e-9)
        step = 0.02 / np.sqrt(4 * np.pi) if width else 1.0
        return np.log(np.sum(np.exp(total - total.max()) * prior * step))

    for width in (0.1, 0.3, 1.0):
        gain = parabola.best(0.0, width)[1] - parabola.best(0.0, 0.0)[1]
        assert gain == pytest.approx(evidence(width) - evidence(0.0), rel=0.1, abs=0.1)


@pytest.mark.parametrize("how", [{}, {"temperature": 0.6}])
def test_evidence_of_spreads_by_brute_force(how):
    p, y = draw(np.random.default_rng(5), 150, 2)
    logs = np.log(distort(p, **how))
    found = fit_average(logs, y)
    parabola = parabola_at(logs, y, np.concatenate([found.scales, found.biases]))
    t = np.linspace(0.02, 2.5, 120)[:, np.newaxis, np.newaxis, np.newaxis]
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    weights = weights / weights.sum()

    def evidence(spread):
        d0 = spread * nodes[np.newaxis, :, np.newaxis, np.newaxis]
        d1 = spread * nodes[np.newaxis, np.newaxis, :, np.newaxis]
        scales = np.maximum(np.stack(np.broadcast_arrays(t + d0, t + d1))[..., 0], 1e-3)
        total = log_likelihood(logs, y, t, d0, d1, 0.0) - 0.5 * (scales - np.log(scales)).sum(axis=0)
        return np.log(np.sum(np.exp(total + 80.0) * np.multiply.outer(weights, weights)))

    for spread in (0.03, 0.1, 0.3):
        gain = parabola.best(spread, 0.0)[1] - parabola.best(0.0, 0.0)[1]
        assert gain == pytest.approx(evidence(spread) - evidence(0.0), abs=0.1)


@pytest.mark.parametrize("spread", [0.05, 0.3])
@pytest.mark.parametrize("width", [0.1, 2.0])
def test_one_prior_alone_gives_its_most_probable_map(spread, width, monkeypatch):
    monkeypatch.setattr(_averaging, "_SPREADS", (spread,))
    monkeypatch.setattr(_averaging, "_WIDTHS", (width,))
    rng = np.random.default_rng(1)
    p, y = draw(rng, 300, 4)
    logs = np.log(distort(p, 0.5, rng.standard_normal(4)))
    found = fit_average(logs, y)
    objective = Objective(logs, y, tied=False, biased=True)
    start = np.repeat([1.0, 0.0], 4)
    best = _fitting.newton(objective, start, (spread * found.scales.mean(), width), rough=False)
    np.testing.assert_allclose(found.scales, best[:4], atol=1e-3)
    np.testing.assert_allclose(found.biases, best[4:], atol=1e-3)


def test_the_number_of_free_parameters():
    p, y = draw(np.random.default_rng(2), 400, 5)
    parabola = parabola_at(np.log(p), y, np.repeat([1.0, 0.0], 5))
    assert parabola.best(0.0, 0.0)[2] == pytest.approx(1.0)  # a temperature
    assert parabola.best(0.0, 1e4)[2] == pytest.approx(5.0, abs=1e-4)  # and biases, of which only differences count
    assert parabola.best(1e4, 1e4)[2] == pytest.approx(9.0, abs=1e-4)
    free = [parabola.best(0.0, width)[2] for width in (0.0, 0.01, 0.1, 1.0)]
    assert free == sorted(free)
    assert free[1] < 1.1


def test_a_map_under_no_bias_and_no_spread_is_a_temperature():
    p, y = draw(np.random.default_rng(2), 400, 5)
    theta, *_ = parabola_at(np.log(p), y, np.repeat([0.9, 0.1], 5)).best(0.0, 0.0)
    np.testing.assert_allclose(theta[:5], theta[0])
    np.testing.assert_array_equal(theta[5:], 0.0)


def test_the_average_lies_between_its_maps():
    """Weights are the evidence: recomputed around the estimate, they give it back."""
    rng = np.random.default_rng(4)
    p, y = draw(rng, 200, 3)
    logs = np.log(distort(p, 0.7, 0.3 * rng.standard_normal(3)))
    found = fit_average(logs, y)
    theta = np.concatenate([found.scales, found.biases])
    parabola = parabola_at(logs, y, theta)
    common = found.scales.mean()
    maps = [parabola.best(s * common, w) for s in _averaging._SPREADS for w in _averaging._WIDTHS]
    evidence = np.array([e for _, e, _ in maps])
    weights = np.exp(evidence - evidence.max()) / np.exp(evidence - evidence.max()).sum()
    np.testing.assert_allclose(weights @ np.array([m for m, _, _ in maps]), theta, atol=1e-3)
    assert weights @ np.array([f for _, _, f in maps]) == pytest.approx(found.freedom, abs=0.01)
    assert weights.max() < 0.5  # a choice would have thrown away more than half


def test_with_many_samples_nothing_is_shrunk():
    rng = np.random.default_rng(6)
    p, y = draw(rng, 50_000, 4)
    shown = p ** np.array([2.0, 1.0, 0.7, 1.0]) * np.exp(rng.standard_normal(4))
    shown /= shown.sum(axis=1, keepdims=True)
    auto, vector = AutoCalibrator().fit(shown, y), VectorScaling().fit(shown, y)
    np.testing.assert_allclose(auto.scales_, vector.scales_, rtol=0.01)
    np.testing.assert_allclose(auto.biases_, vector.biases_, atol=0.01)
    assert auto.degrees_of_freedom_ == pytest.approx(7.0, abs=0.1)


def test_with_few_samples_biases_are_shrunk():
    """Three samples a class show little; more would bring the biases out."""
    biases = np.array([1.0, -1.0, 0.5, -0.5])
    sizes = {}
    for n in (12, 100, 2000):
        found = []
        for seed in range(10):
            p, y = draw(np.random.default_rng([seed, n]), n, 4)
            found.append(fit_average(np.log(distort(p, 1.0, biases)), y).biases @ -biases / (biases @ biases))
        sizes[n] = np.mean(found)
    assert 0.0 < sizes[12] < sizes[100] < sizes[2000]
    assert sizes[12] < 0.6
    assert sizes[2000] == pytest.approx(1.0, abs=0.1)


def test_many_classes_have_the_map_of_bcts(monkeypatch):
    rng = np.random.default_rng(0)
    p, y = draw(rng, 400, 8)
    p = distort(p, 0.6, rng.standard_normal(8))
    dense = AutoCalibrator().fit(p, y)
    monkeypatch.setattr(_fitting, "_DENSE", 0)
    auto, bcts = AutoCalibrator().fit(p, y), BCTS().fit(p, y)
    np.testing.assert_array_equal(auto.scales_, bcts.scales_)
    np.testing.assert_array_equal(auto.biases_, bcts.biases_)
    assert 1.0 < auto.degrees_of_freedom_ < 9.0
    assert auto.degrees_of_freedom_ == pytest.approx(dense.degrees_of_freedom_, abs=2.0)
    np.testing.assert_allclose(auto.transform(p), dense.transform(p), atol=0.06)
