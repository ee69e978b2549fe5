"""The likelihood mixture against a plain transcription, what it may not depend on, and how fast it learns."""

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
from baserate.trackers.likelihood_mixture import batch_update, experts, late_labels

MEMORIES, RECALLED = 23, 8
EXPERTS = MEMORIES + 1 + RECALLED


class Naive:
    """The mixture in lists and loops, for rows of class likelihoods or class frequencies."""

    def __init__(self, prior, margin=None):
        self.prior, self.k, self.margin = list(prior), len(prior), margin
        self.memories = [*(2.0**j for j in range(22)), math.inf]
        self.counts = [[0.0] * self.k for _ in self.memories]
        self.recalled = []  # of dicts: counts, first and last round it was made of
        self.doubted, self.doubt, self.since = [0.0] * self.k, 0.0, 1
        self.shares = [lambda t: 0.2, lambda t: 0.02, lambda t: 1 / (t + 1)]
        self.weights = [[0.5 / 23] * 23 + [0.5] for _ in self.shares]
        self.trust = [1 / 3] * 3
        self.t = 0

    def experts(self):
        """Memories, the prior, recalled mixes."""
        every = [*self.counts, [0.0] * self.k, *(mix["counts"] for mix in self.recalled)]
        return [[(s[c] + self.prior[c]) / (sum(s) + 1) for c in range(self.k)] for s in every]

    def say(self):
        return [
            sum(u * w[e] for u, w in zip(self.trust, self.weights, strict=True)) for e in range(len(self.weights[0]))
        ]

    def predict(self):
        return [sum(w * q[c] for w, q in zip(self.say(), self.experts(), strict=True)) for c in range(self.k)]

    def update(self, rows=None, frequencies=None):
        if frequencies is None and len(rows) == 0:
            return
        experts, before = self.experts(), self.say()
        judged = [*experts]
        if self.margin is not None:
            judged[MEMORIES] = self.tolerated(
                self.counted(self.predict(), rows) if frequencies is None else frequencies
            )
        if frequencies is None:
            logs = [sum(math.log(sum(a * b for a, b in zip(q, row, strict=True))) for row in rows) for q in judged]
        else:
            logs = [sum(f * math.log(a) for f, a in zip(frequencies, q, strict=True)) for q in judged]

        def foreseen(some):
            top = max(logs[e] for e in some)
            return top + math.log(sum(before[e] * math.exp(logs[e] - top) for e in some) / sum(before[e] for e in some))

        ahead = foreseen(range(MEMORIES)) - foreseen(range(MEMORIES, len(experts)))
        self.doubt = max(0.0, self.doubt + ahead)
        for s in range(3):
            judged = [w * math.exp(log - max(logs)) for w, log in zip(self.weights[s], logs, strict=True)]
            self.trust[s] *= sum(judged)
            self.weights[s] = [w / sum(judged) for w in judged]
        self.trust = [u / sum(self.trust) for u in self.trust]
        now = self.say()
        found = frequencies
        if found is None:
            found = self.counted(
                [sum(w * q[c] for w, q in zip(now, experts, strict=True)) for c in range(self.k)], rows
            )
        self.t += 1
        for e, memory in enumerate(self.memories):
            self.counts[e] = [(1 - 1 / memory) * s + f for s, f in zip(self.counts[e], found, strict=True)]
        self.place(found, now)
        for s in range(3):
            share, n = self.shares[s](self.t), len(self.recalled)
            deal = [0.5 / 23] * 23 + [0.5 / (1 + n)] * (1 + n)
            self.weights[s] = [(1 - share) * w + share * d for w, d in zip(self.weights[s], deal, strict=True)]
        self.trust = [(1 - 1 / (self.t + 1)) * u + 1 / (self.t + 1) / 3 for u in self.trust]

    def counted(self, mix, rows):
        """What the samples are under a class mix, added up."""
        found = [0.0] * self.k
        for row in rows:
            joint = sum(a * b for a, b in zip(mix, row, strict=True))
            for c in range(self.k):
                found[c] += mix[c] * row[c] / joint
        return found

    def tolerated(self, batch):
        """What the prior is judged by: what has been found, if that is near enough to it."""
        worth = sum(p * (1 - p) for p in self.prior) / sum(d * d for d in self.margin)
        weight = self.say()[:MEMORIES]
        found = [sum(w * s[c] for w, s in zip(weight, self.counts, strict=True)) / sum(weight) for c in range(self.k)]
        found = [f + b for f, b in zip(found, batch, strict=True)]
        mix = [(f + worth * p) / (sum(found) + worth) for f, p in zip(found, self.prior, strict=True)]
        near = [max(p - d, min(p + d, q)) for q, p, d in zip(mix, self.prior, self.margin, strict=True)]
        return [q / sum(near) for q in near]

    def place(self, found, weight):
        if self.doubt == 0.0:
            known = sum(weight[MEMORIES:])
            for r, mix in enumerate(self.recalled):
                part = weight[MEMORIES + 1 + r] / known
                mix["counts"] = [s + part * f for s, f in zip(mix["counts"], found, strict=True)]
            self.doubted, self.since = [0.0] * self.k, self.t + 1
            return
        self.doubted = [s + f for s, f in zip(self.doubted, found, strict=True)]
        if self.doubt < 5:
            return
        mix = {"counts": self.doubted, "first": self.since, "last": self.t}
        if len(self.recalled) < RECALLED:
            self.recalled.append(mix)
            self.weights = [[*w, 0.0] for w in self.weights]
        else:
            used = [sum(m["counts"]) / (self.t - m["last"] + 1) for m in self.recalled]
            self.recalled[used.index(min(used))] = mix
        self.doubted, self.doubt, self.since = [0.0] * self.k, 0.0, self.t + 1


def naive(rounds, prior):
    """Predictions of rounds 1..T+1 from rows of class likelihoods, or from ("frequencies", z)."""
    tracker, played = Naive(prior), []
    for batch in rounds:
        played.append(tracker.predict())
        tracker.update(frequencies=list(batch[1])) if isinstance(batch, tuple) else tracker.update(batch)
    return [*played, tracker.predict()]


def draw(rng, q, n, sharp=4.0):
    """Honest probabilities under a uniform source of n samples of a class mix (rows of it: of several), and labels."""
    k = np.shape(q)[-1]
    y = rng.choice(k, size=n, p=q)
    signal = rng.normal(size=(n, k)) + math.sqrt(sharp) * np.eye(k)[y]
    odds = np.exp(math.sqrt(sharp) * signal)
    return odds / odds.sum(axis=1, keepdims=True), y


def rounds_of(seed, k, T, sizes=(0, 1, 2, 7, 40), labelled=True):
    """Evidence of rounds of unequal size, some with all labels, some with a few."""
    rng = np.random.default_rng(seed)
    source, q = rng.dirichlet(5 * np.ones(k)), rng.dirichlet(np.ones(k))
    for t in range(T):
        if t % 12 == 11:
            q = rng.dirichlet(np.ones(k))
        n = int(rng.choice(sizes))
        proba, y = draw(rng, q, n)
        known = rng.random(n) < rng.choice([0.0, 0.3, 1.0])
        yield Evidence(proba, source, np.where(known, y, -1) if labelled and t % 3 else None)


def run(tracker, rounds, k):
    played = [tracker.predict()]
    for evidence in rounds:
        tracker.update(np.full(k, 7.0), evidence)  # a sighting that would show if it were looked at
        played.append(tracker.predict())
    return np.array(played)


@pytest.mark.parametrize(("k", "T"), [(2, 60), (3, 60), (10, 30)])
def test_it_agrees_with_the_transcription(k, T):
    prior = np.random.default_rng(k).dirichlet(np.ones(k))
    rounds = list(rounds_of(k, k, T))
    expected = naive([evidence.likelihoods.tolist() for evidence in rounds], prior)
    played = run(LikelihoodMixture(k, prior=prior), rounds, k)
    np.testing.assert_allclose(played, expected, rtol=0, atol=1e-10)
    assert np.abs(np.diff(played, axis=0)).max() > 0.2


def test_it_agrees_where_the_likelihoods_of_one_side_vanish_beside_the_others():
    """Thousands of samples a round, of mixes that come back: all memories or all known mixes are out of range."""
    rng, prior = np.random.default_rng(0), np.array([0.6, 0.3, 0.1])
    mixes = [np.array([0.1, 0.1, 0.8]), np.array([0.1, 0.8, 0.1]), prior]
    rounds = [Evidence(np.eye(3)[rng.choice(3, size=2000, p=mixes[t % 3])] * 0.97 + 0.01, prior) for t in range(12)]
    expected = naive([evidence.likelihoods.tolist() for evidence in rounds], prior)
    tracker = LikelihoodMixture(3, prior=prior)
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
    played = run(LikelihoodMixture(3, prior=prior), rounds, 3)
    np.testing.assert_allclose(played, naive([e.likelihoods.tolist() for e in rounds], prior), rtol=0, atol=1e-9)
    assert np.abs(np.diff(played, axis=0)).max() > 0.5


@pytest.mark.parametrize("margin", [[0.02, 0.03, 0.01], [0.3, 0.1, 0.2]])
def test_tolerance_agrees_with_the_transcription(margin):
    prior = [0.5, 0.3, 0.2]
    plain, tracker, free = Naive(prior, margin), LikelihoodMixture(3, prior=prior), LikelihoodMixture(3, prior=prior)
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


def test_recalled_mixes_agree_with_the_transcription_when_there_are_too_many():
    rng, k = np.random.default_rng(0), 3
    mixes = [*0.9 * np.eye(3) + 0.1 / 3, *0.85 * (0.5 - 0.5 * np.eye(3)) + 0.05, *rng.dirichlet(np.ones(3), size=5)]
    source, rounds = np.full(k, 1 / 3), []
    for mix in [*mixes[:2] * 3, *mixes, *mixes[:2], *mixes[5:]]:
        rounds += [Evidence(draw(rng, mix, 20, sharp=9.0)[0], source) for _ in range(12)]
    plain, tracker, places = Naive(source), LikelihoodMixture(k), set()
    for evidence in rounds:
        np.testing.assert_allclose(tracker.predict(), plain.predict(), rtol=0, atol=1e-9)
        plain.update(evidence.likelihoods.tolist())
        tracker.update(source, evidence)
        places |= {tuple(pair) for pair in tracker._state.made[0].tolist() if pair[1]}
    assert len(places) > RECALLED + 2  # some had to make room
    assert sorted(tuple(pair) for pair in tracker._state.made[0]) == sorted(
        (m["first"], m["last"]) for m in plain.recalled
    )


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


def test_a_round_of_thousands_agrees_with_the_transcription():
    """Under every expert its likelihood is beyond what a float can hold."""
    source, n = np.array([0.9, 0.1]), 3000
    mixed = np.where(np.arange(n)[:, None] % 2 == 0, [1e-9, 1 - 1e-9], [1 - 1e-9, 1e-9])
    batches = [Evidence(mixed[: 4 + 4 * t : 2], source) for t in range(6)]
    batches += [Evidence(mixed[1:9:2], source), Evidence(mixed, source), Evidence(mixed[::-2], source)]
    expected = naive([evidence.likelihoods.tolist() for evidence in batches], [0.5, 0.5])
    np.testing.assert_allclose(run(LikelihoodMixture(2), batches, 2), expected, rtol=0, atol=1e-9)


def test_sightings_without_evidence_agree_with_the_transcription():
    zs = np.random.default_rng(0).dirichlet(np.full(3, 0.3), size=60)
    tracker = LikelihoodMixture(3, prior=[0.5, 0.3, 0.2])
    played = [tracker.predict()]
    for z in zs:
        tracker.update(z)
        played.append(tracker.predict())
    expected = naive([("frequencies", z) for z in zs], [0.5, 0.3, 0.2])
    np.testing.assert_allclose(played, expected, rtol=0, atol=1e-10)


def test_a_sighting_of_one_class_is_one_labelled_sample():
    seen, told = LikelihoodMixture(3), LikelihoodMixture(3)
    for y in (0, 2, 2, 1, 2, 2):
        seen.update(np.eye(3)[y])
        told.update(np.eye(3)[y], Evidence(np.full((1, 3), 1 / 3), np.full(3, 1 / 3), np.array([y])))
    np.testing.assert_allclose(seen.predict(), told.predict(), rtol=0, atol=1e-14)
    assert seen.predict().argmax() == 2


def test_the_same_numbers_without_the_compiler(monkeypatch):
    rounds = list(rounds_of(1, 4, 25))
    fast = run(LikelihoodMixture(4), rounds, 4)
    for module in (experts, batch_update, late_labels):
        for name, kernel in vars(module).copy().items():
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, kernel.py_func)
    np.testing.assert_allclose(run(LikelihoodMixture(4), rounds, 4), fast, rtol=0, atol=1e-12)


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
@given(seed=SEEDS)
def test_samples_of_a_round_have_no_order_and_a_label_is_a_row_of_certainty(seed):
    rng = np.random.default_rng(seed)
    plain, shuffled, certain = LikelihoodMixture(3), LikelihoodMixture(3), LikelihoodMixture(3)
    for evidence in rounds_of(seed, 3, 15):
        order = rng.permutation(evidence.n)
        labels = np.full(evidence.n, -1) if evidence.labels is None else evidence.labels
        plain.update(np.ones(3), evidence)
        shuffled.update(np.ones(3), Evidence(evidence.proba[order], evidence.source_prior, labels[order]))
        rows = np.where(labels[:, None] < 0, evidence.proba, np.eye(3)[labels])
        certain.update(np.ones(3), Evidence(rows, evidence.source_prior))
        np.testing.assert_allclose(shuffled.predict(), plain.predict(), rtol=0, atol=1e-9)
        np.testing.assert_allclose(certain.predict(), plain.predict(), rtol=0, atol=1e-9)


def test_a_round_without_samples_leaves_everything_as_it_is():
    tracker = LikelihoodMixture(3)
    run(tracker, rounds_of(0, 3, 10), 3)
    before = dumps(tracker)
    tracker.update(np.ones(3), Evidence(np.empty((0, 3)), np.full(3, 1 / 3)))
    tracker.update(np.ones(3), Evidence(np.empty((0, 3)), np.full(3, 1 / 3), np.empty(0, dtype=np.int64)))
    assert dumps(tracker) == before


@pytest.mark.parametrize("n", [0, 1, 2, 3, 20])
def test_left_out_is_what_the_others_say(n):
    """The others' labels, were they the posteriors under the last prediction, would lead to the same counts."""
    tracker = LikelihoodMixture(3, prior=[0.2, 0.3, 0.5])
    run(tracker, rounds_of(0, 3, 20), 3)
    proba, _ = draw(np.random.default_rng(n), [0.1, 0.4, 0.5], n)
    source = np.array([0.3, 0.3, 0.4])
    before = dumps(tracker)
    mixes = tracker.predict_left_out(Evidence(proba, source, np.zeros(n, dtype=np.int64)))
    assert dumps(tracker) == before
    assert mixes.shape == (n, 3)
    if n == 1:
        np.testing.assert_array_equal(mixes[0], tracker.predict())
    posterior = proba / source * tracker.predict()
    posterior /= posterior.sum(axis=1, keepdims=True)
    for i in range(n if n > 1 else 0):
        others, without = np.arange(n) != i, copy.deepcopy(tracker)
        counts = without._state.counts.copy()
        without._state.doubt[:] = -1e9  # so that no mix is made of this round
        without.update(np.ones(3), Evidence(proba[others], source))  # gets weights right, and counts by other guesses
        counts[0, :, :MEMORIES] *= np.r_[1 - 0.5 ** np.arange(22), 1.0]
        counts[0, :, :MEMORIES] += posterior[others].sum(axis=0)[:, None]
        without._state.counts[:] = counts
        np.testing.assert_allclose(mixes[i], without.predict(), rtol=0, atol=1e-12)


def test_a_sample_is_no_evidence_for_itself():
    tracker, source = LikelihoodMixture(3), np.full(3, 1 / 3)
    run(tracker, rounds_of(5, 3, 20), 3)
    proba, _ = draw(np.random.default_rng(0), [0.1, 0.1, 0.8], 6)
    changed = proba.copy()
    changed[2] = [1.0, 0.0, 0.0]
    one, two = (tracker.predict_left_out(Evidence(p, source)) for p in (proba, changed))
    np.testing.assert_allclose(one[2], two[2], rtol=0, atol=1e-12)
    assert (np.abs(one - two).max(axis=1)[[0, 1, 3, 4, 5]] > 1e-3).all()


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


@pytest.mark.parametrize("check", checks_for(LikelihoodMixture(3)), ids=lambda check: check.__name__)
def test_contract(check):
    check(LikelihoodMixture(3))


def test_saved_among_evidence_it_goes_on_bit_for_bit():
    rounds = list(rounds_of(3, 3, 20))
    tracker = LikelihoodMixture(3)
    run(tracker, rounds[:10], 3)
    resumed = loads(dumps(tracker))
    np.testing.assert_array_equal(run(resumed, rounds[10:], 3), run(tracker, rounds[10:], 3))


def test_a_key_of_a_bank_is_an_adapter_of_its_own_bit_for_bit():
    rng = np.random.default_rng(0)
    holdout = draw(rng, np.full(3, 1 / 3), 300)
    adapter = RegressAndReweight(LikelihoodMixture(3), gate=False).fit(*holdout)
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
    for t in range(100_000):
        now = batches if t % 100 == 0 else single
        tracker.update_rows(state, row, source, now[t // 50_000 + (t % 3 == 0)])
    assert [array.nbytes for array in state] == sizes
    assert all(np.isfinite(array).all() for array in state)
    np.testing.assert_allclose(state.weights.sum(axis=2), 1.0, atol=1e-12)
    np.testing.assert_allclose(tracker.predict_rows(state, row)[0, 1:], [2 / 3, 1 / 3], atol=0.05)


@pytest.mark.parametrize(("k", "limit"), [(10, 4096), (100, 32768)])
def test_state_is_small(k, limit):
    state = LikelihoodMixture(k)._state
    assert sum(array.nbytes for array in state) < limit
    assert sum(array.size for array in state) == 34 * k + 118
