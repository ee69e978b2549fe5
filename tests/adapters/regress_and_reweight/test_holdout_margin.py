"""How far a small holdout may mislead a likelihood: against what happens on many holdouts."""

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.adapters.regress_and_reweight.holdout_margin import holdout_margin

K = 3
PRIOR = np.array([0.5, 0.3, 0.2])


def draw(rng, n, faults=(0.0, 0.0, 0.0), prior=PRIOR):
    """Outputs of a model for the mix PRIOR whose logits are off by `faults`, on samples of a mix."""
    y = rng.choice(K, size=n, p=prior)
    logits = 1.5 * (rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y]) + np.log(PRIOR) + faults
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True), y


def likeliest(proba, source_prior):
    """The most likely mix of samples, by plain expectation-maximisation."""
    q = source_prior.copy()
    for _ in range(300):
        rows = proba * (q / source_prior)
        q = (rows / rows.sum(axis=1, keepdims=True)).mean(axis=0)
    return q


def test_it_covers_where_an_endless_stream_of_the_source_leads():
    endless, _ = draw(np.random.default_rng(99), 20_000)
    inside, widths = [], []
    for seed in range(40):
        proba, y = draw(np.random.default_rng(seed), 300)
        source = np.bincount(y, minlength=K) / len(y)
        wide = holdout_margin(proba, y, source, sampled=True)
        inside.append(np.abs(likeliest(endless[:3000], source) - source) <= wide)
        widths.append(wide)
    assert np.mean(inside) > 0.9
    assert np.mean(widths) < 0.15  # and is not just wide


def test_known_source_priors_and_larger_holdouts_leave_less_of_it():
    rng = np.random.default_rng(0)
    small, large = draw(rng, 300), draw(rng, 30_000)
    sampled, known = (holdout_margin(*small, PRIOR, sampled=sampled) for sampled in (True, False))
    assert (known < sampled).all()
    np.testing.assert_allclose(holdout_margin(*large, PRIOR, sampled=True), sampled / 10, rtol=0.5)


def test_a_fault_that_the_holdout_shows_is_part_of_it():
    rng = np.random.default_rng(1)
    fault = np.array([0.8, 0.0, 0.0])
    proba, y = draw(rng, 20_000, faults=fault)
    wide = holdout_margin(proba, y, PRIOR, sampled=False)
    off = np.abs(likeliest(proba[:5000], PRIOR) - PRIOR)
    assert (wide > 0.5 * off).all()
    assert wide[0] > 0.05


def test_samples_count_by_the_source_prior():
    """The same classes in another mix, with the source prior given, say about the same."""
    rng = np.random.default_rng(2)
    same = holdout_margin(*draw(rng, 20_000), PRIOR, sampled=False)
    other = holdout_margin(*draw(rng, 20_000, prior=np.array([0.2, 0.2, 0.6])), PRIOR, sampled=False)
    np.testing.assert_allclose(other, same, atol=0.015)


@pytest.mark.parametrize("n", [200, 1000])
def test_where_nothing_shifts_a_small_holdout_costs_nothing(n):
    wrong = np.zeros(2)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        adapter = RegressAndReweight(calibrator=None).fit(*draw(rng, n))
        free = RegressAndReweight(calibrator=None).fit(*draw(np.random.default_rng(seed), n))
        free.tracker_.tolerate(np.zeros(K))
        for _ in range(150):
            proba, y = draw(rng, 10)
            model = proba.argmax(axis=1) != y
            for i, one in enumerate((adapter, free)):
                wrong[i] += ((one.step(proba).labels != y).astype(int) - model).sum()
    assert wrong[0] / (5 * 1500) < 0.003
    assert wrong[0] < wrong[1] + 10
