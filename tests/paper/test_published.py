"""What the published runs did differently: as stated, and nowhere else."""

import numpy as np
import pytest

from baserate.adapters import ATLAS, UOGD
from baserate.paper.published import PublishedATLAS, PublishedUOGD, published_step_sizes

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
