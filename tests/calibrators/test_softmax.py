"""Temperature, BCTS and vector scaling: derivatives, optimum, honesty, zeros, edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from baserate.calibrators import BCTS, AutoCalibrator, TemperatureScaling, VectorScaling
from baserate.calibrators import _fitting as fitting
from baserate.calibrators._base import floor_of
from baserate.calibrators._softmax import apply_map, normalise_rows
from baserate.state import dumps, loads

from .honest import class_error, distort, draw, ece, nats, softmax

MAPS = [TemperatureScaling, BCTS, VectorScaling]
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


@pytest.mark.parametrize("cls", MAPS)
def test_by_the_formula(cls):
    rng = np.random.default_rng(1)
    p, y = draw(rng, 500, 4)
    p = distort(p, 0.5, [1.0, 0.0, -1.0, 0.0])
    fitted = cls().fit(p, y)
    expected = softmax(fitted.scales_ * np.log(np.maximum(p, fitted.floor_)) + fitted.biases_)
    np.testing.assert_allclose(fitted.transform(p), expected, rtol=0, atol=1e-14)
    assert abs(fitted.biases_.sum()) < 1e-12
    if cls is not VectorScaling:
        np.testing.assert_allclose(1 / fitted.temperature_, fitted.scales_, rtol=1e-15)


@pytest.mark.parametrize("temperature", [0.25, 0.5, 2.0, 4.0])
def test_a_distorting_temperature_is_recovered(temperature):
    p, y = draw(np.random.default_rng(2), 100_000)
    for cls in (TemperatureScaling, BCTS):
        assert cls().fit(distort(p, temperature), y).temperature_ == pytest.approx(1 / temperature, rel=0.02)


def test_distorting_biases_and_scales_are_recovered():
    rng = np.random.default_rng(3)
    p, y = draw(rng, 100_000, 5)
    biases = np.array([1.0, -1.0, 0.5, -0.5, 0.0])
    bcts = BCTS().fit(distort(p, 0.5, biases), y)
    np.testing.assert_allclose(bcts.biases_, -0.5 * biases, atol=0.05)
    scales = np.array([0.6, 0.8, 1.0, 1.2, 1.4])
    logs = np.log(p)  # softmax(scales * shown) must be p: divide, and add what makes it a row of probabilities
    shown = logs / scales
    for _ in range(200):
        shown -= (np.log(np.exp(shown).sum(axis=1)) / (1 / scales).mean())[:, np.newaxis] / scales
    vector = VectorScaling().fit(np.exp(shown) / np.exp(shown).sum(axis=1, keepdims=True), y)
    np.testing.assert_allclose(vector.scales_, scales, atol=0.05)
    np.testing.assert_allclose(vector.biases_, 0.0, atol=0.1)
    assert 0.16 <= vector.scale_sd_ <= 0.64  # the scales' own spread is 0.28
    assert VectorScaling().fit(p[:10_000], y[:10_000]).scale_sd_ <= 0.02


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


ROWS = st.lists(st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.3, 1.0, 5.0]), min_size=3, max_size=3), min_size=1)


@pytest.mark.parametrize("cls", MAPS)
@given(rows=ROWS, seed=st.integers(0, 100))
@settings(max_examples=60, deadline=None)
def test_never_worse_than_the_model_on_the_holdout(cls, rows, seed):
    p = np.array(rows) + np.where(np.sum(rows, axis=1) == 0, 1.0, 0.0)[:, np.newaxis]
    p /= p.sum(axis=1, keepdims=True)
    y = np.random.default_rng(seed).integers(3, size=len(p))
    fitted = cls().fit(p, y)
    mapped = fitted.transform(p)
    assert np.isfinite(mapped).all()
    assert (mapped >= 0).all()
    np.testing.assert_allclose(mapped.sum(axis=1), 1.0, atol=1e-12)
    assert nats(mapped, y) >= nats(p, y) - 1e-12
    assert (fitted.scales_ > 0).all()
    if fitted.floor_ == 0:
        np.testing.assert_array_equal(fitted.scales_, 1.0)
        np.testing.assert_array_equal(fitted.biases_, 0.0)
        np.testing.assert_allclose(mapped, p, atol=1e-15)


def test_a_perfect_model_stays_finite():
    y = np.arange(300) % 3
    for shown in (np.eye(3)[y], 0.7 * np.eye(3)[y] + 0.1):
        for cls in MAPS:
            fitted = cls().fit(shown, y)
            mapped = fitted.transform(shown)
            assert nats(mapped, y) >= nats(shown, y)
            assert 0 < fitted.scales_.min() <= fitted.scales_.max() < 100
    # One that has it backwards keeps its order: the temperature is high, and not negative.
    assert TemperatureScaling().fit(0.1 + 0.7 * np.eye(3)[(y + 1) % 3], y).temperature_ > 10


@pytest.mark.parametrize(
    ("rows", "floor"),
    [
        ([[0.99, 0.01], [1.0, 0.0]], 0.005),  # a forest of 100 trees
        ([[0.5, 0.5], [1.0, 0.0]], 0.15),  # at most 0.3 / k
        ([[1.0, 1e-30], [1.0, 0.0]], 1e-12),  # a softmax that underflows
        ([[0.9, 0.1], [0.8, 0.2]], 1e-6),  # no zeros: small values are meant
        ([[0.9, 0.1], [1.0, 1e-8]], 5e-9),
    ],
)
def test_floor(rows, floor):
    fitted = TemperatureScaling().fit(np.tile(rows, (30, 1)), np.tile([0, 1], 30))
    assert fitted.floor_ == pytest.approx(floor)
    expected = softmax(fitted.scales_ * np.log([[1.0, floor]]))
    np.testing.assert_allclose(fitted.transform([[1.0, 0.0]]), expected, rtol=1e-12)
    assert expected[0, 1] > 0


@pytest.mark.parametrize("cls", MAPS)
def test_a_missing_class_is_held_by_the_prior(cls):
    p, y = draw(np.random.default_rng(6), 2000, 4)
    p, y = p[y != 2], y[y != 2]
    fitted = cls().fit(p, y)
    assert np.isfinite(fitted.biases_).all()
    assert fitted.transform(p)[:, 2].mean() < 0.01 or cls is TemperatureScaling
    if cls is not TemperatureScaling:
        assert fitted.biases_.argmin() == 2
        few = cls().fit(p[:6], y[:6])
        assert abs(few.biases_[2]) < 3


@pytest.mark.parametrize("cls", [*MAPS, AutoCalibrator])
def test_the_order_of_classes_makes_no_difference(cls):
    rng = np.random.default_rng(7)
    p, y = draw(rng, 400, 6)
    p = distort(p, 0.5, rng.standard_normal(6))
    order = rng.permutation(6)
    one, other = cls().fit(p, y), cls().fit(p[:, order], np.argsort(order)[y])
    np.testing.assert_allclose(other.transform(p[:, order]), one.transform(p)[:, order], atol=1e-9)


@pytest.mark.parametrize("cls", [*MAPS, AutoCalibrator])
def test_edges(cls):
    with pytest.raises(ValueError, match="proba is an empty holdout"):
        cls().fit(np.empty((0, 3)), [])
    for rows, y in (([[0.7, 0.3]], [0]), ([[0.7, 0.3], [0.4, 0.6]], [0, 1]), ([[0.5, 0.5]] * 40, [1] * 40)):
        fitted = cls().fit(rows, y)
        np.testing.assert_allclose(fitted.transform(rows).sum(axis=1), 1.0, atol=1e-12)
        assert fitted.transform(np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("cls", MAPS)
def test_a_damaged_file_is_refused(cls):
    p, y = draw(np.random.default_rng(8), 50, 3)
    fitted = cls().fit(p, y)
    fitted.biases_ = np.zeros(2)
    with pytest.raises(ValueError, match="biases_"):
        loads(dumps(fitted))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    train, rest, train_y, rest_y = train_test_split(X / 16, y, test_size=0.6, random_state=0, stratify=y)
    holdout, test, holdout_y, test_y = train_test_split(rest, rest_y, test_size=0.5, random_state=0, stratify=rest_y)
    return train, train_y, holdout, holdout_y, test, test_y


@pytest.mark.parametrize("cls", [*MAPS, AutoCalibrator])
@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_real_models_improve(digits, kind, cls):
    """The logistic model is under-confident; the forest, too, and its zeros are no verdicts."""
    train, train_y, holdout, holdout_y, test, test_y = digits
    model = LogisticRegression(C=0.1) if kind == "logistic" else RandomForestClassifier(100, random_state=0)
    model.fit(train, train_y)
    fitted = cls().fit(model.predict_proba(holdout), holdout_y)
    shown = model.predict_proba(test)
    assert nats(fitted.transform(shown), test_y) > nats(shown, test_y) + 0.15


@pytest.mark.parametrize("cls", MAPS)
def test_rows_that_miss_one_count_as_normalised(cls):
    y = np.arange(4000) % 2
    perfect = np.eye(2)[y]
    for total in (0.9992, 1.0008):
        fitted = cls().fit(total * perfect, y)
        assert fitted.floor_ == 0.0
        np.testing.assert_allclose(fitted.transform(total * perfect), perfect, atol=1e-15)
    auto = AutoCalibrator().fit(1.0008 * perfect, y)
    assert auto.scores_["identity"] == 0.0
    np.testing.assert_allclose(auto.transform(1.0008 * perfect), perfect, atol=1e-15)


@pytest.mark.parametrize("k", [2, 10])
def test_the_floor_is_at_most_a_share_of_one_over_k(k):
    p = np.eye(k)[np.zeros(4, dtype=int)]
    assert floor_of(p) == pytest.approx(0.3 / k)


def test_a_wrong_number_of_columns_is_refused():
    p, y = draw(np.random.default_rng(0), 50, 3)
    for cls in (*MAPS, AutoCalibrator):
        for fitted in (cls().fit(p, y), cls().fit(p[:5], y[:5])):
            with pytest.raises(ValueError, match="proba has 2 columns"):
                fitted.transform([[0.5, 0.5]])


def test_a_damaged_file_of_scales_is_refused():
    p, y = draw(np.random.default_rng(8), 50, 3)
    fitted = BCTS().fit(p, y)
    fitted.scales_ = np.ones((3, 1))
    with pytest.raises(ValueError, match="scales_"):
        loads(dumps(fitted))


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


def test_a_steep_map_does_not_underflow():
    np.testing.assert_allclose(apply_map(np.full((1, 4), 0.25), np.full(4, 1e3), np.zeros(4), 1e-12), 0.25)


def test_the_identity_changes_no_bit():
    p = np.random.default_rng(0).dirichlet(np.ones(7), size=500)
    assert (p.sum(axis=1) != 1).any()
    np.testing.assert_array_equal(normalise_rows(p), p)


def test_many_classes_may_have_small_scales(monkeypatch):
    p, y = draw(np.random.default_rng(0), 2000, 8)
    p = distort(p, 0.05)
    one = BCTS().fit(p, y)
    monkeypatch.setattr(fitting, "_DENSE", 0)
    assert one.scales_[0] < 0.095
    np.testing.assert_allclose(BCTS().fit(p, y).scales_, one.scales_, rtol=1e-3)
