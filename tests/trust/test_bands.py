"""PriorBand: what it covers, what its two parts are for, and what it must not depend on."""

import copy
from itertools import pairwise

import numpy as np
import pytest

from baserate.protocols import Evidence
from baserate.state import dumps, loads
from baserate.trackers import FLHFTL, LikelihoodMixture
from baserate.trust import PriorBand, bands
from baserate.trust._kept_holdout import KeptHoldout
from baserate.trust._label_estimates import label_estimates

from .simulated import EVEN, MIX, holdout, labels, outputs

BIRTH = MEMORIES = LikelihoodMixture(3).weighted_experts().n_forgetting


def _follow(rng, n_rounds, n=10, q=MIX, sharpness=1.0, tracker=None):
    tracker = LikelihoodMixture(3) if tracker is None else tracker
    for _ in range(n_rounds):
        proba = outputs(rng, labels(rng, n, q), sharpness)
        tracker.update(proba.mean(axis=0), Evidence(proba, EVEN))
    return tracker


def _coverage(n_holdout, n_rounds, n, sharpness=1.0, n_draws=40, level=0.9):
    held = []
    for seed in range(n_draws):
        rng = np.random.default_rng([7, seed])
        band = PriorBand().fit(*holdout(rng, n_holdout, sharpness))
        tracker = _follow(rng, n_rounds, n, sharpness=sharpness)
        low, high = band.interval(tracker.predict(), tracker, level).T
        held.append((low <= MIX) & (high >= MIX))
    return np.mean(held)


@pytest.mark.parametrize(("n_holdout", "n_rounds", "n"), [(60, 50, 200), (6000, 100, 10), (120, 100, 20)])
@pytest.mark.parametrize("sharpness", [1.0, 2.0])
def test_covers_the_mix_behind_the_stream(n_holdout, n_rounds, n, sharpness):
    """With a small holdout, a short stream or both, of an honest model and of one that is too sure."""
    assert _coverage(n_holdout, n_rounds, n, sharpness) >= 0.87


def test_without_the_holdouts_part_a_small_holdout_would_not_be_covered(monkeypatch):
    plain = KeptHoldout._class_weights

    def endless(self):
        weights, sizes = plain(self)
        return weights, sizes * 1e6

    monkeypatch.setattr(KeptHoldout, "_class_weights", endless)
    assert _coverage(60, 50, 200) < 0.7
    assert _coverage(6000, 100, 10) >= 0.87


def test_without_the_streams_part_a_short_stream_would_not_be_covered(monkeypatch):
    """Its part is the spread of each expert, and that between them."""

    class Endless(LikelihoodMixture):
        def weighted_experts(self):
            found = super().weighted_experts()
            weights = np.eye(len(found.weights))[found.weights[:MEMORIES].argmax()] + 1e-12
            return found._replace(weights=weights, sizes=found.sizes * 1e6)

    monkeypatch.setitem(globals(), "LikelihoodMixture", Endless)
    assert _coverage(6000, 100, 10) < 0.5


def test_a_steady_drift_is_covered_where_the_tracker_lags_behind():
    """The experts' lead: without it the band would be about a mix of some rounds ago."""
    held, behind = [], []
    for seed in range(25):
        rng = np.random.default_rng([11, seed])
        band, tracker = PriorBand().fit(*holdout(rng, 1000)), LikelihoodMixture(3)
        for share in np.linspace(0.1, 0.9, 150):
            q = np.array([share, (1 - share) / 2, (1 - share) / 2])
            _follow(rng, 1, 20, q, tracker=tracker)
        low, high = band.interval(tracker.predict(), tracker).T
        held.append(low[0] <= q[0] <= high[0])
        behind.append(q[0] - tracker.predict()[0])
    assert np.mean(behind) > 0.03
    assert np.mean(held) >= 0.8


def test_holds_the_tracked_prior_within_zero_and_one():
    rng = np.random.default_rng(0)
    band, tracker = PriorBand().fit(*holdout(rng, 300)), _follow(rng, 100)
    for prior in (tracker.predict(), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])):
        low, high = band.interval(prior, tracker).T
        assert (low <= prior).all()
        assert (prior <= high).all()
        assert low.min() >= 0.0
        assert high.max() <= 1.0


def test_nothing_is_known_before_the_first_round():
    band = PriorBand().fit(*holdout(np.random.default_rng(0), 3000))
    low, high = band.interval(EVEN, LikelihoodMixture(3)).T
    np.testing.assert_array_equal(low, 0.0)
    assert high.min() > 0.9


def test_a_higher_level_gives_a_wider_band():
    rng = np.random.default_rng(1)
    band, tracker = PriorBand().fit(*holdout(rng, 300)), _follow(rng, 50)
    at = [band.interval(tracker.predict(), tracker, level) for level in (0.5, 0.8, 0.9, 0.99)]
    for narrow, wide in pairwise(at):
        assert (wide[:, 0] <= narrow[:, 0]).all()
        assert (narrow[:, 1] <= wide[:, 1]).all()
        assert (np.diff(wide) > np.diff(narrow)).all()


def test_width_goes_with_the_root_of_what_there_is_least_of():
    def width(n_holdout, n_rounds, n):
        found = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            band, tracker = PriorBand().fit(*holdout(rng, n_holdout)), _follow(rng, n_rounds, n)
            found.append(np.diff(band.interval(tracker.predict(), tracker)).mean())
        return np.mean(found)

    assert 1.5 < width(150, 50, 800) / width(600, 50, 800) < 2.4  # the stream is large
    assert 1.6 < width(30000, 50, 2) / width(30000, 50, 8) < 2.4  # the holdout is
    assert 1.4 < width(30000, 100, 10) / width(30000, 400, 10) < 2.6  # it has left the birth value behind


def test_a_permutation_of_the_classes_permutes_the_band():
    rng = np.random.default_rng(2)
    proba, y = holdout(rng, 300)
    batches = [outputs(rng, labels(rng, 10, MIX)) for _ in range(30)]
    order = np.array([2, 0, 1])
    found = []
    for columns in (np.arange(3), order):
        band = PriorBand().fit(proba[:, columns], np.argsort(columns)[y])
        tracker = LikelihoodMixture(3)
        for batch in batches:
            tracker.update(EVEN, Evidence(np.ascontiguousarray(batch[:, columns]), EVEN))
        found.append(band.interval(tracker.predict(), tracker))
    np.testing.assert_allclose(found[1], found[0][order], rtol=0, atol=1e-6)


def test_beside_another_tracker_it_follows_the_mix_itself():
    rng = np.random.default_rng(3)
    own = PriorBand().fit(*holdout(rng, 300))
    beside = loads(dumps(own))
    mixture, other = LikelihoodMixture(3, prior=own.source_prior_), FLHFTL(3)
    assert beside.needs_rounds(other)
    assert not own.needs_rounds(mixture)
    before = dumps(own)
    for _ in range(40):
        proba = outputs(rng, labels(rng, 10, MIX))
        y = np.where(rng.random(10) < 0.2, 1, -1)
        mixture.update(EVEN, Evidence(proba, own.source_prior_, y))
        other.update(proba.mean(axis=0))
        own.update(proba, mixture, y)
        beside.update(proba, other, y)
    assert dumps(own) == before
    prior = mixture.predict()
    np.testing.assert_array_equal(beside.interval(prior, other), own.interval(prior, mixture))
    beside.reset()
    assert dumps(beside) == before
    beside.reset(MIX)
    np.testing.assert_array_equal(beside._mixture.predict(), MIX)


def test_a_saved_band_goes_on():
    rng = np.random.default_rng(4)
    band, tracker = PriorBand().fit(*holdout(rng, 300)), FLHFTL(3)
    for _ in range(5):
        band.update(outputs(rng, labels(rng, 10, MIX)), tracker)
    again = loads(dumps(band))
    more = outputs(rng, labels(rng, 10, MIX))
    for one in (band, again):
        one.update(more, tracker)
    assert dumps(again) == dumps(band)
    np.testing.assert_array_equal(again.interval(MIX, tracker), band.interval(MIX, tracker))


def test_classes_that_look_alike_are_left_open():
    rng = np.random.default_rng(5)
    proba, y = holdout(rng, 300)
    alike = np.column_stack([proba[:, 0], (proba[:, 1] + proba[:, 2]) / 2, (proba[:, 1] + proba[:, 2]) / 2])
    band, tracker = PriorBand().fit(alike, y), _follow(rng, 50)
    low, high = band.interval(tracker.predict(), tracker).T
    assert (high - low)[1:].min() > 0.9


def test_a_given_source_prior_is_what_the_probabilities_assume():
    """The same likelihoods, said at two source mixes."""
    rng = np.random.default_rng(6)
    proba, y = holdout(rng, 300)
    other = np.array([0.5, 0.3, 0.2])
    shifted = proba * other / (proba * other).sum(axis=1, keepdims=True)
    tracker = _follow(rng, 50)
    plain = PriorBand().fit(proba, y).interval(tracker.predict(), tracker)
    given = PriorBand().fit(shifted, y, other).interval(tracker.predict(), tracker)
    np.testing.assert_allclose(given, plain, atol=2e-3)  # but for the two pseudo-samples


def test_a_large_holdout_is_thinned_evenly_and_not_shared():
    rng = np.random.default_rng(7)
    y = labels(rng, 100_000, [0.9, 0.09, 0.01])
    proba = outputs(rng, y)
    band = PriorBand().fit(proba, y)
    kept = np.bincount(band._labels)
    np.testing.assert_allclose(kept / kept.sum(), np.bincount(y) / len(y), atol=1e-4)
    assert 66_666 <= kept.sum() <= 66_669
    np.testing.assert_allclose(band.source_prior_, np.bincount(y) / len(y))
    before = dumps(band)
    proba[:] = 1 / 3
    assert dumps(band) == before


def test_an_experts_lag_behind_a_steady_drift_is_made_up_for():
    memories = 2.0 ** np.arange(22)
    now, pace = np.array([0.5, 0.3, 0.2]), np.array([1e-8, -2e-8, 1e-8])
    mixes = np.vstack([now - memories[:, np.newaxis] * pace, EVEN, MIX, MIX])
    ahead = mixes + bands._lead(mixes, MEMORIES)
    np.testing.assert_allclose(ahead[:21], np.tile(now, (21, 1)), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(ahead[22:], mixes[22:])


def test_guesses_under_the_tracked_mix_hold_back_and_are_undone():
    """A sample of class c is taken for class j with probability soft[c, j] where MIX is tracked."""
    soft = np.array([[0.9, 0.08, 0.02], [0.15, 0.8, 0.05], [0.05, 0.1, 0.85]])
    truth = np.array([0.1, -0.04, -0.06])
    scores_to_labels = np.linalg.inv(soft / MIX)
    np.testing.assert_allclose(bands._undamped((truth @ soft)[np.newaxis], MIX, scores_to_labels)[0], truth)
    nearly_blind = 0.01 * soft + 0.99 * soft.mean(axis=0)
    moved = (truth @ nearly_blind)[np.newaxis]
    np.testing.assert_allclose(bands._undamped(moved, MIX, np.linalg.inv(nearly_blind / MIX)), 2 * moved)
    np.testing.assert_array_equal(bands._undamped(np.zeros((1, 3)), MIX, scores_to_labels), 0.0)


def test_the_variance_of_each_expert_is_its_streams_and_the_holdouts():
    rng = np.random.default_rng(11)
    band, tracker = PriorBand().fit(*holdout(rng, 3000)), _follow(rng, 40)
    _, means, variances, _ = band._beliefs(tracker)
    class_weights, sizes = band._class_weights()
    centre = tracker.predict()
    rows = label_estimates(band._proba, class_weights, EVEN, centre)
    q = rows.mix
    in_class = np.array([class_weights[:, c] @ (rows.rows - np.eye(3)[c]) ** 2 for c in range(3)])
    holdout_part = (q**2 / sizes) @ in_class
    experts = tracker.weighted_experts()
    # The variance of a guess is that of the label, and that of the guess given the label.
    everything = MEMORIES - 1
    expected = (means[everything] * (1 - means[everything]) + q @ in_class) / experts.sizes[everything] + holdout_part
    np.testing.assert_allclose(variances[everything], expected, rtol=1e-6)
    assert (variances[everything] > 1.2 * means[everything] * (1 - means[everything]) / 401).all()
    # One that forgets may have been moved ahead too far, or not far enough.
    lead = bands._undamped(experts.mixes[[4]] - experts.mixes[[5]], centre, rows.inverse)[0]
    expected = (means[4] * (1 - means[4]) + q @ in_class) / experts.sizes[4] + holdout_part + 0.25 * lead**2
    np.testing.assert_allclose(variances[4], expected, rtol=1e-6)


def test_the_birth_value_has_the_margin_and_what_speaks_against_it():
    rng = np.random.default_rng(12)
    band, tracker = PriorBand().fit(*holdout(rng, 3000)), _follow(rng, 40, q=EVEN)
    _, means, tight, _ = band._beliefs(tracker)
    weights, _, sizes, *_ = tracker.weighted_experts()
    tracker.tolerate(np.array([0.2, 0.1, 0.0]))
    tolerant = band._beliefs(tracker)[2]
    np.testing.assert_array_equal(tolerant[np.arange(len(tolerant)) != BIRTH], tight[np.arange(len(tolerant)) != BIRTH])
    np.testing.assert_allclose((tolerant - tight)[BIRTH], [0.1**2, 0.05**2, 0.0], atol=3e-4)  # in the holdout's place
    np.testing.assert_allclose(means[BIRTH], EVEN)
    found = weights[:MEMORIES] @ means[:MEMORIES] / weights[:MEMORIES].sum()
    size = weights[:MEMORIES] @ sizes[:MEMORIES] / weights[:MEMORIES].sum()
    assert (tight[BIRTH] > EVEN * (1 - EVEN) / size + (found - EVEN) ** 2).all()
    assert (tight[BIRTH] < 3 * EVEN * (1 - EVEN) / size + (found - EVEN) ** 2).all()


def test_a_mix_within_the_margin_is_covered_and_one_that_comes_back_is_recalled():
    """The tracker stays at the source's mix where the stream is of another that the holdout might explain."""
    nearly, held = EVEN + np.array([0.05, 0.0, -0.05]), []
    for seed in range(20):
        rng = np.random.default_rng([13, seed])
        band, tracker = PriorBand().fit(*holdout(rng, 300)), LikelihoodMixture(3)
        tracker.tolerate(np.full(3, 0.08))
        _follow(rng, 60, q=nearly, tracker=tracker)
        low, high = band.interval(tracker.predict(), tracker).T
        held.append((low <= nearly) & (nearly <= high))
        assert tracker.weighted_experts().weights[BIRTH] > 0.5
    assert np.mean(held) >= 0.87
    for q in (MIX, EVEN, MIX):
        _follow(rng, 60, q=q, tracker=tracker)
    experts = tracker.weighted_experts()
    assert len(experts.weights) > BIRTH + 1
    assert experts.weights.min() > 0.0
    np.testing.assert_allclose(experts.weights.sum(), 1.0)
    low, high = band.interval(tracker.predict(), tracker).T
    assert ((low <= MIX) & (high >= MIX)).all()


def test_what_is_wrong_is_refused():
    rng = np.random.default_rng(9)
    band, tracker = PriorBand().fit(*holdout(rng, 30)), LikelihoodMixture(3)
    before = dumps(band)
    for level in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="level"):
            band.interval(EVEN, tracker, level)
    with pytest.raises(TypeError, match="level"):
        band.interval(EVEN, tracker, "0.9")
    with pytest.raises(ValueError, match="tracker follows 4 classes; the holdout has 3"):
        band.interval(EVEN, LikelihoodMixture(4))
    with pytest.raises(ValueError, match="prior has 2 columns"):
        band.interval([0.5, 0.5], tracker)
    with pytest.raises(ValueError, match="proba row 0 sums"):
        band.update([[0.5, 0.5, 0.5]], FLHFTL(3))
    with pytest.raises(ValueError, match="labels holds the unknown label 3"):
        band.update([[0.5, 0.2, 0.3]], FLHFTL(3), [3])
    with pytest.raises(ValueError, match="y has no sample of class 2"):
        band.fit([[0.5, 0.2, 0.3], [0.5, 0.2, 0.3]], [0, 1])
    with pytest.raises(ValueError, match="source_prior gives class 0 no mass"):
        band.fit(*holdout(rng, 30), [0.0, 0.5, 0.5])
    assert dumps(band) == before
    with pytest.raises(ValueError, match="not fitted"):
        PriorBand().interval(EVEN, tracker)
    with pytest.raises(ValueError, match="not fitted"):
        PriorBand().update([[0.5, 0.5]], tracker)


def test_a_damaged_state_is_refused():
    band = PriorBand().fit(*holdout(np.random.default_rng(10), 30))
    for name, wrong in (
        ("_labels", band._labels[:-1]),
        ("_labels", np.zeros_like(band._labels)),
        ("_labels", band._labels + 1),
        ("_proba", 2.0 * band._proba),
        ("source_prior_", np.array([0.5, 0.5])),
        ("source_prior_", np.array([0.5, 0.5, 0.0])),
        ("_mixture", LikelihoodMixture(4)),
        ("_mixture", FLHFTL(3)),
        ("beyond", 1),
    ):
        damaged = copy.deepcopy(band)
        setattr(damaged, name, wrong)
        with pytest.raises(ValueError, match=r"holds|does not fit together"):
            loads(dumps(damaged))


def test_a_holdout_that_is_not_quite_normalised_is_saved():
    rows, labels = holdout(np.random.default_rng(10), 30)
    band = PriorBand().fit(1.0009 * rows, labels)
    assert dumps(loads(dumps(band))) == dumps(band)
