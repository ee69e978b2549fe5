"""What the published runs did differently: as stated, and nowhere else."""

import numpy as np
import pytest

from baserate.adapters import ATLAS, UOGD
from baserate_lab.paper.published import PublishedATLAS, PublishedROGD, PublishedUOGD, published_step_sizes

RNG = np.random.default_rng(0)
Y = np.repeat(np.arange(3), 20)
X = 2.0 * np.eye(3)[Y] + RNG.standard_normal((60, 3))
W = np.array([[2.0, 0.0, -1.0], [0.0, 2.0, 0.0], [-1.0, 0.0, 2.0]])


def test_the_step_sizes():
    steps = published_step_sizes(W, lipschitz=4.0, sigma=0.25, horizon=1000)
    length = np.sqrt(14.0)
    assert steps["step_size"] == 2 * length / 4.0 / np.sqrt(1000)
    assert len(steps["step_sizes"]) == 7
    np.testing.assert_allclose(steps["step_sizes"][0], 2 * length * 0.25 / (2 * 4.0 * np.sqrt(3 * 1000)))
    np.testing.assert_allclose(steps["step_sizes"][1:] / steps["step_sizes"][:-1], 2.0)


@pytest.mark.parametrize(("as_run", "as_stated"), [(PublishedUOGD, UOGD), (PublishedATLAS, ATLAS)])
def test_the_layer_is_put_back_to_its_length_after_every_step(as_run, as_stated):
    """As stated, only a layer that is longer than the ball allows is shortened."""
    run, stated = (cls(W).fit(X, Y) for cls in (as_run, as_stated))
    layers = np.stack([0.5 * W, W, 3.0 * W])
    np.testing.assert_allclose(run._projected(layers), np.stack([W, W, W]))
    np.testing.assert_allclose(stated._projected(layers), np.stack([0.5 * W, W, W]))
    for t in range(20):
        run.update(X[3 * t : 3 * t + 3])
        np.testing.assert_allclose(np.linalg.norm(run._heads, axis=(1, 2)), np.linalg.norm(W))


def test_intercepts_stay_as_they_were_trained():
    run = PublishedUOGD(W, [0.5, -0.5, 0.0], step_size=0.5).fit(X, Y)
    for t in range(20):
        run.update(X[3 * t : 3 * t + 3])
    coef, intercept = run.head_
    np.testing.assert_array_equal(intercept, [0.5, -0.5, 0.0])
    np.testing.assert_allclose(np.linalg.norm(coef), np.linalg.norm(W))
    assert not np.allclose(coef, W)


class TestROGD:
    """Against its loss, written down sample by sample."""

    PROBA = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)

    def fitted(self, prior):
        method = PublishedROGD(calibrator=None, lipschitz=0.5, horizon=8).fit(self.PROBA, Y)
        method._prior = np.array(prior)
        return method

    def test_a_step_down_the_gradient_of_the_joint_loss(self):
        method, prior = self.fitted([0.5, 0.3, 0.2]), np.array([0.5, 0.3, 0.2])
        q = method.marginals_.estimate(self.PROBA[:10])
        method.update(self.PROBA[:10])
        gradient = np.array([self._joint_slope(prior, q, m) for m in range(3)])
        moved = prior - np.sqrt(2 / 8) / 0.5 * gradient
        assert moved.min() > 0
        np.testing.assert_allclose(method.prior_, moved - (moved.sum() - 1) / 3, rtol=1e-6)

    def _joint_slope(self, prior, q, m, width=1e-6):
        def loss(p):
            weighted = self.PROBA * p
            own = weighted[np.arange(60), Y] / weighted.sum(axis=1)
            return sum(q[c] * (1 / 3 - own[c == Y].sum() / 60) for c in range(3))

        step = width * np.eye(3)[m]
        return (loss(prior + step) - loss(prior - step)) / (2 * width)

    def test_a_class_that_is_ruled_out_has_no_say(self):
        """All evidence is for it, and yet nothing moves."""
        method = self.fitted([0.5, 0.5, 0.0])
        method.update(self.PROBA[:10], [2] * 10)
        np.testing.assert_array_equal(method.prior_, [0.5, 0.5, 0.0])

    def test_where_the_gradient_is_too_long_the_loss_is_differenced(self):
        method = self.fitted([0.98, 0.01, 0.01])
        gradient, weights = method._differences(np.full(3, 1 / 9)), np.full(3, 1 / 9)
        expected = np.zeros(3)
        for m in range(3):
            for j, coefficient in ((1, 1.5), (2, -0.6), (3, 0.1)):
                step = j * 0.01 * np.eye(3)[m]
                ahead, behind = (method._loss(method._prior + sign * step, weights) for sign in (1, -1))
                expected[m] += coefficient * (ahead - behind) / (0.02 * j)
        np.testing.assert_allclose(gradient, expected, rtol=1e-12)

    def test_differences_are_the_gradient_where_the_loss_is_smooth(self):
        method = self.fitted([0.4, 0.3, 0.3])
        weights = np.array([0.2, 0.1, 0.05])
        exact = [self._joint_slope(method._prior, 3 * weights, m) for m in range(3)]
        np.testing.assert_allclose(method._differences(weights), exact, atol=2e-4)
