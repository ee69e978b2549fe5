"""The Lipschitz lemmas: gradients against differences, and a search that reaches what is known to be the longest."""

import numpy as np
import pytest

from baserate_lab.paper import lipschitz
from baserate_lab.paper.lipschitz import gradient_of_log_loss, gradient_of_zero_one


def differences(loss, p, width=1e-6):
    return np.array([(loss(p + step) - loss(p - step)) / (2 * width) for step in width * np.eye(len(p))])


def test_gradients_are_those_of_the_losses():
    rng = np.random.default_rng(0)
    p, f0, q0, q = rng.uniform(0.1, 1, 4), *rng.dirichlet(np.ones(4), 3)
    w = f0 / q0
    played = lambda of: w * of / (w @ of)  # noqa: E731
    log_loss = lambda of: -q @ np.log(played(of))  # noqa: E731
    zero_one = lambda of: 1 - q @ played(of)  # noqa: E731
    np.testing.assert_allclose(gradient_of_log_loss(p, w, q), differences(log_loss, p), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(gradient_of_zero_one(p, w, q), differences(zero_one, p), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("k", [2, 3])
def test_the_search_finds_the_longest_gradient_of_the_cross_entropy_and_the_lemma_holds(k):
    found = lipschitz.cross_entropy(k, 0.05, np.random.default_rng(0))
    assert found.longest == pytest.approx(np.sqrt(2) / 0.05, rel=1e-3)
    assert found.longest <= found.exact * (1 + 1e-9)
    assert found.exact < found.bound


def test_the_lemma_on_the_zero_one_loss_holds():
    found = lipschitz.zero_one(2, 0.25, 0.05, np.random.default_rng(0))
    assert 0.02 * found.bound < found.longest < found.bound
