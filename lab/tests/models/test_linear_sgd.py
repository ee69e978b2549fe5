"""The base model of the synthetic experiments against a transcription of its training rule."""

import numpy as np
import pytest
from scipy.special import softmax

from baserate.integrations import last_layer
from baserate.state import dumps, loads
from baserate_lab.models import LinearSGD

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
X = np.eye(3)[Y] + 0.5 * RNG.standard_normal((90, 3))


def test_momentum_and_decay_as_published():
    """v <- 0.9 v + gradient + 1e-4 w; w <- w - 0.1 v, with the gradient by finite differences."""
    model = LinearSGD(batch_size=30, rng=3).fit(X, Y)
    rng = np.random.default_rng(3)
    w = rng.uniform(-1 / np.sqrt(3), 1 / np.sqrt(3), (3, 3))
    order = rng.permutation(90)

    def loss(w, rows):
        return -np.log(softmax(X[rows] @ w, axis=1)[np.arange(len(rows)), Y[rows]]).mean()

    v = np.zeros_like(w)
    for start in (0, 30, 60):
        rows = order[start : start + 30]
        gradient = np.zeros_like(w)
        for i in np.ndindex(*w.shape):
            step = np.zeros_like(w)
            step[i] = 1e-6
            gradient[i] = (loss(w + step, rows) - loss(w - step, rows)) / 2e-6
        v = 0.9 * v + gradient + 1e-4 * w
        w = w - 0.1 * v
    np.testing.assert_allclose(model.coef_, w.T, atol=1e-7)  # rows are classes, as in scikit-learn


def test_coefficients_have_a_row_per_class():
    wide = np.hstack([X, X])
    model = LinearSGD(rng=0).fit(wide, Y)
    assert model.coef_.shape == (3, 6)
    np.testing.assert_allclose(model.predict_proba(wide), softmax(wide @ model.coef_.T, axis=1))


def test_it_learns_and_gives_probabilities():
    model = LinearSGD(epochs=20, batch_size=10, rng=0).fit(X, Y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba.argmax(axis=1) == Y).mean() > 0.8
    with pytest.raises(ValueError, match="not fitted"):
        LinearSGD().predict_proba(X)


def test_it_is_saved_with_what_it_has_learned():
    model = LinearSGD(rng=np.random.default_rng(4)).fit(X, Y)
    loaded = loads(dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    # Its generator goes on where it was, so that a second fit is the same, too.
    np.testing.assert_array_equal(loaded.fit(X, Y).coef_, model.fit(X, Y).coef_)


def test_lists_and_single_precision():
    model = LinearSGD(batch_size=20, rng=0).fit(X.astype(np.float32), Y)
    listed = LinearSGD(batch_size=20, rng=0).fit(X.astype(np.float32).tolist(), Y.tolist())
    np.testing.assert_allclose(listed.coef_, model.coef_, atol=1e-12)
    np.testing.assert_allclose(listed.predict_proba(X.tolist()), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "samples", "labels", "error", "message"),
    [
        ({"epochs": 0}, X, Y, ValueError, "epochs is 0"),
        ({"epochs": 1.5}, X, Y, TypeError, "epochs is 1.5"),
        ({"batch_size": 0}, X, Y, ValueError, "batch_size is 0"),
        ({"step_size": -1}, X, Y, ValueError, "step_size is -1"),
        ({"momentum": 2}, X, Y, ValueError, "momentum is 2"),
        ({"l2": "a"}, X, Y, TypeError, "l2 is 'a'"),
        ({}, X[0], Y, ValueError, r"shape \(3,\).*expected numbers, of shape \(samples, features\)"),
        ({}, X.astype(str), Y, ValueError, "expected numbers"),
        ({}, np.where(np.arange(90)[:, np.newaxis] == 4, np.nan, X), Y, ValueError, "NaN or an infinity in sample 4"),
        ({}, X, Y.astype(str), TypeError, "expected class indices"),
        ({}, X[:0], [], ValueError, "y is empty"),
        ({}, X, Y[1:], ValueError, "89 labels; expected 90"),
        ({}, X, np.where(Y == 2, -1, Y), ValueError, "unknown label -1; expected class indices 0..1"),
        ({}, X, np.where(Y == 2, np.nan, Y), ValueError, "NaN"),
    ],
)
def test_bad_input(parameters, samples, labels, error, message):
    model = LinearSGD(**parameters)
    with pytest.raises(error, match=message):
        model.fit(samples, labels)
    assert not hasattr(model, "coef_")


def test_labels_may_be_objects_that_are_numbers():
    model = LinearSGD(batch_size=20, rng=0)
    np.testing.assert_array_equal(model.fit(X, Y.astype(object)).coef_, model.fit(X, Y).coef_)


def test_the_linear_model_shows_its_layer():
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = LinearSGD(batch_size=20, rng=0).fit(X, np.arange(60) % 3)
    layer = last_layer(model)
    assert layer.features(X).dtype == np.float64
    np.testing.assert_allclose(
        softmax(layer.features(X) @ layer.coef.T + layer.intercept, axis=1), model.predict_proba(X)
    )
