"""FLH-FTL, both variants, against plain transcriptions and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate.adapters import RegressAndReweight
from baserate.marginals import BBSE
from baserate.state import dumps
from baserate.trackers import FLHFTL, flhftl

from . import naive
from .sequences import KINDS, play, sequence

TRANSCRIPTION = {"start": naive.flhftl_start, "window": naive.flhftl_window}


@pytest.mark.parametrize("experts", ["start", "window"])
@pytest.mark.parametrize(("k", "T"), [(2, 120), (3, 100), (10, 70), (100, 25)])
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_transcription(experts, k, T, kind):
    rng = np.random.default_rng(k)
    zs, birth = sequence(kind, k, T, rng), rng.dirichlet(np.ones(k))
    for rate in (None, 2.0):
        tracker = FLHFTL(k, experts=experts, learning_rate=rate, prior=birth)
        expected = TRANSCRIPTION[experts](zs.tolist(), birth, 1 / k if rate is None else rate)
        np.testing.assert_allclose(play(tracker, zs), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("experts", ["start", "window"])
@pytest.mark.parametrize("k", [2, 3, 10, 100])
@pytest.mark.parametrize("kind", ["noise", "constant", "ties"])
def test_agrees_over_four_hundred_rounds(experts, k, kind):
    zs = sequence(kind, k, 400, np.random.default_rng(k))
    plain = numpy_start if experts == "start" else numpy_window
    got = play(FLHFTL(k, experts=experts, learning_rate=1.0), zs)
    np.testing.assert_allclose(got, plain(zs, np.full(k, 1 / k), 1.0), rtol=0, atol=1e-9)


def numpy_start(zs, birth, rate):
    """As the transcription, with arrays, for sizes at which lists take too long."""
    v, out = np.ones(1), []
    for t in range(len(zs) + 1):
        x = np.array([zs[j:t].mean(axis=0) for j in range(t)] + [birth])
        out.append(v @ x)
        if t < len(zs):
            w = v * np.exp(-rate * ((x - zs[t]) ** 2).sum(axis=1))
            v = np.append(w / w.sum() * (t + 1) / (t + 2), 1 / (t + 2))
    return np.array(out)


def numpy_window(zs, birth, rate):
    w, out = np.empty(0), [birth]
    for t in range(len(zs)):
        means = [zs[t - i - 1 : t].mean(axis=0) for i in range(t)]
        if t:
            decay = np.exp(-rate * ((np.array(means) - zs[t]) ** 2).sum(axis=1))
            decay[-1] = 1.0
            w = w * decay / (w * decay).sum()
        w = np.append(w * t / (t + 1), 1 / (t + 1))
        out.append(w @ np.array([zs[t - i : t + 1].mean(axis=0) for i in range(t + 1)]))
    return np.array(out)


@pytest.mark.parametrize("experts", ["start", "window"])
def test_one_round(experts):
    z = [0.7, 0.3]
    tracker = FLHFTL(2, experts=experts)
    np.testing.assert_array_equal(tracker.predict(), [0.5, 0.5])
    tracker.update(z)
    expected = [0.6, 0.4] if experts == "start" else z  # half newborn at the prior, or the only window
    np.testing.assert_allclose(tracker.predict(), expected, atol=1e-15)


def test_two_rounds_by_hand():
    """Expert 1 has seen (1, 0), expert 2 was born at the prior; both are judged on (0, 1); expert 3 is born."""
    tracker = FLHFTL(2, learning_rate=1.0)
    tracker.update([1.0, 0.0])
    tracker.update([0.0, 1.0])
    first, second = math.exp(-2.0), math.exp(-0.5)  # squared distances 2 and 1/2, equal weights before
    share = 2 / 3 * first / (first + second)
    first_mean, second_mean, newborn = 0.5, 0.0, 0.5
    expected = share * first_mean + (2 / 3 - share) * second_mean + newborn / 3
    np.testing.assert_allclose(tracker.predict()[0], expected, atol=1e-15)


def test_birth_at_zero_is_the_literal_text():
    """The text lets a newborn expert predict the zero vector; restart allows it for comparison."""
    zs = np.random.default_rng(0).dirichlet(np.ones(3), size=30)
    tracker = FLHFTL(3)
    tracker.restart(np.zeros(3))
    np.testing.assert_allclose(play(tracker, zs), naive.flhftl_start(zs.tolist(), [0.0] * 3, 1 / 3), atol=1e-12)


def test_learning_rates():
    assert FLHFTL(5).rate_ == 1 / 5
    assert FLHFTL(5, learning_rate=0.3).rate_ == 0.3
    assert FLHFTL(5, learning_rate="simplex").rate_ == 0.25
    assert FLHFTL(5, learning_rate="theory").rate_ == 1 / 40  # supervised: sightings are label frequencies


def test_the_theory_rate_takes_sigma_min_from_its_adapter():
    rng = np.random.default_rng(0)
    y = np.r_[np.arange(3), rng.integers(3, size=300)]
    proba = 0.5 * np.eye(3)[y] + 0.5 / 3
    adapter = RegressAndReweight(FLHFTL(3, learning_rate="theory"), calibrator=None).fit(proba, y)
    sigma_min = np.linalg.svd(BBSE().fit(proba, y).confusion_)[1][-1]
    assert adapter.tracker_.rate_ == pytest.approx(sigma_min**2 / 24)
    assert adapter.tracker.rate_ == 1 / 24  # the instance passed in is not touched


@pytest.mark.parametrize("experts", ["start", "window"])
def test_huge_losses_lose_no_weight(experts):
    """Weights underflow for every expert at once; in the log domain nothing is lost."""
    zs = np.array([[1e5, 0.0], [0.0, 1e5], [1e5, 0.0], [3.0, 4.0]])
    out = play(FLHFTL(2, experts=experts), zs)
    assert np.isfinite(out).all()
    # Far from everything seen, all weight is on the expert that comes closest.
    assert np.abs(out[-1] - zs[-1]).max() < 1e5


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=1, max_size=40),
    st.sampled_from(["start", "window"]),
    st.floats(0.01, 5),
)
def test_plays_inside_the_hull_of_what_it_has_seen(zs, experts, rate):
    tracker = FLHFTL(3, experts=experts, learning_rate=rate)
    for i, z in enumerate(zs):
        tracker.update(z)
        seen = np.array([*zs[: i + 1], [1 / 3] * 3])
        out = tracker.predict()
        assert (out >= seen.min(axis=0) - 1e-9).all()
        assert (out <= seen.max(axis=0) + 1e-9).all()


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 2**32 - 1), st.sampled_from(["start", "window"]))
def test_relabelling_the_classes_relabels_the_prediction(order, seed, experts):
    zs = np.random.default_rng(seed).dirichlet(np.ones(4), size=25)
    direct, relabelled = play(FLHFTL(4, experts=experts), zs), play(FLHFTL(4, experts=experts), zs[:, order])
    np.testing.assert_allclose(direct[:, order], relabelled, atol=1e-12)


def test_finds_a_step_that_the_mean_never_does():
    """The point of the algorithm: after a change, the experts born after it take over."""
    zs = np.repeat([[0.9, 0.1], [0.1, 0.9]], 200, axis=0)
    for experts in ("start", "window"):
        assert play(FLHFTL(2, experts=experts), zs)[-1][1] > 0.88
    assert np.mean(zs, axis=0)[1] == pytest.approx(0.5)


def test_memory_is_linear_not_quadratic():
    tracker = FLHFTL(10)
    for z in np.full((1000, 10), 0.1):
        tracker.update(z)
    assert sum(v.nbytes for v in vars(tracker).values() if isinstance(v, np.ndarray)) < 4 * 1000 * 11 * 8


def test_the_exponential_is_exact_to_the_last_digits():
    x = np.concatenate([-np.logspace(-18, np.log10(700), 4000), np.linspace(-708, 0, 4001)])
    out = np.empty_like(x)
    flhftl._exp(x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-15)
    below = np.empty(2)
    flhftl._exp(np.array([-709.0, -1e300]), below)
    np.testing.assert_allclose(below, np.exp(-708.0), rtol=1e-12)


@pytest.mark.parametrize(
    "change", [{"n_classes": 5, "prior": [0.5, 0.5]}, {"experts": "nope"}, {"learning_rate": -1.0}]
)
def test_a_refused_parameter_changes_nothing(change):
    tracker = FLHFTL(3)
    tracker.update([0.2, 0.3, 0.5])
    before = dumps(tracker)
    with pytest.raises(ValueError, match=r"prior|experts|learning_rate"):
        tracker.set_params(**change)
    assert dumps(tracker) == before
