"""Labels that come late: counts as if they had come in time, weights nearly so, and nothing counted twice."""

import copy

import numpy as np
import pytest

from baserate.protocols import Evidence
from baserate.state import dumps, loads
from baserate.trackers import LikelihoodMixture
from baserate.trackers.likelihood_mixture import experts

K, N = 3, 6
SOURCE = np.array([0.3, 0.3, 0.4])
KEPT = np.r_[1 - 0.5 ** np.arange(22), 1.0]


def batches(seed, T, period=15):
    """Rounds whose mix changes between three, with honest probabilities, and labels."""
    rng = np.random.default_rng(seed)
    for t in range(T):
        q = np.roll([0.8, 0.1, 0.1], t // period)
        y = rng.choice(K, size=N, p=q)
        odds = np.exp(2 * (rng.normal(size=(N, K)) + 2 * np.eye(K)[y])) * SOURCE
        yield odds / odds.sum(axis=1, keepdims=True), y


def guesses(note, proba):
    """What the samples of a round were counted as."""
    rows = note.mixture / SOURCE * proba
    return rows / rows.sum(axis=1, keepdims=True)


class Ledger:
    """Every round's counts, and which of them make up the counts of each expert: told from the events alone."""

    def __init__(self):
        self.found, self.parts, self.doubts, self.made = [], [], [], []

    def add(self, found, note, tracker):
        self.found.append(found)
        self.parts.append(note.shares)
        self.made.append(tracker._state.made[0].copy())

    def counts(self, since):
        """Counts of all experts by adding up all rounds anew, and the doubted ones."""
        T = len(self.found)
        counts, doubted = np.zeros((K, experts.EXPERTS)), np.zeros(K)
        for t in range(1, T + 1):
            for e in range(experts.MEMORIES):
                counts[:, e] += KEPT[e] ** (T - t) * self.found[t - 1]
            if t >= since:
                doubted += self.found[t - 1]
            for r in range(experts.RECALLED):
                e = experts.FIRST_RECALLED + r
                if (self.made[t - 1][r] != (self.made[t - 2][r] if t > 1 else 0)).any():
                    first, last = self.made[t - 1][r]
                    assert last == t
                    counts[:, e] = sum(self.found[first - 1 : last])
                else:
                    counts[:, e] += self.parts[t - 1][r] * self.found[t - 1]
        return counts, doubted


@pytest.mark.parametrize("lag", [0, 1, 4, 20, 70])
def test_counts_are_as_if_the_labels_had_come_in_time(lag):
    tracker, ledger, waiting = LikelihoodMixture(K), Ledger(), []
    rng = np.random.default_rng(lag)
    for t, (proba, y) in enumerate(batches(lag, 120), start=1):
        known = np.where(rng.random(N) < 0.2, y, -1)
        evidence = Evidence(proba, SOURCE, known)
        note = tracker.note(evidence)
        tracker.update(SOURCE, evidence)
        assert note.t == t == tracker._state.rounds[0, 0]
        rows = np.where(known[:, None] < 0, guesses(note, proba), np.eye(K)[known])
        ledger.add(rows.sum(axis=0), note, tracker)
        late = (known < 0) & (rng.random(N) < 0.5)
        waiting.append((note, proba[late], y[late]))
        if t > lag:
            then, samples, labels = waiting[t - 1 - lag]
            tracker.correct(then, samples, labels)
            ledger.found[t - 1 - lag] = ledger.found[t - 1 - lag] + (np.eye(K)[labels] - guesses(then, samples)).sum(
                axis=0
            )
        counts, doubted = ledger.counts(tracker._state.rounds[0, 1])
        np.testing.assert_allclose(tracker._state.counts[0], counts, rtol=0, atol=1e-9)
        np.testing.assert_allclose(tracker._state.doubted[0], doubted, rtol=0, atol=1e-9)
    assert (tracker._state.made[0][:, 1] > 0).sum() >= 2
    # So many samples were counted, each once.
    assert tracker._state.counts[0, :, experts.MEMORIES - 1].sum() == pytest.approx(120 * N)


def test_a_label_that_comes_at_once_does_nearly_what_one_does_that_came_with_its_batch():
    in_time, late, never = LikelihoodMixture(K), LikelihoodMixture(K), LikelihoodMixture(K)
    apart = {"late": [], "never": []}
    rng = np.random.default_rng(0)
    for t, (_, y) in enumerate(batches(5, 60)):
        vague = rng.dirichlet(np.full(K, 5.0), size=N)  # the model knows next to nothing, the labels all
        in_time.update(SOURCE, Evidence(vague, SOURCE, y))
        note = late.note(Evidence(vague, SOURCE))
        late.update(SOURCE, Evidence(vague, SOURCE))
        late.correct(note, vague, y)
        never.update(SOURCE, Evidence(vague, SOURCE))
        if t > 5:
            apart["late"].append(np.abs(late.predict() - in_time.predict()).max())
            apart["never"].append(np.abs(never.predict() - in_time.predict()).max())
    assert np.mean(apart["late"]) < 0.2 * np.mean(apart["never"])


def test_weights_stay_weights_and_move_towards_the_experts_that_foresaw_the_label():
    tracker = LikelihoodMixture(K)
    notes = []
    for proba, _ in batches(3, 40):
        notes.append((tracker.note(Evidence(proba, SOURCE)), proba))
        tracker.update(SOURCE, Evidence(proba, SOURCE))
    note, proba = notes[-1]
    before = copy.deepcopy(tracker)
    surprise = int(note.mixes[:, 3].argmin())
    tracker.correct(note, proba[:1], [surprise])
    np.testing.assert_allclose(tracker._state.weights.sum(axis=2), 1.0, atol=1e-12)
    np.testing.assert_allclose(tracker._state.trust.sum(), 1.0, atol=1e-12)
    memories = np.s_[0, :, : experts.MEMORIES]
    gain = tracker._state.weights[memories] / before._state.weights[memories]
    likely = note.mixes[surprise] / (note.mixes.T @ (proba[0] / SOURCE))
    order = np.argsort(likely[: experts.MEMORIES])
    assert (np.diff(gain[:, order]) > -1e-12).all()
    assert (np.ptp(gain, axis=1) > 1e-3).all()
    # A label from long ago says less of today: four fifths for every round.
    moved = []
    for back in (1, 2, 20):
        old, _ = notes[-back]
        early = copy.deepcopy(before)
        early.correct(old._replace(mixes=note.mixes), proba[:1], [surprise])
        moved.append(np.abs(early._state.weights[memories] / before._state.weights[memories] - 1).max(axis=1))
    np.testing.assert_allclose(moved[1] / moved[0], 0.8, rtol=1e-6)
    assert (moved[2] < 0.02 * moved[0]).all()


def test_many_labels_of_one_old_round_do_not_outvote_the_rounds_since():
    """That nothing has changed since is one chance for all of them: with the rest of it all weights stay."""
    tracker = LikelihoodMixture(K)
    notes = []
    for proba, _ in batches(3, 40):
        notes.append((tracker.note(Evidence(proba, SOURCE)), proba))
        tracker.update(SOURCE, Evidence(proba, SOURCE))
    for back in (1, 5):
        note, proba = notes[-back]
        told = copy.deepcopy(tracker)
        surprise = int(note.mixes[:, 3].argmin())
        told.correct(note, np.tile(proba[:1], (50, 1)), [surprise] * 50)
        kept = told._state.weights[0] / np.maximum(tracker._state.weights[0], 1e-300)
        assert (kept[:, : experts.MEMORIES] >= 1 - 0.8**back - 1e-9).all()
        assert (np.abs(kept[:, : experts.MEMORIES] - 1 + 0.8**back).min(axis=1) < 1e-6).all()


def test_of_a_place_that_another_mix_has_taken_since_nothing_is_said():
    tracker = LikelihoodMixture(K)
    state = tracker._state
    proba = np.array([[0.5, 0.3, 0.2]])
    for _ in range(3):
        tracker.update(SOURCE, Evidence(proba, SOURCE))
    state.made[0, 0] = [1, 2]
    state.weights[0, :, experts.FIRST_RECALLED] = 0.1
    note = tracker.note(Evidence(proba, SOURCE))
    tracker.update(SOURCE, Evidence(proba, SOURCE))
    state.made[0, 0] = [7, 9]
    before = copy.deepcopy(state)
    tracker.correct(note, proba, [2])
    np.testing.assert_array_equal(
        state.weights[0, :, experts.FIRST_RECALLED :], before.weights[0, :, experts.FIRST_RECALLED :]
    )
    np.testing.assert_array_equal(
        state.counts[0, :, experts.FIRST_RECALLED :], before.counts[0, :, experts.FIRST_RECALLED :]
    )
    assert np.abs(state.weights - before.weights).max() > 1e-4


def test_saved_with_a_note_it_is_corrected_bit_for_bit():
    tracker = LikelihoodMixture(K)
    for proba, _ in batches(0, 20):
        note = tracker.note(Evidence(proba, SOURCE))
        tracker.update(SOURCE, Evidence(proba, SOURCE))
    resumed = loads(dumps(tracker))
    tracker.correct(note, proba, np.zeros(N, dtype=int))
    resumed.correct(note, proba, np.zeros(N, dtype=int))
    assert dumps(resumed) == dumps(tracker)


@pytest.mark.parametrize(
    ("proba", "labels"), [([[0.5, 0.5]], [0]), ([[0.2, 0.3, 0.5]], [3]), ([[0.2, 0.3, 0.5]], [0, 1])]
)
def test_bad_labels_are_refused_and_change_nothing(proba, labels):
    tracker = LikelihoodMixture(K)
    note = tracker.note(Evidence(np.array([[0.2, 0.3, 0.5]]), SOURCE))
    tracker.update(SOURCE, Evidence(np.array([[0.2, 0.3, 0.5]]), SOURCE))
    before = dumps(tracker)
    with pytest.raises(ValueError, match=r"proba|labels"):
        tracker.correct(note, proba, labels)
    assert dumps(tracker) == before
