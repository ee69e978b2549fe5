"""A last layer that goes on learning: its steps are those of gradient descent with momentum."""

import copy

import numpy as np
from scipy.optimize import approx_fprime
from scipy.special import log_softmax, softmax

from baserate_lab.paper.runs import tuned_layer
from baserate_lab.paper.runs.tuned_layer import TunedLayer

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 4)), RNG.integers(0, 3, 20)
COEF, INTERCEPT = RNG.normal(size=(3, 4)), RNG.normal(size=3)


def test_it_begins_as_the_layer_that_was_trained():
    layer = TunedLayer(COEF, INTERCEPT)
    logits = X @ COEF.T + INTERCEPT
    np.testing.assert_allclose(layer.predict_proba(X), softmax(logits, axis=1))
    np.testing.assert_array_equal(layer.predict(X), logits.argmax(axis=1))
    np.testing.assert_array_equal(layer.classes_, [0, 1, 2])


def test_two_steps_are_those_of_descent_with_momentum():
    layer = TunedLayer(COEF, INTERCEPT)
    ones = np.column_stack([X, np.ones(20)])

    def loss(weights):
        logs = log_softmax(ones @ weights.reshape(3, 5).T, axis=1)
        return -logs[np.arange(20), Y].mean() + tuned_layer._L2 / 2 * (weights**2).sum()

    weights = np.column_stack([COEF, INTERCEPT]).ravel()
    velocity = np.zeros(15)
    for _ in range(2):
        velocity = 0.9 * velocity + approx_fprime(weights, loss, 1e-7)
        weights = weights - 0.1 * velocity
        layer.partial_fit(X, Y)
        np.testing.assert_allclose(layer.weights.ravel(), weights, atol=1e-5)


def test_a_copy_starts_from_the_same_weights_and_leaves_the_first_alone():
    layer = TunedLayer(COEF, INTERCEPT)
    before = layer.weights.copy()
    other = copy.deepcopy(layer)
    other.partial_fit(X, Y)
    np.testing.assert_array_equal(layer.weights, before)
    assert (other.weights != before).any()
