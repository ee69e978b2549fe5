"""The filter that is told both mixes gives the probabilities of the states."""

import itertools

import numpy as np

from baserate.protocols import Evidence
from baserate_lab.bench.trackers.two_mixes import TwoMixes


def test_the_filter_gives_the_probabilities_of_the_states():
    rng = np.random.default_rng(0)
    source = np.array([0.5, 0.3, 0.2])
    first, second, flip = np.array([0.6, 0.3, 0.1]), np.array([0.0, 0.2, 0.8]), 0.15
    proba = rng.dirichlet(np.ones(3), size=(6, 4))
    proba[2, 0] = [1.0, 0.0, 0.0]  # which the second mix rules out
    tracker = TwoMixes(first, second, flip)
    for t, batch in enumerate(proba):
        # Every course that the states may have taken, one by one.
        weights = np.zeros(2)
        for later in itertools.product([0, 1], repeat=t):
            course = [0, *later]
            weight = np.prod([flip if a != b else 1 - flip for a, b in itertools.pairwise(course)])
            for past, state in zip(proba[:t], course, strict=False):
                weight *= np.prod([sum((first, second)[state] * row / source) for row in past])
            weights[course[-1]] += weight
        weights /= weights.sum()
        np.testing.assert_allclose(tracker.predict(), weights[0] * first + weights[1] * second, rtol=1e-10)
        tracker.update(np.zeros(3), Evidence(batch, source))
    tracker.reset()
    np.testing.assert_allclose(tracker.predict(), first, atol=1e-12)
