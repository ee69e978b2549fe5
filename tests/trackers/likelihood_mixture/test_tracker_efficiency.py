"""Runs use a sample for all that it says: compared with expectation-maximisation since the change, converged."""

import math

import numpy as np
import pytest

from baserate.protocols import Evidence
from baserate.trackers import LikelihoodMixture

from .streams import draw

SEEDS = range(20)


def converged_em(proba, source):
    """The likeliest class mix of samples, by expectation-maximisation until nothing moves."""
    ratio, q = proba / source, source
    for _ in range(20_000):
        r = q * ratio
        last, q = q, (r / r.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(q - last).max() < 1e-12:
            return q
    raise AssertionError("expectation-maximisation has not converged")


def scores(rng, share, n, source, distance=1.2):
    """Honest probabilities of two classes whose normal scores are some distance apart."""
    x = rng.normal(size=n) + distance * (rng.random(n) < share)
    odds = np.exp(distance * x - distance**2 / 2) * source[1] / source[0]
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)])


def after_a_change(seed, rounds_before, shares, source, n_rounds, distance=1.2, light=False):
    """Yield the number of samples since the change, the tracked share, and all samples since."""
    rng, tracker, seen = np.random.default_rng(seed), LikelihoodMixture(2, prior=source, light=light), []
    for _ in range(rounds_before):
        tracker.update(source, Evidence(scores(rng, shares[0], 100, source, distance), source))
    for t in range(1, n_rounds + 1):
        seen.append(scores(rng, shares[1], 100, source, distance))
        tracker.update(source, Evidence(seen[-1], source))
        yield 100 * t, tracker.predict()[1], seen


@pytest.mark.parametrize("rounds_before", [0, 10, 50])
def test_a_weak_model_is_used_for_all_that_it_says(rounds_before):
    """5 % becomes 40 %, and the scores of the classes overlap by half: the light profile crawls there.

    After the longer history a change takes longer to be sure of, so that only the later figure can be that of EM.
    """
    source, errors = np.array([0.95, 0.05]), {}
    for seed in SEEDS:
        for name in ("runs", "light"):
            for n, share, seen in after_a_change(seed, rounds_before, (0.05, 0.4), source, 50, light=name == "light"):
                if n in (2000, 5000):
                    errors.setdefault((name, n), []).append((share - 0.4) ** 2)
                    if name == "runs":
                        em = converged_em(np.vstack(seen), source)[1]
                        errors.setdefault(("em", n), []).append((em - 0.4) ** 2)
    mse = {key: np.mean(value) for key, value in errors.items()}
    early = 2.0 if rounds_before < 50 else 6.0
    assert mse["runs", 2000] < early * mse["em", 2000]
    assert mse["runs", 5000] < 1.5 * mse["em", 5000]
    assert mse["light", 2000] > 3.0 * mse["runs", 2000]
    assert mse["light", 5000] > 3.5 * mse["runs", 5000]


@pytest.mark.parametrize("sharp", [4.0, 9.0])
def test_one_large_batch_is_enough(sharp):
    """A thousand samples of ten classes, some of them rare, of which no tracker has seen any before."""
    source, apart = np.full(10, 0.1), []
    for seed in SEEDS:
        rng, tracker = np.random.default_rng(seed), LikelihoodMixture(10)
        q = rng.permutation([0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02, 0.01])
        proba, _ = draw(rng, q, 1000, sharp=sharp)
        tracker.update(source, Evidence(proba, source))
        apart.append(np.abs(tracker.predict() - converged_em(proba, source)).max())
    assert np.mean(apart) < 0.02
    assert max(apart) < 0.035


@pytest.mark.parametrize("sharp", [3.0, 6.0])
def test_one_batch_of_a_hundred_is_as_good_as_expectation_maximisation(sharp):
    """Ten classes: new shares cost so much to learn that predictions along the batch would say little for them."""
    source, ours, others = np.full(10, 0.1), [], []
    for seed in range(40):
        rng, tracker = np.random.default_rng(seed), LikelihoodMixture(10)
        q = rng.dirichlet(np.ones(10))
        proba, _ = draw(rng, q, 100, sharp=sharp)
        tracker.update(source, Evidence(proba, source))
        ours.append(((tracker.predict() - q) ** 2).sum())
        others.append(((converged_em(proba, source) - q) ** 2).sum())
    assert np.mean(ours) < 1.05 * np.mean(others)


@pytest.mark.parametrize("of_first", [45, 56])
def test_a_run_is_judged_by_its_first_batch_as_a_whole(of_first):
    """With labels, the likelihood averaged over mixes is known: that of the Dirichlet-multinomial distribution."""
    source, y = np.array([0.5, 0.5]), (np.arange(60) >= of_first).astype(np.int64)
    tracker = LikelihoodMixture(2)
    tracker.update(source, Evidence(np.full((60, 2), 0.5), source, labels=y))
    weights = tracker._state.run_weights[0]
    found = [math.lgamma(n + 0.5) - math.lgamma(0.5) for n in (of_first, 60 - of_first)]
    exact = sum(found) - math.lgamma(61) + 60 * math.log(2)
    assert math.log(weights[:-1].max() / weights[-1]) == pytest.approx(exact, abs=0.3)


def test_a_model_that_is_never_wrong_is_believed_whatever_the_batch():
    """Classes that hardly come must not be overestimated because few of their samples were looked at."""
    source = np.full(10, 0.1)
    for seed in SEEDS:
        rng, tracker = np.random.default_rng(seed), LikelihoodMixture(10)
        proba, y = draw(rng, rng.dirichlet(np.full(10, 0.5)), 2000, sharp=30.0)
        tracker.update(source, Evidence(proba, source))
        assert np.abs(tracker.predict() - np.bincount(y, minlength=10) / 2000).max() < 0.03


def test_a_rare_class_that_becomes_less_rare_is_found():
    source = np.array([0.99, 0.01])
    found = [list(after_a_change(seed, 20, (0.01, 0.08), source, 50, 2.0))[-1][1] for seed in SEEDS]
    assert abs(np.mean(found) - 0.08) < 0.005
    assert np.mean(np.abs(np.array(found) - 0.08)) < 0.01


@pytest.mark.parametrize(("source_share", "distance"), [(0.1, 3.0), (0.02, 2.0)])
def test_two_per_cent_are_found_as_two_per_cent(source_share, distance):
    """Neither the floor of a run nor its damped falls show, whether the source had as many or not."""
    source = np.array([1 - source_share, source_share])
    found = [list(after_a_change(seed, 0, (0.02, 0.02), source, 50, distance))[-1][1] for seed in SEEDS]
    assert abs(np.mean(found) - 0.02) < 0.003


def test_a_still_stream_at_the_birth_value_keeps_it():
    """The weight of the birth value among the runs grows, and predictions come nearer to it than samples could say."""
    birth = np.array([0.5, 0.3, 0.2])
    weights, distances = [], []
    for seed in range(10):
        rng, tracker = np.random.default_rng(seed), LikelihoodMixture(3, prior=birth)
        for t in range(1000):
            odds = draw(rng, birth, 10)[0] * birth  # of a source with the birth value's mix
            tracker.update(birth, Evidence(odds / odds.sum(axis=1, keepdims=True), birth))
            if t in (9, 99, 999):
                weights.append(tracker._state.run_weights[0, -1])
        distances.append(np.abs(tracker.predict() - birth).max())
    at = np.mean(np.reshape(weights, (10, 3)), axis=0)
    assert at[0] < at[1] < at[2]
    assert at[2] > 0.95
    assert np.mean(distances) < 0.3 * math.sqrt(0.25 / 10_000)
