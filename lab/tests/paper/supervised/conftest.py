"""Findings of every part, made up."""

import numpy as np
import pytest

from baserate_lab.paper.supervised import calls, identity, marginals, problems, regret


@pytest.fixture
def made_up():
    rng = np.random.default_rng(0)
    n_calls, n_rounds, n_identity = len(calls.LENGTHS), len(regret.LENGTHS), len(identity.LENGTHS)
    return (
        rng.random((len(marginals.LENGTHS), 2, 3, 2)) + 1,
        {(path, t): rng.random((n_calls, 2)) + 1 for path in problems.PATHS for t in calls.THRESHOLDS},
        {model: rng.random((n_identity, 2, 2, 3)) + 1 for model in identity.MODELS},
        {(path, m): rng.random((n_rounds, 2)) + 1 for path in regret.REGRET_PATHS for m in regret.METHODS},
    )
