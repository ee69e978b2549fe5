"""Online gradient descent against a plain transcription."""

import math

import numpy as np
import pytest

from baserate.trackers import OnlineGradientDescent

from . import naive
from .sequences import play


@pytest.mark.parametrize("given", [{}, {"variation": 3.0}, {"variation": 0.0, "horizon": 90}])
def test_gradient_descent_agrees_with_the_transcription(given):
    rng = np.random.default_rng(0)
    zs, birth = rng.standard_normal((90, 3)), rng.dirichlet(np.ones(3))
    variation, horizon = given.get("variation", 1.0), given.get("horizon")

    def step(t):
        n = horizon or 2 ** math.ceil(math.log2(t))
        return min(0.5, 0.5 * math.sqrt((1 + variation) / n))

    expected = naive.online_gradient_descent(zs.tolist(), birth, step)
    np.testing.assert_allclose(play(OnlineGradientDescent(3, prior=birth, **given), zs), expected, rtol=0, atol=1e-9)


def test_gradient_descent_starts_with_a_whole_step():
    tracker = OnlineGradientDescent(2, variation=0.0)
    tracker.update([0.9, 0.1])
    np.testing.assert_allclose(tracker.predict(), [0.9, 0.1], atol=1e-15)
