"""The light profile, a mixture of memories and known mixes alone, against a plain transcription."""

import numpy as np
import pytest

from baserate.protocols import Evidence
from baserate.trackers import LikelihoodMixture

from .naive import RECALLED, Naive
from .streams import draw, rounds_of, run


def naive(rounds, prior):
    """Predictions of rounds 1..T+1 from rows of class likelihoods, or from ("frequencies", z)."""
    tracker, played = Naive(prior), []
    for batch in rounds:
        played.append(tracker.predict())
        tracker.update(frequencies=list(batch[1])) if isinstance(batch, tuple) else tracker.update(batch)
    return [*played, tracker.predict()]


@pytest.mark.parametrize(("k", "T"), [(2, 60), (3, 60), (10, 30)])
def test_it_agrees_with_the_transcription(k, T):
    prior = np.random.default_rng(k).dirichlet(np.ones(k))
    rounds = list(rounds_of(k, k, T))
    expected = naive([evidence.likelihoods.tolist() for evidence in rounds], prior)
    played = run(LikelihoodMixture(k, prior=prior, light=True), rounds, k)
    np.testing.assert_allclose(played, expected, rtol=0, atol=1e-10)
    assert np.abs(np.diff(played, axis=0)).max() > 0.2


def test_it_agrees_where_the_likelihoods_of_one_side_vanish_beside_the_others():
    """Thousands of samples a round, of mixes that come back: all memories or all known mixes are out of range."""
    rng, prior = np.random.default_rng(0), np.array([0.6, 0.3, 0.1])
    mixes = [np.array([0.1, 0.1, 0.8]), np.array([0.1, 0.8, 0.1]), prior]
    rounds = [Evidence(np.eye(3)[rng.choice(3, size=2000, p=mixes[t % 3])] * 0.97 + 0.01, prior) for t in range(12)]
    expected = naive([evidence.likelihoods.tolist() for evidence in rounds], prior)
    tracker = LikelihoodMixture(3, prior=prior, light=True)
    np.testing.assert_allclose(run(tracker, rounds, 3), expected, rtol=0, atol=1e-10)
    assert (tracker._state.made[0, :2, 1] > 0).all()


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("rare", [1e-6, 1 / 3])
def test_it_agrees_where_products_of_likelihoods_leave_the_range_of_numbers(labelled, rare):
    """Upwards with samples of classes that hardly exist, downwards with those that do not come; odd sizes, too."""
    prior, rng = np.array([1.0 - 2 * rare, rare, rare]), np.random.default_rng(1)
    rounds = []
    for t, n in enumerate((1, 11, 53, 101, 10, 9, 300, 2, 401)):
        y = rng.choice(3, n, p=np.roll([0.98, 0.01, 0.01], t // 3))
        proba = np.full((n, 3), 1e-13)
        proba[np.arange(n), y] = 1.0 - 2e-13
        labels = np.where(rng.random(n) < 0.5, y, -1) if labelled else None
        rounds.append(Evidence(proba, prior, labels))
    played = run(LikelihoodMixture(3, prior=prior, light=True), rounds, 3)
    np.testing.assert_allclose(played, naive([e.likelihoods.tolist() for e in rounds], prior), rtol=0, atol=1e-9)
    assert np.abs(np.diff(played, axis=0)).max() > 0.5


@pytest.mark.parametrize("margin", [[0.02, 0.03, 0.01], [0.3, 0.1, 0.2]])
def test_tolerance_agrees_with_the_transcription(margin):
    prior = [0.5, 0.3, 0.2]
    plain, tracker, free = (
        Naive(prior, margin),
        LikelihoodMixture(3, prior=prior, light=True),
        LikelihoodMixture(3, prior=prior, light=True),
    )
    tracker.tolerate(np.array(margin))
    apart = 0.0
    zs = np.random.default_rng(0).dirichlet(np.full(3, 5.0), size=60)
    for evidence, z in zip(rounds_of(3, 3, 60), zs, strict=True):
        plain.update(evidence.likelihoods.tolist())
        plain.update(frequencies=z.tolist())
        for one in (tracker, free):
            one.update(prior, evidence)
            one.update(z)
        np.testing.assert_allclose(tracker.predict(), plain.predict(), rtol=0, atol=1e-10)
        apart = max(apart, np.abs(tracker.predict() - free.predict()).max())
    assert apart > 0.03


def test_recalled_mixes_agree_with_the_transcription_when_there_are_too_many():
    rng, k = np.random.default_rng(0), 3
    mixes = [*0.9 * np.eye(3) + 0.1 / 3, *0.85 * (0.5 - 0.5 * np.eye(3)) + 0.05, *rng.dirichlet(np.ones(3), size=5)]
    source, rounds = np.full(k, 1 / 3), []
    for mix in [*mixes[:2] * 3, *mixes, *mixes[:2], *mixes[5:]]:
        rounds += [Evidence(draw(rng, mix, 20, sharp=9.0)[0], source) for _ in range(12)]
    plain, tracker, places = Naive(source), LikelihoodMixture(k, light=True), set()
    for evidence in rounds:
        np.testing.assert_allclose(tracker.predict(), plain.predict(), rtol=0, atol=1e-9)
        plain.update(evidence.likelihoods.tolist())
        tracker.update(source, evidence)
        places |= {tuple(pair) for pair in tracker._state.made[0].tolist() if pair[1]}
    assert len(places) > RECALLED + 2  # some had to make room
    assert sorted(tuple(pair) for pair in tracker._state.made[0]) == sorted(
        (m["first"], m["last"]) for m in plain.recalled
    )


def test_a_round_of_thousands_agrees_with_the_transcription():
    """Under every expert its likelihood is beyond what a float can hold."""
    source, n = np.array([0.9, 0.1]), 3000
    mixed = np.where(np.arange(n)[:, None] % 2 == 0, [1e-9, 1 - 1e-9], [1 - 1e-9, 1e-9])
    batches = [Evidence(mixed[: 4 + 4 * t : 2], source) for t in range(6)]
    batches += [Evidence(mixed[1:9:2], source), Evidence(mixed, source), Evidence(mixed[::-2], source)]
    expected = naive([evidence.likelihoods.tolist() for evidence in batches], [0.5, 0.5])
    np.testing.assert_allclose(run(LikelihoodMixture(2, light=True), batches, 2), expected, rtol=0, atol=1e-9)


def test_sightings_without_evidence_agree_with_the_transcription():
    zs = np.random.default_rng(0).dirichlet(np.full(3, 0.3), size=60)
    tracker = LikelihoodMixture(3, prior=[0.5, 0.3, 0.2], light=True)
    played = [tracker.predict()]
    for z in zs:
        tracker.update(z)
        played.append(tracker.predict())
    expected = naive([("frequencies", z) for z in zs], [0.5, 0.3, 0.2])
    np.testing.assert_allclose(played, expected, rtol=0, atol=1e-10)
