"""Seasons: mixes that come back after a fixed number of rounds."""

import copy

import numpy as np
import pytest

from baserate import Bank, RegressAndReweight
from baserate.protocols import Evidence
from baserate.state import dumps, loads
from baserate.state.declarations import Sizes
from baserate.trackers import LikelihoodMixture
from baserate.trackers.likelihood_mixture import season
from baserate.trackers.likelihood_mixture.state import State

from .naive_season import NaiveSeason, across
from .streams import draw

SOURCE = np.full(3, 1 / 3)
WEEK = np.array([[0.8, 0.1, 0.1]] * 5 + [[0.1, 0.1, 0.8]] * 2)


def weeks(seed, rounds, n=20, path=WEEK, sharp=2.0):
    """Evidence and labels of rounds that follow a path again and again."""
    rng = np.random.default_rng(seed)
    k = path.shape[1]
    for t in range(rounds):
        proba, y = draw(rng, path[t % len(path)], n, sharp=sharp)
        yield Evidence(proba, np.full(k, 1 / k)), y


def without(tracker):
    """The prediction without a season."""
    state = tracker._state
    return tracker.predict_rows(state._replace(seasonal=np.zeros_like(state.seasonal)), np.array([0]))[0]


def season_taken_away(tracker):
    """A copy of the tracker without its season."""
    other = loads(dumps(tracker))
    other._state.seasonal[:, 0] = 0
    return other


def errors(tracker, seed, rounds, path=WEEK, **stream):
    """Squared errors of each round's prediction, with and without a season."""
    found = []
    for t, (evidence, _) in enumerate(weeks(seed, rounds, path=path, **stream)):
        truth = path[t % len(path)]
        found.append([((q - truth) ** 2).sum() for q in (tracker.predict(), without(tracker))])
        tracker.update(truth, evidence)
    return np.array(found)


@pytest.mark.parametrize("k", [2, 3, 5, 10, 20, 32])
def test_directions_are_orthonormal_and_sum_to_zero(k):
    found = season.directions(k)
    np.testing.assert_allclose(found @ found.T, np.eye(len(found)), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(found, across(k), atol=1e-7)


@pytest.mark.parametrize(("k", "period", "n", "T"), [(2, 5, 12, 90), (3, 7, 30, 110), (10, 4, 25, 80)])
def test_it_agrees_with_the_transcription(k, period, n, T):
    """With labels, estimates and empty rounds among the batches, and another period from the middle on."""
    rng = np.random.default_rng(k)
    path, other = np.eye(k)[np.arange(period) % k] * 0.8 + 0.2 / k, rng.dirichlet(np.full(k, 0.2), size=period + 1)
    path[0] = path[1]
    prior = np.full(k, 1 / k)
    tracker, plain, periods, least = LikelihoodMixture(k), NaiveSeason(prior), set(), 1.0
    for t in range(T):
        mix = path[t % period] if t < T // 2 else other[t % (period + 1)]
        if t == T // 2:  # changes nothing
            tracker.update(prior, Evidence(np.empty((0, k)), prior))
            plain.update([])
        if t % 19 == 11:
            tracker.update(mix)
            plain.update(frequencies=mix.tolist())
        else:
            proba, y = draw(rng, mix, n)
            evidence = Evidence(proba, prior, np.where(rng.random(len(y)) < 0.2, y, -1) if t % 3 == 0 else None)
            tracker.update(prior, evidence)
            plain.update(evidence.likelihoods.tolist())
        np.testing.assert_allclose(tracker.predict(), plain.predict(), rtol=0, atol=1e-8)
        assert tracker._state.seasonal[0].tolist() == [plain.period, plain.since, 0]
        np.testing.assert_allclose(tracker._state.season_arms[0], plain.arms, rtol=0, atol=1e-6)
        np.testing.assert_allclose(tracker._state.season_arms_seen[0], plain.arms_seen, rtol=0, atol=1e-6)
        periods.add(plain.period)
        least = min(least, plain.arms[0])
    assert periods >= {0, period}
    assert least < 0.1  # the season mattered


@pytest.mark.parametrize("n", [20, 200])
def test_a_week_is_foreseen(n):
    tracker = LikelihoodMixture(3)
    found = errors(tracker, 0, 140, n=n)[70:]
    assert tracker._state.seasonal[0, 0] == 7
    changes = np.isin(np.arange(70) % 7, [0, 5])
    assert found[changes, 0].mean() < 0.2 * found[changes, 1].mean()
    assert found[:, 0].mean() < 0.3 * found[:, 1].mean()


def test_a_rare_class_at_night_is_foreseen():
    day = np.array([[0.995, 0.005]] * 16 + [[0.92, 0.08]] * 8)
    tracker = LikelihoodMixture(2, prior=[0.98, 0.02])
    rng, found = np.random.default_rng(3), []
    for t in range(24 * 20):
        mix = day[t % 24]
        y = (rng.random(500) < mix[1]).astype(int)
        odds = np.exp(2.5 * (rng.normal(size=500) + 2.5 * y) - 3.125)
        proba = 0.02 * odds / (0.02 * odds + 0.98)
        found.append([abs(q[1] - mix[1]) for q in (tracker.predict(), without(tracker))])
        tracker.update(mix, Evidence(np.column_stack([1 - proba, proba]), np.array([0.98, 0.02])))
    assert tracker._state.seasonal[0, 0] % 24 == 0
    late = np.square(found[240:]).mean(axis=0)
    assert late[0] < 0.5 * late[1]


def _jumps(rng, T):
    return rng.dirichlet([0.5] * 3, size=T)[np.maximum.accumulate(np.where(rng.random(T) < 0.05, np.arange(T), 0))]


@pytest.mark.parametrize(
    "path",
    [
        np.tile(WEEK[0], (300, 1)),
        np.linspace(WEEK[0], WEEK[6], 300),
        *(_jumps(np.random.default_rng(seed), 300) for seed in range(3)),
    ],
    ids=["still", "drift", "jumps", "jumps", "jumps"],
)
def test_next_to_nothing_is_lost_where_there_is_no_season(path):
    found = errors(LikelihoodMixture(3), 1, 300, path=path).mean(axis=0)
    assert found[0] <= 1.03 * found[1]


def test_a_season_that_ends_is_given_up():
    tracker = LikelihoodMixture(3)
    errors(tracker, 0, 140)
    assert tracker._state.season_arms[0, 0] < 0.1
    for evidence, _ in weeks(1, 60, path=WEEK[:1]):
        tracker.update(SOURCE, evidence)
    np.testing.assert_allclose(tracker.predict(), without(tracker), atol=0.02)
    assert tracker._state.season_arms[0, 0] > 0.9


def test_idle_rounds_keep_the_place_in_the_period():
    """No rows at weekends, which pass all the same: Mondays are told from other days by their number."""
    path = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.4, 0.5, 0.1], [0.3, 0.2, 0.5]])
    tracker, rng, found = LikelihoodMixture(3), np.random.default_rng(0), []
    for t in range(7 * 16):
        if t % 7 >= 5:
            tracker.idle(1)
            continue
        found.append(((tracker.predict() - path[t % 7]) ** 2).sum())
        tracker.update(SOURCE, Evidence(draw(rng, path[t % 7], 40)[0], SOURCE))
    assert tracker._state.seasonal[0, 0] % 7 == 0
    assert np.mean(found[-10:]) < 0.05 < 0.2 < np.mean(found[:10])


def test_after_long_silence_comparisons_begin_anew():
    tracker = LikelihoodMixture(3)
    errors(tracker, 0, 15)
    tracker.idle(1_000_000)
    assert (tracker._state.seasons[0, :, -1] == 0.0).all()
    assert tracker._state.seasonal[0, 2] == 15 + 1_000_000
    assert loads(dumps(tracker)).predict().tolist() == tracker.predict().tolist()
    errors(tracker, 1, 40, path=WEEK[:1])
    assert tracker._state.seasonal[0, 0] == 0
    errors(tracker, 2, 70)
    assert tracker._state.seasonal[0, 0] == 7


def test_a_state_from_before_seasons_begins_without_one():
    tracker = LikelihoodMixture(3)
    errors(tracker, 0, 30, path=WEEK[:1])
    state = tracker._state._asdict()
    kept = {name: array for name, array in state.items() if not name.startswith("season")}
    LikelihoodMixture.saves.state["_state"].check(kept, "_state", Sizes({"k": 3, "keys": 1}))
    assert kept["seasonal"].tolist() == [[0, 0, 30]]
    tracker._state = State(**{name: kept[name] for name in state})
    errors(tracker, 1, 30, path=WEEK[:1])
    assert tracker._state.seasonal[0, 0] == 0
    errors(tracker, 2, 70)
    assert tracker._state.seasonal[0, 0] == 7


def test_a_batch_tells_more_of_its_own_round_than_the_season_of_the_next():
    """On Friday, with Friday's batch at hand, the mix is Friday's; the prediction afterwards is Saturday's."""
    tracker = LikelihoodMixture(3)
    for t, (evidence, _) in enumerate(weeks(0, 7 * 15 + 5)):
        if t == 7 * 15 + 4:
            friday = tracker.predict_left_out(evidence)
        tracker.update(SOURCE, evidence)
    assert ((friday.mean(axis=0) - WEEK[4]) ** 2).sum() < 0.02
    assert ((tracker.predict() - WEEK[5]) ** 2).sum() < 0.05


def test_left_out_predictions_are_no_worse_where_the_mix_jumps():
    tracker, found = LikelihoodMixture(3), []
    for t, (evidence, _) in enumerate(weeks(5, 7 * 30, n=10)):
        left_out = tracker.predict_left_out(evidence)
        found.append([((q - WEEK[t % 7]) ** 2).sum(axis=-1).mean() for q in (left_out, tracker.predict())])
        tracker.update(SOURCE, evidence)
    transductive, causal = np.mean(found[70:], axis=0)
    assert transductive < 1.1 * causal


@pytest.mark.parametrize("seed", [3, 4])
def test_a_left_out_row_is_predicted_as_the_transcription_says(seed):
    """With two rows a round, each is predicted by the mix after a round with the other one alone."""
    rng, prior = np.random.default_rng(seed), np.full(3, 1 / 3)
    tracker, plain, seasonal = LikelihoodMixture(3), NaiveSeason(prior), 0
    for t in range(90):
        proba, _ = draw(rng, np.eye(3)[t % 4 // 2] * 0.9 + 0.1 / 3, 2, sharp=4.0)
        evidence = Evidence(proba, prior)
        if t > 60:
            found = tracker.predict_left_out(evidence)
            for row in range(2):
                other, before = copy.deepcopy(plain), plain.plays()
                other.update(evidence.likelihoods[1 - row : 2 - row].tolist())
                wanted = other.settled(before) if plain.period else other.plain.predict()
                np.testing.assert_allclose(found[row], wanted, rtol=0, atol=1e-8)
            seasonal += plain.period == 4 and plain.arms_seen[1] > 0.01
        tracker.update(prior, evidence)
        plain.update(evidence.likelihoods.tolist())
    assert seasonal > 20


def test_a_large_batch_is_believed_rather_than_a_coarse_profile():
    """Two mixes that alternate are known to all rounds together: better than to the few that each place had."""
    path = np.array([[0.8, 0.1, 0.1]] * 20 + [[0.1, 0.1, 0.8]] * 20)
    tracker, squares = LikelihoodMixture(3), []
    for t, (evidence, _) in enumerate(weeks(7, 320, n=100, path=path)):
        if t >= 160:
            seen = tracker.predict_left_out(evidence).mean(axis=0)
            plain = season_taken_away(tracker).predict_left_out(evidence).mean(axis=0)
            squares.append([((q - path[t % 40]) ** 2).sum() for q in (seen, plain)])
        tracker.update(SOURCE, evidence)
    assert tracker._state.seasonal[0, 0] == 40
    seen, plain = np.mean(squares, axis=0)
    assert seen < 1.5 * plain


def test_a_state_from_before_weights_of_seen_rounds_takes_those_of_forecasts():
    tracker = LikelihoodMixture(3)
    errors(tracker, 0, 70)
    kept = {name: array for name, array in tracker._state._asdict().items() if name != "season_arms_seen"}
    LikelihoodMixture.saves.state["_state"].check(kept, "_state", Sizes({"k": 3, "keys": 1}))
    np.testing.assert_array_equal(kept["season_arms_seen"], tracker._state.season_arms)


def test_experts_shown_have_the_tracked_mean():
    tracker = LikelihoodMixture(3)
    for evidence, _ in weeks(0, 101):
        tracker.update(SOURCE, evidence)
    shown = tracker.weighted_experts()
    assert shown.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(shown.weights @ shown.mixes, tracker.predict(), atol=1e-9)
    assert (shown.sizes >= 1.0).all()


def test_the_band_holds_the_mix_of_a_season():
    rng = np.random.default_rng(1)
    proba, y = draw(rng, SOURCE, 1000)
    adapter, held = RegressAndReweight(calibrator=None).fit(proba, y), []
    for t, (evidence, _) in enumerate(weeks(2, 140)):
        if t >= 70:
            low, high = adapter.prior_interval(level=0.9).T
            held.append((low <= WEEK[t % 7]) & (WEEK[t % 7] <= high))
        adapter.update(evidence.proba)
    assert np.mean(held) > 0.87


def test_keys_have_seasons_of_their_own():
    adapter = RegressAndReweight(calibrator=None, source_prior=SOURCE, gate=False, alpha=None).fit()
    bank = Bank(adapter)
    paths = {"shop": WEEK, "bar": WEEK[[5, 6, 0, 1]]}
    streams = {key: weeks(3, 70, path=path) for key, path in paths.items()}
    single = {key: LikelihoodMixture(3, prior=SOURCE) for key in paths}
    for _ in range(70):
        for key, stream in streams.items():
            evidence, _ = next(stream)
            bank.update([key] * evidence.n, evidence.proba)
            single[key].update(SOURCE, evidence)
    assert {key: int(tracker._state.seasonal[0, 0]) for key, tracker in single.items()} == {"shop": 7, "bar": 4}
    for key, tracker in single.items():
        np.testing.assert_allclose(bank.prior([key])[0], tracker.predict(), atol=1e-12)


@pytest.mark.parametrize(("k", "light"), [(3, True), (33, False)])
def test_the_light_profile_and_many_classes_have_none(k, light):
    assert LikelihoodMixture(k, light=light)._state.seasons.shape[1] == 0


def test_the_profile_is_not_trusted_more_for_silence():
    tracker = LikelihoodMixture(3)
    errors(tracker, 0, 70)
    period, found, _ = tracker._state.seasonal[0].tolist()
    sizes = tracker.weighted_experts().sizes
    tracker.idle(20_000 * 7)
    assert tracker._state.seasonal[0].tolist() == [period, found + 20_000 * 7, 70 + 20_000 * 7]
    assert tracker.weighted_experts().sizes[-1] <= 1.01 * sizes[-1]
