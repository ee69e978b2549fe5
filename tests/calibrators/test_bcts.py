"""A temperature and biases: found again, shrunk as suits the holdout, and honest."""

import numpy as np
import pytest

from baserate.calibrators import BCTS, TemperatureScaling
from baserate.state import dumps, loads

from .honest import class_error, distort, draw, ece, nats


@pytest.mark.parametrize("temperature", [0.25, 0.5, 2.0, 4.0])
def test_a_distorting_temperature_is_recovered_beside_biases(temperature):
    p, y = draw(np.random.default_rng(2), 100_000)
    assert BCTS().fit(distort(p, temperature), y).temperature_ == pytest.approx(1 / temperature, rel=0.02)


def test_distorting_biases_are_recovered():
    p, y = draw(np.random.default_rng(3), 100_000, 5)
    biases = np.array([1.0, -1.0, 0.5, -0.5, 0.0])
    bcts = BCTS().fit(distort(p, 0.5, biases), y)
    np.testing.assert_allclose(bcts.biases_, -0.5 * biases, atol=0.05)


@pytest.mark.parametrize(("n", "unbiased_cost"), [(100, 0.006), (200, 0.003)])
def test_shrinkage_suits_the_holdout(n, unbiased_cost):
    """An unbiased model loses next to nothing by biases; with a biased one they are let go."""
    pool, labels = draw(np.random.default_rng(4), 20_000)
    cost, gain, width = [], [], []
    for seed in range(20):
        rng = np.random.default_rng([seed, n])
        p, y = draw(rng, n)
        one, two = TemperatureScaling().fit(p, y), BCTS().fit(p, y)
        cost.append(nats(one.transform(pool), labels) - nats(two.transform(pool), labels))
        biases = 2 * rng.standard_normal(10)
        one, two = (cls().fit(distort(p, 1.0, biases), y) for cls in (TemperatureScaling, BCTS))
        shown = distort(pool, 1.0, biases)
        gain.append(nats(two.transform(shown), labels) - nats(one.transform(shown), labels))
        width.append(two.bias_sd_)
    assert np.mean(cost) < unbiased_cost
    assert np.mean(gain) > 0.3
    assert np.median(width) >= 1.28


@pytest.mark.parametrize("case", ["over-confident", "shifted"])
def test_bcts_is_as_honest_as_the_truth(case):
    errors = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 5])
        how = {"temperature": 0.4} if case == "over-confident" else {"biases": rng.standard_normal(10)}
        (p, y), (truth, labels) = draw(rng, 5000), draw(rng, 20_000)
        shown = distort(truth, **how)
        mapped = BCTS().fit(distort(p, **how), y).transform(shown)
        errors.append([[f(q, labels) for q in (shown, mapped, truth)] for f in (ece, class_error)])
    (raw, mapped, truth), (raw_class, mapped_class, true_class) = np.mean(errors, axis=0)
    assert mapped < raw / 3
    assert mapped < truth + 0.006  # the noise of a holdout of 5000
    assert mapped_class < true_class + 0.006
    assert case == "over-confident" or mapped_class < raw_class / 4


def test_a_damaged_file_of_scales_is_refused():
    p, y = draw(np.random.default_rng(8), 50, 3)
    fitted = BCTS().fit(p, y)
    fitted.scales_ = np.ones((3, 1))
    with pytest.raises(ValueError, match="scales_"):
        loads(dumps(fitted))
