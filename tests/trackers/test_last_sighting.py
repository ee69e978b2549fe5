"""The last sighting against a plain transcription."""

import numpy as np
import pytest

from baserate.trackers import LastSighting

from . import naive
from .sequences import play


@pytest.mark.parametrize("k", [2, 3, 10, 100])
def test_agrees_with_the_transcription(k):
    rng = np.random.default_rng(k)
    zs, birth = rng.standard_normal((250, k)), rng.dirichlet(np.ones(k))
    expected = naive.last_sighting(zs.tolist(), birth)
    np.testing.assert_allclose(play(LastSighting(k, prior=birth), zs), expected, rtol=0, atol=1e-12)
