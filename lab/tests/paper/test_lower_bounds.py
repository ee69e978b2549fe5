"""The lower bounds, by the loss and adversary of their proofs."""

import numpy as np
import pytest

from baserate.shifts import Adversary
from baserate_lab.paper import lower_bounds
from baserate_lab.paper.lower_bounds import (
    least,
    regret_with_labels,
    regret_without_labels,
    regrets,
    sightings,
    within,
)
from baserate_lab.paper.rates import Slope


def losses_of_the_first_proof(share, q):
    """As the proof writes them, clipped to its domain."""
    delta = abs(q[0] - 0.5)
    loss = lambda s, of: (of >= 0.5) * (1 - s) + (of < 0.5) * s  # noqa: E731
    inside = np.clip(share, 0.5 - delta, 0.5 + delta)
    return sum(loss(s, of) - loss(of, of) for s, of in zip(inside, q, strict=True))


def losses_of_the_second_proof(share, q):
    """The probability of a mistake of the constant that is played, less that of the better one."""
    chosen = (share >= 0.5).astype(float)
    mistake = lambda h, of: (1 - h) * of + h * (1 - of)  # noqa: E731
    return sum(mistake(h, of) - min(mistake(0.0, of), mistake(1.0, of)) for h, of in zip(chosen, q, strict=True))


def test_the_regrets_are_those_of_the_proofs():
    rng = np.random.default_rng(0)
    q = Adversary(variation=1.0).path(200, 2, rng)[:, 1]
    assert len(np.unique(q)) == 2
    share = rng.normal(0.5, 0.2, 200)
    assert regret_without_labels(share, q) == pytest.approx(losses_of_the_first_proof(share, q))
    assert regret_with_labels(share, q) == pytest.approx(losses_of_the_second_proof(share, q))
    assert regret_without_labels(q, q) == regret_with_labels(q, q) == 0


def test_estimates_without_labels_are_unbiased():
    rng = np.random.default_rng(1)
    labels = np.repeat([0.0, 1.0], 20_000)
    found = sightings(labels, rng)
    assert found[labels == 1].mean() == pytest.approx(1.0, abs=0.02)
    assert found[labels == 0].mean() == pytest.approx(0.0, abs=0.02)


def test_the_same_seed_gives_the_same_regret():
    assert regrets("Arrows", 256, 3) == regrets("Arrows", 256, 3) != regrets("Arrows", 256, 4)


def test_no_tracker_beats_the_bound_and_they_grow_like_it():
    lengths = (256, 512, 1024, 2048)
    found = lower_bounds.run(("Aligator", "global mean"), lengths, 6)
    for values in found.values():
        for i in (0, 1):
            means = values[:, :, i].mean(axis=1)
            assert all(mean >= least(n, bool(i)) for mean, n in zip(means, lengths, strict=True))
            assert np.polyfit(np.log(lengths), np.log(means), 1)[0] == pytest.approx(2 / 3, abs=0.2)
    assert lower_bounds.table(found, lengths).row_count == 4


def test_a_slope_near_two_thirds():
    assert within(Slope(0.6, 0.5))
    assert within(Slope(0.76, 0.0))
    assert not within(Slope(0.5, 0.5))
    assert not within(Slope(0.78, 0.5))


def test_more_seeds_and_fewer_trackers_may_be_asked_for(capsys, monkeypatch):
    asked = []

    def run(trackers, *, n_seeds, n_jobs):
        asked.append((tuple(trackers), n_seeds, n_jobs))
        return {name: np.ones((len(lower_bounds.LENGTHS), n_seeds, 2)) for name in trackers}

    monkeypatch.setattr(lower_bounds, "run", run)
    lower_bounds.main(["--seeds", "8", "--jobs", "1", "--trackers", "Arrows"])
    assert asked == [(("Arrows",), 8, 1)]
    assert "Arrows" in capsys.readouterr().out
