"""What temperature, BCTS and vector scaling share: the formula, honesty, zeros, edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from baserate.calibrators import BCTS, AutoCalibrator, TemperatureScaling, VectorScaling
from baserate.calibrators._softmax import apply_map, normalise_rows
from baserate.state import dumps, loads

from .honest import distort, draw, nats, softmax

MAPS = [TemperatureScaling, BCTS, VectorScaling]


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
    assert auto.degrees_of_freedom_ == 0.0
    np.testing.assert_allclose(auto.transform(1.0008 * perfect), perfect, atol=1e-15)


def test_a_wrong_number_of_columns_is_refused():
    p, y = draw(np.random.default_rng(0), 50, 3)
    for cls in (*MAPS, AutoCalibrator):
        for fitted in (cls().fit(p, y), cls().fit(p[:5], y[:5])):
            with pytest.raises(ValueError, match="proba has 2 columns"):
                fitted.transform([[0.5, 0.5]])


def test_a_steep_map_does_not_underflow():
    np.testing.assert_allclose(apply_map(np.full((1, 4), 0.25), np.full(4, 1e3), np.zeros(4), 1e-12), 0.25)


def test_the_identity_changes_no_bit():
    p = np.random.default_rng(0).dirichlet(np.ones(7), size=500)
    assert (p.sum(axis=1) != 1).any()
    np.testing.assert_array_equal(normalise_rows(p), p)
