"""Portfolio: agreement with a naive transcription, and what a mixture of corrections promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate.state import dumps, loads
from baserate.trust.portfolio import CANDIDATES, Blend, Portfolio, Proposals

K = 3
SOURCE = np.array([0.5, 0.3, 0.2])
TRACKED = np.array([0.2, 0.2, 0.6])


def proposals(prior=TRACKED, part=0.5, *, alone=False):
    return Proposals(prior, part, alone)


def rows(rng, n, k=K):
    raw = rng.dirichlet(np.ones(k), size=n)
    sharp = raw**1.3
    return raw, sharp / sharp.sum(axis=1, keepdims=True)


def softmax(v):
    e = np.exp(v - v.max())
    return e / e.sum()


class Naive:
    """The same, label by label and candidate by candidate."""

    steps, shrinks, on = (0.1, 1.0, 0.1), (0.002, 0.02, 0.002), (0, 0, 1)

    def __init__(self):
        self.rest = np.array([0.25, 0.1, 0.05] + [0.1] * 5)
        self.rest /= self.rest.sum()
        others = self.rest.copy()
        others[0] = 0
        self.w = 0.2 * others / others.sum()
        self.w[0] = 0.8
        self.b, self.t = np.zeros((3, K)), np.ones(3)
        self.seen, self.expected, self.counts = np.zeros((K, K)), np.zeros((K, K)), np.zeros(K)
        self.told = 0

    def discounted(self):
        return (self.counts + SOURCE) / (self.counts.sum() + 1.0)

    def say(self, raw, cal, given, tracked, discounted):
        default = raw if given.alone else cal * np.exp(given.part * tracked)
        remap = (self.seen[cal.argmax()] + 2 * SOURCE) / (self.expected[cal.argmax()] + 2 * SOURCE)
        said = [default, raw, cal * np.exp(tracked), cal * np.exp(discounted), cal * remap]
        said += [cal ** self.t[i] * np.exp(self.b[i] + self.on[i] * tracked) for i in range(3)]
        return [one / one.sum() for one in said]

    def learn(self, raw, cal, labels, given, then=None):
        """Labels that come `delay` labels after their round."""
        tracked, discounted = np.log(given.prior / SOURCE), np.log(self.discounted() / SOURCE)
        known = [i for i in range(len(raw)) if labels is not None and labels[i] >= 0]
        for i in known:
            delay = 0 if then is None else self.told - then
            said = self.say(raw[i], cal[i], given, tracked, discounted)
            self.w *= [(one[labels[i]] + 1e-3) ** (0.5 / (1 + delay / 50)) for one in said]
            back = 0.01 / (1 + delay / 50)
            self.w = (1 - back) * self.w / self.w.sum() + back * self.rest
            for j in range(3):
                slower = 1 + delay * self.steps[j] / 10
                kept, step = 1 - self.shrinks[j] / slower, self.steps[j] / slower
                miss = said[5 + j] - np.eye(K)[labels[i]]
                self.b[j] = kept * self.b[j] - step * miss
                slope = np.clip(miss @ np.log(cal[i]), -3, 3)
                self.t[j] = np.clip(1 + kept * (self.t[j] - 1) - 0.1 * step * slope, 0.1, 3.0)
            predicted = cal[i].argmax()
            self.seen[predicted] *= 0.99
            self.expected[predicted] *= 0.99
            self.seen[predicted, labels[i]] += 1
            self.expected[predicted] += cal[i]
            self.counts[labels[i]] += 1
            self.told += 1
        return known

    def take_in(self, raw, cal, labels, given):
        began = self.told > 0
        known = self.learn(raw, cal, labels, given)
        self.counts *= np.exp(-len(raw) / 3000)
        ratios = self.discounted() / SOURCE
        for i in set(range(len(raw))) - set(known):
            self.counts = self.counts + 0.1 * cal[i] * ratios / (cal[i] @ ratios)
        if not known and began:
            self.b *= 0.999
            self.t += (1 - self.t) / 1000
            for j in (2, 7):
                self.w[0] += self.w[j] / 1000
                self.w[j] *= 0.999


@pytest.mark.parametrize("given", [proposals(), proposals(alone=True)])
def test_it_is_the_naive_transcription(given):
    rng = np.random.default_rng(0)
    portfolio, naive = Portfolio().fit(SOURCE), Naive()
    for t in range(60):
        raw, cal = rows(rng, 8)
        labels = np.where(rng.random(8) < 0.3, rng.integers(0, K, 8), -1) if t % 3 else None
        portfolio.take_in(raw, cal, labels, given)
        naive.take_in(raw, cal, labels, given)
        late, then = np.where(rng.random(8) < 0.2, rng.integers(0, K, 8), -1), max(naive.told - 10, 0)
        portfolio.learn(raw, cal, late, given, learned=then)
        naive.learn(raw, cal, late, given, then)
    np.testing.assert_allclose(portfolio.weights_, naive.w, rtol=1e-9)
    np.testing.assert_allclose(portfolio.discounted_, naive.discounted(), rtol=1e-9)
    raw, cal = rows(rng, 5)
    weights, tables = portfolio.candidates(raw, cal, given)
    said = [
        naive.say(*pair, given, np.log(TRACKED / SOURCE), np.log(naive.discounted() / SOURCE))
        for pair in zip(raw, cal, strict=True)
    ]
    np.testing.assert_allclose(tables, np.swapaxes(said, 0, 1), rtol=1e-8)
    blend = portfolio.blend(given)
    offsets, used = portfolio.correct(blend, TRACKED)
    np.testing.assert_allclose(used, softmax(np.log(SOURCE) + offsets), rtol=1e-9)
    found = portfolio.apply(raw, cal, blend, offsets)
    mixed = np.exp(np.tensordot(weights, np.log(tables), axes=1))  # the geometric mean
    np.testing.assert_allclose(found, mixed / mixed.sum(axis=1, keepdims=True), rtol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 5, 40]), st.booleans())
def test_the_log_loss_of_the_mixture_is_at_most_the_mean_of_the_candidates(seed, k, alone):
    rng = np.random.default_rng(seed)
    portfolio = Portfolio().fit(rng.dirichlet(np.full(k, 5.0)) * 0.9 + 0.1 / k)
    given_ = proposals(rng.dirichlet(np.ones(k)), float(rng.random()), alone=alone)
    for _ in range(10):
        raw, cal = rows(rng, 6, k)
        portfolio.take_in(raw, cal, rng.integers(-1, k, 6), given_)
    raw, cal = rows(rng, 6, k)
    weights, tables = portfolio.candidates(raw, cal, given_)
    blend = portfolio.blend(given_)
    mixed = portfolio.apply(raw, cal, blend, portfolio.correct(blend, given_.prior)[0])
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(mixed.sum(axis=1), 1.0)
    assert (-np.log(mixed) <= -np.tensordot(weights, np.log(tables), axes=1) + 1e-3).all()
    exact = np.exp(np.tensordot(weights, np.log(tables), axes=1)).sum(axis=1)
    assert (exact <= 1.0 + 1e-9).all()


@pytest.mark.parametrize(("temperature", "model"), [(1.0, 0.0), (0.1, 0.0), (3.0, 0.0), (0.7, 0.4), (2.0, 1.0)])
def test_powers_of_probabilities_are_right_from_nought_to_one(temperature, model):
    raw, cal = np.zeros((2, 200, 2))
    cal[:, 0] = np.concatenate([[0.0, 1.0, 1e-12, 0.5, 0.25], np.logspace(-12, -1e-9, 195)])
    raw[:, 0] = np.roll(cal[:, 0], 7)
    for rows_ in (raw, cal):
        rows_[:, 1] = 1.0 - rows_[:, 0]
    blend = Blend(np.zeros(2), 0.0, temperature, model, np.zeros((0, 0)))
    found = Portfolio().fit(np.array([0.5, 0.5])).apply(raw, cal, blend, np.log([2.0, 1.0]))
    expected = np.maximum(cal, 1e-12) ** temperature * np.maximum(raw, 1e-12) ** model * [2.0, 1.0]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-12 if (temperature, model) == (1.0, 0.0) else 4e-4)


def test_without_labels_the_weights_stay_and_only_the_discounted_prior_moves():
    portfolio, rng = Portfolio().fit(SOURCE), np.random.default_rng(0)
    before = portfolio.weights_.copy()
    for _ in range(50):
        portfolio.take_in(*rows(rng, 10), None, proposals())
    np.testing.assert_array_equal(portfolio.weights_, before)
    assert portfolio.labels_ == 0
    assert not np.allclose(portfolio.discounted_, SOURCE)


def test_what_labels_taught_fades_but_not_what_they_said_against_the_tracked_prior():
    portfolio, rng = Portfolio().fit(SOURCE), np.random.default_rng(0)
    raw, cal = rows(rng, 200)
    for _ in range(20):
        portfolio.take_in(raw, cal, cal.argmax(axis=1), proposals())
    alone = portfolio.weights_[CANDIDATES.index("model alone")]
    tracked, biases = portfolio.weights_[CANDIDATES.index("tracked")], np.abs(portfolio._learners[:, :-1]).max()
    for _ in range(5000):
        portfolio.take_in(raw[:1], cal[:1], None, proposals())
    assert portfolio.weights_[CANDIDATES.index("model alone")] == alone
    assert portfolio.weights_[CANDIDATES.index("tracked")] < 0.01 * tracked
    assert np.abs(portfolio._learners[:, :-1]).max() < 0.01 * biases
    assert portfolio.weights_.sum() == pytest.approx(1.0)


def test_of_many_labels_some_from_all_over_are_learned():
    many, few = Portfolio().fit(SOURCE), Portfolio().fit(SOURCE)
    raw, cal = rows(np.random.default_rng(0), 640)
    labels = np.arange(640) % K
    many.learn(raw, cal, labels, proposals())
    few.learn(raw[::20], cal[::20], labels[::20], proposals())
    np.testing.assert_array_equal(many.weights_, few.weights_)
    assert (many.labels_, few.labels_) == (640, 32)
    assert (many.learned_, few.learned_) == (32, 32)


def test_a_label_teaches_less_the_more_came_while_it_was_waited_for():
    rng, portfolio = np.random.default_rng(0), Portfolio().fit(SOURCE)
    portfolio.learn(*rows(rng, 30), rng.integers(0, K, 30), proposals())
    raw, cal = rows(rng, 1)
    before, moved = portfolio._learners[1, :K].copy(), []
    for came in (0, 10, 30):
        late = loads(dumps(portfolio))
        late.learn(raw, cal, np.array([cal.argmin()]), proposals(), learned=30 - came)
        moved.append(np.abs(late._learners[1, :K] - before).max())
    assert moved[0] == pytest.approx(2.0 * moved[1], rel=0.05)
    assert moved[0] == pytest.approx(4.0 * moved[2], rel=0.05)


def test_states_with_ten_candidates_are_read():
    """Layout 1 has two learners more, and the tables of predicted classes in two arrays."""
    portfolio = Portfolio().fit(SOURCE)
    rest = {name: value for name, value in portfolio.get_state().items() if name not in ("_remap", "learned_")}
    older = {
        **rest,
        "weights_": np.linspace(0.01, 0.19, 10),
        "labels_": 7,
        "_biases": np.arange(5 * K, dtype=float).reshape(5, K),
        "_temperatures": np.linspace(0.5, 1.5, 5),
        "_seen": np.ones((K, K)),
        "_expected": np.zeros((K, K)),
    }
    params, state = Portfolio.upgrade(1, {}, older)
    portfolio = Portfolio(**params).set_state(state)
    assert portfolio.learned_ == 7
    assert portfolio.weights_.sum() == pytest.approx(1.0)
    assert portfolio.weights_[7] / portfolio.weights_[0] == pytest.approx(0.17 / 0.01)
    np.testing.assert_array_equal(portfolio._learners[:, 0], [0.0, 2 * K, 3 * K])
    np.testing.assert_array_equal(portfolio._remap[:, 0, 0], [1.0, 0.0])
    assert loads(dumps(portfolio)).weights_ == pytest.approx(portfolio.weights_)


def test_a_bias_of_the_model_is_found_out():
    rng, portfolio = np.random.default_rng(0), Portfolio().fit(SOURCE)
    wrong = np.zeros(2)
    for t in range(600):
        y = rng.choice(K, size=1, p=SOURCE)
        logits = rng.normal(size=(1, K)) + 2.5 * np.eye(K)[y] + np.array([3.0, 0.0, 0.0])
        proba = np.exp(logits) / np.exp(logits).sum()
        blend = portfolio.blend(proposals(SOURCE))
        said = portfolio.apply(proba, proba, blend, blend.offsets)
        portfolio.take_in(proba, proba, y, proposals(SOURCE))
        if t > 200:
            wrong += said.argmax() != y[0], proba.argmax() != y[0]
    assert wrong[0] < 0.6 * wrong[1]


def test_saved_and_loaded_it_goes_on_bit_for_bit_and_a_reset_forgets():
    rng, portfolio = np.random.default_rng(0), Portfolio().fit(SOURCE)
    fresh = dumps(portfolio)
    raw, cal = rows(rng, 50)
    portfolio.take_in(raw, cal, rng.integers(-1, K, 50), proposals())
    again = loads(dumps(portfolio))
    for one in (portfolio, again):
        one.learn(raw, cal, np.arange(50) % K, proposals())
    assert dumps(again) == dumps(portfolio)
    portfolio.reset()
    assert dumps(portfolio) == fresh
    assert len(fresh) < 16_000


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("weights_", np.ones(len(CANDIDATES))),
        ("weights_", np.full(3, 1 / 3)),
        ("labels_", -1),
        ("learned_", -1),
        ("_learners", np.full((3, K + 1), 7.0)),  # the temperatures
        ("_learners", np.full((3, K + 1), np.nan)),
        ("_remap", np.zeros((2, 0, 0))),
        ("_counts", np.full(K, -1.0)),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    portfolio = Portfolio().fit(SOURCE)
    setattr(portfolio, name, wrong)
    with pytest.raises(ValueError, match="Portfolio"):
        loads(dumps(portfolio))


def test_labels_chosen_by_outputs_are_weighted_in_the_discounted_prior_alone():
    """Half of the rows of one predicted class are labelled, a tenth of the others: the mix of all rows is found."""
    rng = np.random.default_rng(8)
    weighted, plain = Portfolio().fit(SOURCE), Portfolio().fit(SOURCE)
    counted = np.zeros(K)
    for _ in range(400):
        raw, cal = rows(rng, 20)
        y = np.array([rng.choice(K, p=p) for p in cal])
        chosen = np.where(cal.argmax(axis=1) == 0, 0.5, 0.1)
        labels = np.where(rng.random(20) < chosen, y, -1)
        counted += np.bincount(y, minlength=K)
        weighted.learn(raw, cal, labels, proposals(), chosen)
        plain.learn(raw, cal, labels, proposals())
    for name in ("_learners", "_remap"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(plain, name))
    truth = counted / counted.sum()
    assert np.abs(weighted.discounted_ - truth).max() < 0.03
    assert plain.discounted_[0] > truth[0] + 0.1
