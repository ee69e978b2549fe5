"""The likelihood mixture: what it may not depend on, its bound, and how fast it learns."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate import Bank
from baserate.adapters import RegressAndReweight
from baserate.checks import checks_for
from baserate.protocols import Evidence, ExpertTracker
from baserate.shifts import Bernoulli, sample_stream
from baserate.state import dumps, loads
from baserate.trackers import FLHFTL, LikelihoodMixture
from baserate.trackers.likelihood_mixture import experts
from baserate.trackers.likelihood_mixture import tracker as tracker_module

from .streams import draw, rounds_of, run

MEMORIES = 23


def test_a_mix_within_the_margin_is_taken_for_the_prior_and_one_beyond_it_is_not():
    rng, source = np.random.default_rng(0), np.full(3, 1 / 3)
    for far, weight in ((0.03, True), (0.2, False)):
        tracker, q = LikelihoodMixture(3), source + far * np.array([1.0, -1.0, 0.0])
        tracker.tolerate(np.full(3, 0.06))
        played = []
        for _ in range(600):
            tracker.update(q, Evidence(draw(rng, q, 10)[0], source))
            played.append(tracker.predict())
        distance = np.abs(np.mean(played[300:], axis=0) - (source if weight else q)).max()
        assert distance < 0.01


def test_a_mix_that_comes_back_is_known_at_once():
    """Without recalled mixes it takes as long as the first time, and is never as sure."""
    rng, k, n = np.random.default_rng(1), 5, 10
    ends = np.array([[0.5, 0.3, 0.1, 0.05, 0.05], [0.05, 0.05, 0.1, 0.3, 0.5]])
    source, tracker, distances = np.full(k, 1 / k), LikelihoodMixture(k), []
    for period in range(16):
        q, seen = ends[period % 2], []
        for _ in range(40):
            seen.append(((tracker.predict() - q) ** 2).sum())
            tracker.update(q, Evidence(draw(rng, q, n, sharp=9.0)[0], source))
        distances.append(np.mean(seen[2:]))
    assert np.mean(distances[8:]) < 0.35 * np.mean(distances[:2])
    assert np.mean(distances[8:]) < 0.5 * (1 - ends[0] @ ends[0]) / (10.0 * n)  # of a mean over ten rounds


def test_a_sighting_of_one_class_is_one_labelled_sample():
    seen, told = LikelihoodMixture(3), LikelihoodMixture(3)
    for y in (0, 2, 2, 1, 2, 2):
        seen.update(np.eye(3)[y])
        told.update(np.eye(3)[y], Evidence(np.full((1, 3), 1 / 3), np.full(3, 1 / 3), np.array([y])))
    np.testing.assert_allclose(seen.predict(), told.predict(), rtol=0, atol=1e-14)
    assert seen.predict().argmax() == 2


SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, k=st.integers(2, 6))
def test_predictions_are_class_mixes_and_classes_have_no_order(seed, k):
    rng = np.random.default_rng(seed)
    order, prior = rng.permutation(k), rng.dirichlet(np.ones(k))
    place = np.argsort(order)
    played, permuted = LikelihoodMixture(k, prior=prior), LikelihoodMixture(k, prior=prior[order])
    for evidence in rounds_of(seed, k, 15):
        labels = evidence.labels
        swapped = None if labels is None else np.where(labels < 0, -1, place[labels])
        played.update(prior, evidence)
        permuted.update(prior, Evidence(evidence.proba[:, order], evidence.source_prior[order], swapped))
        q = played.predict()
        assert (q >= 0).all()
        assert q.sum() == pytest.approx(1.0, abs=1e-13)
        np.testing.assert_allclose(permuted.predict(), q[order], rtol=0, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, light=st.booleans())
def test_samples_of_a_round_have_no_order_and_a_label_is_a_row_of_certainty(seed, light):
    """Rounds that are taken in one part have none; the light profile takes all rounds so."""
    rng = np.random.default_rng(seed)
    plain, shuffled, certain = (LikelihoodMixture(3, light=light) for _ in range(3))
    for evidence in rounds_of(seed, 3, 15, sizes=(0, 1, 2, 7, 40) if light else (0, 1, 2, 7, 10)):
        order = rng.permutation(evidence.n)
        labels = np.full(evidence.n, -1) if evidence.labels is None else evidence.labels
        plain.update(np.ones(3), evidence)
        shuffled.update(np.ones(3), Evidence(evidence.proba[order], evidence.source_prior, labels[order]))
        rows = np.where(labels[:, None] < 0, evidence.proba, np.eye(3)[labels])
        certain.update(np.ones(3), Evidence(rows, evidence.source_prior))
        np.testing.assert_allclose(shuffled.predict(), plain.predict(), rtol=0, atol=1e-9)
        np.testing.assert_allclose(certain.predict(), plain.predict(), rtol=0, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_in_large_rounds_too_a_label_is_a_row_of_certainty(seed):
    plain, certain = LikelihoodMixture(3), LikelihoodMixture(3)
    for evidence in rounds_of(seed, 3, 10, sizes=(1, 40, 100)):
        labels = np.full(evidence.n, -1) if evidence.labels is None else evidence.labels
        plain.update(np.ones(3), evidence)
        certain.update(
            np.ones(3),
            Evidence(np.where(labels[:, None] < 0, evidence.proba, np.eye(3)[labels]), evidence.source_prior),
        )
        np.testing.assert_allclose(certain.predict(), plain.predict(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [40, 300])
def test_the_order_of_samples_in_a_large_round_makes_a_small_difference_on_average(n):
    """A single round in which the mix jumps may differ: which of its samples a new run sees first is chance."""
    apart, moved, source = [], [], np.full(3, 1 / 3)
    for seed in range(20):
        rng, tracker = np.random.default_rng(seed), LikelihoodMixture(3)
        for t in range(15):
            proba, _ = draw(rng, [0.7, 0.2, 0.1] if t < 10 else [0.1, 0.2, 0.7], n)
            before, other = tracker.predict(), copy.deepcopy(tracker)
            tracker.update(source, Evidence(proba, source))
            other.update(source, Evidence(proba[rng.permutation(n)], source))
            apart.append(np.abs(tracker.predict() - other.predict()).max())
            moved.append(np.abs(tracker.predict() - before).max())
    assert np.mean(apart) < 0.2 * np.mean(moved)
    assert np.quantile(apart, 0.9) < 0.03


def test_a_round_without_samples_leaves_everything_as_it_is():
    tracker = LikelihoodMixture(3)
    run(tracker, rounds_of(0, 3, 10), 3)
    before = dumps(tracker)
    tracker.update(np.ones(3), Evidence(np.empty((0, 3)), np.full(3, 1 / 3)))
    tracker.update(np.ones(3), Evidence(np.empty((0, 3)), np.full(3, 1 / 3), np.empty(0, dtype=np.int64)))
    assert dumps(tracker) == before


@pytest.mark.parametrize("light", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 11, 20, 73])
def test_left_out_is_what_an_update_with_the_others_leads_to_bit_for_bit(n, light):
    """Up to ten samples: with all others; beyond, with those of the nine other folds. Labels are not looked at."""
    tracker = LikelihoodMixture(3, prior=[0.2, 0.3, 0.5], light=light)
    tracker.tolerate(np.full(3, 0.01))
    run(tracker, rounds_of(0, 3, 20), 3)
    proba, _ = draw(np.random.default_rng(n), [0.1, 0.4, 0.5], n)
    source = np.array([0.3, 0.3, 0.4])
    before = dumps(tracker)
    mixes = tracker.predict_left_out(Evidence(proba, source, np.zeros(n, dtype=np.int64)))
    assert dumps(tracker) == before
    assert mixes.shape == (n, 3)
    for i in range(n):
        others = np.arange(n) % 10 != i % 10
        assert n > 10 or others.sum() == n - 1
        without = copy.deepcopy(tracker)
        without.update(np.ones(3), Evidence(proba[others], source))
        np.testing.assert_array_equal(mixes[i], without.predict())


def test_left_out_of_so_many_that_folds_are_taken_in_turns(monkeypatch):
    tracker, source = LikelihoodMixture(3), np.full(3, 1 / 3)
    run(tracker, rounds_of(0, 3, 20), 3)
    proba, _ = draw(np.random.default_rng(1), [0.1, 0.4, 0.5], 57)
    at_once = tracker.predict_left_out(Evidence(proba, source))
    for most in (1, 57 * 3, 57 * 9):
        monkeypatch.setattr(tracker_module, "_MOST_ROWS", most)
        np.testing.assert_array_equal(tracker.predict_left_out(Evidence(proba, source)), at_once)


@pytest.mark.parametrize("n", [6, 35])
def test_a_sample_is_no_evidence_for_itself(n):
    tracker, source = LikelihoodMixture(3), np.full(3, 1 / 3)
    run(tracker, rounds_of(5, 3, 20), 3)
    proba, _ = draw(np.random.default_rng(0), [0.1, 0.1, 0.8], n)
    changed = proba.copy()
    changed[2] = [1.0, 0.0, 0.0]
    one, two = (tracker.predict_left_out(Evidence(p, source)) for p in (proba, changed))
    same_fold = np.arange(n) % 10 == 2
    np.testing.assert_array_equal(one[same_fold], two[same_fold])
    assert (np.abs(one - two).max(axis=1)[~same_fold] > 1e-5).all()


@pytest.mark.parametrize("labelled", [False, True])
def test_played_in_one_call_it_is_the_same_bit_for_bit(labelled):
    source = np.array([0.5, 0.3, 0.2])
    rounds = [Evidence(e.proba, source, e.labels) for e in rounds_of(2, 3, 40, labelled=labelled)]
    by_hand, at_once = LikelihoodMixture(3), LikelihoodMixture(3)
    for tracker in (by_hand, at_once):
        tracker.tolerate(np.full(3, 0.02))
    played = run(by_hand, rounds, 3)
    unknown = [np.full(e.n, -1) if e.labels is None else e.labels for e in rounds]
    starts = np.cumsum([0, *(e.n for e in rounds)])
    labels = np.concatenate(unknown) if labelled else None
    out = at_once.play(Evidence(np.vstack([e.proba for e in rounds]), source, labels, starts))
    np.testing.assert_array_equal(out, played[:-1])
    assert dumps(at_once) == dumps(by_hand)


@pytest.mark.parametrize("starts", [[0, 2, 1, 4], [1, 4], [0, 3], [0.0, 4.0], [], [[0, 4]]])
def test_rounds_that_are_cut_wrongly_are_refused_and_change_nothing(starts):
    tracker, before = LikelihoodMixture(2), dumps(LikelihoodMixture(2))
    with pytest.raises(ValueError, match="starts"):
        tracker.play(Evidence(np.full((4, 2), 0.5), np.full(2, 0.5), starts=np.array(starts)))
    assert dumps(tracker) == before


@pytest.mark.parametrize("light", [False, True])
@pytest.mark.parametrize("check", checks_for(LikelihoodMixture(3)), ids=lambda check: check.__name__)
def test_contract(check, light):
    check(LikelihoodMixture(3, light=light))


@pytest.mark.parametrize(("k", "light"), [(3, False), (3, True), (40, False)])
def test_saved_among_evidence_it_goes_on_bit_for_bit(k, light):
    rounds = list(rounds_of(3, k, 20))
    tracker = LikelihoodMixture(k, light=light)
    run(tracker, rounds[:10], k)
    tracker.idle(3)
    resumed = loads(dumps(tracker))
    np.testing.assert_array_equal(run(resumed, rounds[10:], k), run(tracker, rounds[10:], k))
    assert dumps(resumed) == dumps(tracker)


@pytest.mark.parametrize("light", [False, True])
def test_a_key_of_a_bank_is_an_adapter_of_its_own_bit_for_bit(light):
    rng = np.random.default_rng(0)
    holdout = draw(rng, np.full(3, 1 / 3), 300)
    adapter = RegressAndReweight(LikelihoodMixture(3, light=light), gate=False).fit(*holdout)
    bank, alone = Bank(adapter), {}
    for _ in range(20):
        n = int(rng.integers(1, 30))
        proba, y = draw(rng, [0.6, 0.3, 0.1], n)
        keys, labels = rng.integers(4, size=n), np.where(rng.random(n) < 0.3, y, -1)
        step = bank.step(keys, proba, labels)
        for key in np.unique(keys):
            mine = keys == key
            one = alone.setdefault(key, copy.deepcopy(adapter)).step(proba[mine], labels[mine])
            assert one.proba.tobytes() == step.proba[mine].tobytes()
            assert one.prior.tobytes() == step.prior[step.keys.index(int(key))].tobytes()


def test_inside_an_adapter_it_is_born_at_the_source_marginal_to_the_last_bit():
    adapter = RegressAndReweight(LikelihoodMixture(3)).fit(*draw(np.random.default_rng(0), [0.5, 0.3, 0.2], 97))
    np.testing.assert_array_equal(adapter.prior_, adapter.source_prior_)


def test_birth_values_off_the_simplex_are_projected():
    tracker = LikelihoodMixture(3)
    tracker.restart([0.9, 0.6, -0.1])
    np.testing.assert_allclose(tracker.predict(), [0.65, 0.35, 0.0], atol=1e-15)


def test_a_class_that_the_prior_rules_out_may_come_all_the_same():
    tracker = LikelihoodMixture(2, prior=[1.0, 0.0])
    np.testing.assert_array_equal(tracker.predict(), [1.0, 0.0])
    for _ in range(5):
        tracker.update([0.0, 1.0], Evidence(np.array([[1e-9, 1 - 1e-9]]), np.array([0.5, 0.5])))
    assert tracker.predict()[1] > 0.7


@pytest.mark.parametrize(
    ("evidence", "named"),
    [
        (Evidence(np.full((2, 2), 0.5), np.full(3, 1 / 3)), "evidence.proba"),
        (Evidence(np.full((2, 3), np.nan), np.full(3, 1 / 3)), "evidence.proba"),
        (Evidence(np.full((2, 3), 1 / 3), np.full(2, 0.5)), "evidence.source_prior"),
        (Evidence(np.full((2, 3), 1 / 3), np.array([0.5, 0.5, 0.0])), "evidence.source_prior"),
        (Evidence(np.full((2, 3), 1 / 3), np.full(3, 1 / 3), np.array([0])), "evidence.labels"),
        (Evidence(np.full((2, 3), 1 / 3), np.full(3, 1 / 3), np.array([0, 3])), "evidence.labels"),
    ],
)
def test_bad_evidence_is_refused_and_changes_nothing(evidence, named):
    tracker = LikelihoodMixture(3)
    before = dumps(tracker)
    with pytest.raises(ValueError, match=named):
        tracker.update(np.ones(3), evidence)
    assert dumps(tracker) == before


def many(tracker, keys, path, n, seed=0):
    """(T, keys) distances to the truth of many keys that draw n samples a round from the same path."""
    k = path.shape[1]
    rng = np.random.default_rng(seed)
    rows, starts, source = np.arange(keys), np.arange(0, keys * n + 1, n), np.full(k, 1 / k)
    state = tracker.new_state(np.tile(source, (keys, 1)))
    distances = []
    for q in path:
        distances.append(((tracker.predict_rows(state, rows) - q) ** 2).sum(axis=1))
        proba, _ = draw(rng, q, keys * n, sharp=9.0)
        tracker.update_rows(state, rows, np.ones((keys, k)), Evidence(proba, source, None, starts))
    return np.array(distances)


def test_a_mix_that_stands_still_is_learned_at_the_rate_of_a_mean():
    q, n, T = np.array([0.6, 0.3, 0.1]), 5, 3200
    distances = np.median(many(LikelihoodMixture(3), 60, np.tile(q, (T, 1)), n), axis=1)
    rate = (1 - q @ q) / n  # the mean of labels is off by this over t, on average; its median is some 0.75 of that
    for t in (100, 800, T - 1):
        assert 0.4 < t * distances[t] / rate < 1.8
    assert distances[T - 1] < distances[400] / 4


def test_a_jump_is_followed_within_a_few_rounds():
    """However long nothing had happened before, and back to the source's mix faster still."""
    far, near = np.array([0.9, 0.05, 0.05]), np.full(3, 1 / 3)
    path = np.vstack([np.tile(far, (2000, 1)), np.tile(far[::-1], (300, 1)), np.tile(near, (20, 1))])
    distances = many(LikelihoodMixture(3), 20, path, 10).mean(axis=1) / ((far - far[::-1]) ** 2).sum()
    assert distances[2000] > 0.9
    assert distances[2003] < 0.1
    assert distances[2030] < 0.02
    assert distances[2299] < 0.001
    assert distances[2303] < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_single_samples_are_foreseen_as_well_as_by_the_best_expert(seed):
    """The regret bound of the docstring, which holds for any rows whatever."""
    rng, tracker, T = np.random.default_rng(seed), LikelihoodMixture(3), 400
    behind = np.zeros(MEMORIES + 1)
    for t in range(T):
        favourite = t // (T if seed == 0 else 10**seed) % 3
        row = rng.dirichlet([0.05, 0.05, 0.05]) if seed == 3 else 0.01 * rng.dirichlet(np.ones(3))
        row = row + 0.99 * np.eye(3)[favourite] if seed < 3 else row
        mixes = experts.expert_mixes(tracker._state.births[0], tracker._state.counts[0])[:, : MEMORIES + 1]
        behind += np.log(row @ mixes) - np.log(row @ tracker.predict())
        tracker.update(row, Evidence(row[None], np.full(3, 1 / 3)))
        assert behind.max() < math.log(138) + 2 * math.log(t + 1)
    assert np.ptp(behind) > 10  # it mattered which one is best


def test_the_experts_it_shows_make_up_the_prediction():
    tracker = LikelihoodMixture(4)
    assert isinstance(tracker, ExpertTracker)
    for evidence in rounds_of(3, 4, 25):
        tracker.update(np.full(4, 0.25), evidence)
        shown = tracker.weighted_experts()
        np.testing.assert_allclose(shown.weights.sum(), 1.0, rtol=1e-12)
        np.testing.assert_allclose(shown.weights @ shown.mixes, tracker.predict(), rtol=1e-9)
        np.testing.assert_allclose(shown.mixes[shown.n_forgetting], 0.25)
        assert shown.sizes[shown.n_forgetting] == 1.0
        assert (np.diff(shown.sizes[: shown.n_forgetting]) >= 0.0).all()
    before = dumps(tracker)
    for array in (shown.weights, shown.mixes, shown.sizes, shown.margin):
        array[:] = 0.0
    assert dumps(tracker) == before


def test_it_is_nearer_than_either_variant_of_flhftl():
    rng = np.random.default_rng(0)
    pool, y = draw(rng, np.full(3, 1 / 3), 3000)
    holdout = draw(rng, np.full(3, 1 / 3), 1000)
    stream = list(sample_stream(pool, y, Bernoulli(), n_rounds=600, batch_size=10, rng=0))
    distance = {}
    trackers = {"new": LikelihoodMixture(3), "start": FLHFTL(3), "window": FLHFTL(3, experts="window")}
    for name, tracker in trackers.items():
        adapter = RegressAndReweight(tracker, calibrator=None).fit(*holdout)
        distance[name] = np.mean([((adapter.step(b.proba).prior - b.q) ** 2).sum() for b in stream])
    assert distance["new"] < 0.75 * min(distance["start"], distance["window"])


def test_labels_help():
    path = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], 40, axis=0)
    distance = {}
    for name, share in (("none", 0.0), ("some", 0.3), ("all", 1.0)):
        rng, total = np.random.default_rng(0), 0.0
        for _ in range(10):
            tracker = LikelihoodMixture(3)
            for q in path:
                total += ((tracker.predict() - q) ** 2).sum()
                proba, y = draw(rng, q, 5, sharp=0.5)
                labels = np.where(rng.random(5) < share, y, -1)
                tracker.update(q, Evidence(proba, np.full(3, 1 / 3), labels))
        distance[name] = total
    assert distance["all"] < 0.8 * distance["some"]
    assert distance["some"] < 0.8 * distance["none"]


def test_a_long_stream_stays_finite_in_constant_state():
    """Including mixes of one class, whose likelihoods run to hundreds of digits."""
    tracker, source = LikelihoodMixture(3), np.full((1, 3), 1 / 3)
    state, row, starts = tracker.new_state(source), np.zeros(1, dtype=np.int64), np.array([0, 200])
    sizes = [array.nbytes for array in state]
    batches = [Evidence(np.tile(p, (200, 1)), source[0], None, starts) for p in (np.eye(3) + 1e-13) / (1 + 3e-13)]
    single = [Evidence(p[None], source[0], None, np.array([0, 1])) for p in 0.9 * np.eye(3) + 0.1 / 3]
    other = np.random.default_rng(0).random(100_000) < 1 / 3
    for t in range(100_000):
        now = batches if t % 100 == 0 else single
        tracker.update_rows(state, row, source, now[t // 50_000 + other[t]])
    assert [array.nbytes for array in state] == sizes
    assert all(np.isfinite(array).all() for array in state)
    np.testing.assert_allclose(state.weights.sum(axis=2), 1.0, atol=1e-12)
    np.testing.assert_allclose(tracker.predict_rows(state, row)[0, 1:], [2 / 3, 1 / 3], atol=0.05)


@pytest.mark.parametrize(
    ("k", "light", "limit", "numbers"),
    [
        (10, False, 16_000, 34 * 10 + 118 + 4 * 10 * 11 + 8 * 10 + 26 + 64 * 15 + 9),
        (32, False, 70_000, 34 * 32 + 118 + 4 * 32 * 33 + 8 * 32 + 26 + 64 * 45 + 9),
        (100, False, 40_000, 34 * 100 + 118 + 9 * 100 + 11 + 9),
        (10, True, 4096, 34 * 10 + 118 + 2 + 9),
        (100, True, 32_768, 34 * 100 + 118 + 2 + 9),
    ],
)
def test_state_is_small_and_stays_so(k, light, limit, numbers):
    tracker = LikelihoodMixture(k, light=light)
    for _ in range(2):
        assert sum(array.nbytes for array in tracker._state) < limit
        assert sum(array.size for array in tracker._state) == numbers
        for evidence in rounds_of(0, k, 100):
            tracker.update(np.ones(k), evidence)
