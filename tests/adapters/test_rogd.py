"""ROGD: its gradient by finite differences, and its steps against a plain transcription."""

import numpy as np
import pytest

from baserate.adapters import ROGD
from baserate.adapters.rogd import class_gradients, class_slopes
from baserate.marginals import BBSE, MLLS

from ..state.tampered import tampered
from .naive_layers import reweighting_loss, simplex_projection

RNG = np.random.default_rng(3)
Y = np.concatenate([np.arange(4), RNG.choice(4, p=[0.4, 0.3, 0.2, 0.1], size=60)])
PROBA = 0.5 * np.eye(4)[Y] + 0.5 * RNG.dirichlet(np.ones(4), size=64)
SOURCE = np.array([0.4, 0.3, 0.2, 0.1])
ORDER = np.argsort(Y, kind="stable")
SIZES = np.bincount(Y)


def differences(p, q):
    gradient = np.empty(4)
    for c in range(4):
        step = 1e-6 * np.eye(4)[c]
        up, down = (reweighting_loss(p + s, q, PROBA, Y, SOURCE) for s in (step, -step))
        gradient[c] = (up - down) / 2e-6
    return gradient


@pytest.mark.parametrize("p", [SOURCE, np.full(4, 0.25), np.array([0.01, 0.01, 0.97, 0.01])])
def test_the_gradient_is_that_of_the_loss(p):
    gradients = class_gradients(p, PROBA[ORDER] / SOURCE, SIZES)
    for q in (*np.eye(4), np.array([0.7, 0.6, -0.2, -0.1])):
        np.testing.assert_allclose(q @ gradients, differences(p, q), atol=1e-6)


def test_steps_are_those_of_the_transcription():
    adapter = ROGD(BBSE(clip=False), None, step_size=0.2, lipschitz=1e9, source_prior=SOURCE).fit(PROBA, Y)
    C = np.array([PROBA[c == Y].mean(axis=0) for c in range(4)]).T
    p = SOURCE
    for t in range(12):
        batch = PROBA[5 * t : 5 * t + 5]
        np.testing.assert_allclose(adapter.prior_, p, atol=1e-9)
        expected = batch * p / SOURCE
        np.testing.assert_allclose(adapter.step(batch).proba, expected / expected.sum(axis=1, keepdims=True))
        q = np.linalg.solve(C, batch.mean(axis=0))
        p = simplex_projection(p - 0.2 * differences(p, q))


def test_the_step_size_follows_the_horizon_and_the_longest_gradient():
    known = ROGD(calibrator=None, horizon=50, lipschitz=3.0).fit(PROBA, Y)
    told = ROGD(calibrator=None, step_size=np.sqrt(2 / 50) / 3.0, lipschitz=3.0).fit(PROBA, Y)
    guessed = ROGD(calibrator=None, lipschitz=3.0).fit(PROBA, Y)
    early = ROGD(calibrator=None, horizon=128, lipschitz=3.0).fit(PROBA, Y)
    for t in range(140):
        for adapter in (known, told, guessed, early):
            adapter.update(PROBA[t % 60 : t % 60 + 3])
        np.testing.assert_array_equal(known.prior_, told.prior_)
        # The guess is 128, and 512 from the round that it is reached in.
        assert np.array_equal(guessed.prior_, early.prior_) == (t < 128)


def test_a_long_gradient_is_shortened():
    start = ROGD(calibrator=None, step_size=1.0, lipschitz=0.01, source_prior=SOURCE).fit(PROBA, Y)
    before = start.prior_
    start.update(PROBA[Y == 3])
    moved = start.prior_ - before
    gradient = differences(before, start.marginals_.estimate(PROBA[Y == 3]))
    assert np.linalg.norm(gradient) > 0.1
    expected = simplex_projection(before - 0.01 * gradient / np.linalg.norm(gradient))
    np.testing.assert_allclose(moved, expected - before, atol=1e-8)


def slopes(p, q, width=0.01):
    """By differences of the loss between shares a hundredth below and above."""
    found = []
    for c in range(4):
        step = width * np.eye(4)[c]
        losses = [reweighting_loss(v, q, PROBA, Y, SOURCE) for v in (p + step, p - step)]
        found.append((losses[0] - losses[1]) / (2 * width))
    return np.array(found)


def test_the_longest_gradient_is_over_priors_that_rule_out_no_class():
    adapter = ROGD(calibrator=None, source_prior=SOURCE, rng=7).fit(PROBA, Y)
    drawn = np.random.default_rng(7).dirichlet(np.ones(4), 100)
    priors = [np.full(4, 0.25), *drawn[drawn.min(axis=1) >= 0.01]]
    assert 50 < len(priors) < 101
    longest = max(np.linalg.norm(slopes(p, q)) for p in priors for q in np.eye(4))
    assert adapter.lipschitz_ == pytest.approx(longest, rel=1e-9)
    assert ROGD(calibrator=None, source_prior=SOURCE, rng=8).fit(PROBA, Y).lipschitz_ != adapter.lipschitz_
    for p in priors[:20]:
        np.testing.assert_allclose(class_slopes(p, PROBA[ORDER] / SOURCE, SIZES)[2], slopes(p, np.eye(4)[2]))


def test_differences_are_narrower_where_shares_are_small():
    p = np.array([0.004, 0.496, 0.25, 0.25])
    found = class_slopes(p, PROBA[ORDER] / SOURCE, SIZES)[1]
    np.testing.assert_allclose(found, slopes(p, np.eye(4)[1], 0.004), rtol=1e-9)


def test_a_perfect_model_has_nothing_to_gain():
    """Re-weighting cannot make it wrong, not even where the prior rules out the class that it is sure of."""
    for k in (3, 150):
        adapter = ROGD(None, None).fit(np.eye(k), np.arange(k))
        assert adapter.lipschitz_ == pytest.approx(0.0, abs=1e-9)
        adapter.update(np.eye(k)[:2])
        np.testing.assert_allclose(adapter.prior_, 1 / k)


def test_the_estimator_is_told_the_source_prior():
    told = ROGD(MLLS(), None, step_size=0.2, source_prior=SOURCE).fit(PROBA, Y)
    expected = MLLS()
    expected.bind(source_prior=SOURCE)
    expected.fit(PROBA, Y)
    np.testing.assert_array_equal(told.marginals_.estimate(PROBA[:9]), expected.estimate(PROBA[:9]))
    assert not np.allclose(MLLS().fit(PROBA, Y).estimate(PROBA[:9]), expected.estimate(PROBA[:9]))


def test_a_class_missing_from_the_holdout():
    keep = Y != 2
    with pytest.raises(ValueError, match="y has no sample of class 2"):
        ROGD(MLLS(), None, source_prior=SOURCE).fit(PROBA[keep], Y[keep])


@pytest.mark.parametrize(
    "nonsense",
    [
        {"_prior": np.ones(3)},
        {"_sizes": np.ones(4)},
        {"_ratios": np.ones((3, 4))},
        {"lipschitz_": "x"},
        {"_calibration_offsets": np.zeros(1)},
        {"source_prior_": np.full((4, 1), 0.25)},
    ],
)
def test_a_state_that_does_not_fit_is_refused(nonsense):
    with pytest.raises(ValueError, match=r"holds|does not fit"):
        tampered(ROGD(calibrator=None).fit(PROBA, Y), **nonsense)


def test_it_moves_towards_what_it_sees():
    adapter = ROGD(calibrator=None, step_size=0.05).fit(PROBA, Y)
    for _ in range(50):
        adapter.update(PROBA[Y == 2])
    assert adapter.prior_.argmax() == 2
    assert adapter.prior_[2] > 0.8


def test_priors_at_the_edge_have_finite_gradients():
    """Where the prior rules out every class that the model holds possible, there is nothing to gain."""
    sure = np.array([[1.0, 0.0], [0.0, 1.0], [1e-300, 1.0], [0.9, 0.1], [0.2, 0.8]])
    adapter = ROGD(BBSE(), None, step_size=5.0, lipschitz=1.0).fit(sure, [0, 1, 0, 0, 1])
    for _ in range(30):
        adapter.update(sure[:1])
        assert np.isfinite(adapter.prior_).all()
    np.testing.assert_allclose(adapter.prior_, [1.0, 0.0], atol=1e-12)
    for _ in range(30):
        adapter.update(sure[1:2])
    assert np.isfinite(adapter.prior_).all()


@pytest.mark.parametrize(
    ("params", "word"),
    [({"step_size": 0.0}, "step_size"), ({"lipschitz": -1.0}, "lipschitz"), ({"horizon": 0}, "horizon")],
)
def test_bad_parameters(params, word):
    with pytest.raises(ValueError, match=word):
        ROGD(**params).fit(PROBA, Y)


def test_it_needs_labels():
    with pytest.raises(ValueError, match="y is missing: ROGD needs a labelled holdout"):
        ROGD(source_prior=SOURCE).fit(PROBA, None)
    with pytest.raises(ValueError, match="proba is missing"):
        ROGD(source_prior=SOURCE).fit()
