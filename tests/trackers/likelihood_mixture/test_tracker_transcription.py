"""The whole likelihood mixture against a plain transcription of the lines in docs/how_it_works/likelihood.md."""

import numpy as np
import pytest

from baserate.protocols import Evidence
from baserate.trackers import LikelihoodMixture

from .naive_runs import NaiveRuns, parts
from .streams import draw, rounds_of

SIZES = (0, 1, 7, 40, 300)


def follow(tracker, plain, rounds, atol=1e-9):
    """Play both, and compare predictions, runs and weights after every round; returns the predictions."""
    played = [tracker.predict()]
    for batch in rounds:
        if isinstance(batch, Evidence):
            tracker.update(np.full(tracker.n_classes, 7.0), batch)
            plain.update(batch.likelihoods.tolist())
        else:
            tracker.update(batch)
            plain.update(frequencies=batch.tolist())
        played.append(tracker.predict())
        np.testing.assert_allclose(played[-1], plain.predict(), rtol=0, atol=atol)
        state = tracker._state
        order = [e for e in np.argsort(state.began[0]) if state.began[0, e] > 0]
        assert state.began[0, order].tolist() == [run.began for run in plain.runs]
        assert state.sizes[0, order].tolist() == [run.n for run in plain.runs]
        for e, run in zip(order, plain.runs, strict=True):
            np.testing.assert_allclose(state.run_mixes[0, :, e], run.mix, rtol=0, atol=atol)
            np.testing.assert_allclose(state.run_weights[0, e], run.weight, rtol=0, atol=100 * atol)
        np.testing.assert_allclose(state.run_weights[0, -1], plain.of_prior, rtol=0, atol=100 * atol)
        np.testing.assert_allclose(state.arms[0], plain.arms, rtol=0, atol=100 * atol)
    return np.array(played)


@pytest.mark.parametrize(("k", "T"), [(2, 60), (3, 60), (10, 40), (32, 15), (33, 15), (40, 25)])
def test_it_agrees_with_the_transcription(k, T):
    prior = np.random.default_rng(k).dirichlet(np.full(k, 2.0))
    tracker, plain = LikelihoodMixture(k, prior=prior), NaiveRuns(prior)
    played = follow(tracker, plain, rounds_of(k, k, T, sizes=SIZES))
    assert np.abs(np.diff(played, axis=0)).max() > 0.05
    assert 0.0 < plain.arms[1] < 1.0


@pytest.mark.parametrize("k", [3, 40])
@pytest.mark.parametrize("margin", [0.01, 0.15])
def test_it_agrees_with_a_margin_and_with_estimates_among_the_batches(k, margin):
    prior = np.random.default_rng(k).dirichlet(np.full(k, 20.0))
    margin = np.minimum(margin * np.linspace(0.5, 1.5, k), 0.9 * prior)
    tracker, plain = LikelihoodMixture(k, prior=prior), NaiveRuns(prior, margin.tolist())
    tracker.tolerate(margin)
    zs = np.random.default_rng(0).dirichlet(np.full(k, 0.5), size=25)
    rounds = []
    for evidence, z in zip(rounds_of(1, k, 25, sizes=SIZES), zs, strict=True):
        rounds += [evidence, z]
    played = follow(tracker, plain, rounds)
    without = follow(LikelihoodMixture(k, prior=prior), NaiveRuns(prior), rounds)
    assert np.abs(played - without).max() > 1e-3  # the margin mattered


@pytest.mark.parametrize("k", [3, 40])
def test_estimates_alone_agree_with_the_transcription(k):
    prior = np.random.default_rng(1).dirichlet(np.ones(k)) + 1e-3
    prior /= prior.sum()
    zs = np.random.default_rng(0).dirichlet(np.full(k, 0.3), size=60)
    follow(LikelihoodMixture(k, prior=prior), NaiveRuns(prior), [*zs, *np.eye(k)[[0, 1, 1, 1]]])


def test_it_agrees_where_many_runs_have_to_make_room():
    """A hundred rounds of more than ten samples each, seven runs; changes, so that young ones take over."""
    rng, source, rounds = np.random.default_rng(4), np.full(3, 1 / 3), []
    for t in range(100):
        q = np.roll([0.8, 0.15, 0.05], t // 17)
        rounds.append(Evidence(draw(rng, q, 12 + t % 5, sharp=1.0)[0], source))
    tracker, plain = LikelihoodMixture(3), NaiveRuns(source)
    follow(tracker, plain, rounds)
    assert len(plain.runs) == 7


@pytest.mark.parametrize("n", [*range(1, 17), 29, 30, 54, 55, 69, 70, 129, 130, 210, 289, 290, 1000])
def test_parts_of_every_length_agree(n):
    """Around the lengths at which one more part begins; the ends that the transcription uses are a partition."""
    ends = parts(n)
    assert ends[0] == 0
    assert ends[-1] == n
    assert (np.diff(ends) > 0).all()
    rng, source = np.random.default_rng(n), np.array([0.5, 0.3, 0.2])
    rounds = [Evidence(draw(rng, [0.1, 0.2, 0.7], size, sharp=2.0)[0], source) for size in (n, 3, n)]
    follow(LikelihoodMixture(3), NaiveRuns(np.full(3, 1 / 3)), rounds)


@pytest.mark.parametrize(("k", "rest"), [(3, 1e-8), (40, 1e-5)])
def test_it_agrees_on_rows_that_are_all_but_certain(k, rest):
    """Likelihoods that run to hundreds of digits, and outputs that tell nothing at all."""
    rng, source, rounds = np.random.default_rng(2), np.full(k, 1 / k), []
    for t, n in enumerate((1, 7, 40, 300, 40, 2000, 7)):
        y = rng.choice(2, size=n, p=[0.9, 0.1] if t < 4 else [0.2, 0.8])
        proba = np.full((n, k), rest)
        proba[np.arange(n), y] = 1.0 - (k - 1) * rest
        rounds.append(Evidence(source + np.zeros((n, k)) if t == 4 else proba, source))
    follow(LikelihoodMixture(k), NaiveRuns(source), rounds, atol=1e-9)
