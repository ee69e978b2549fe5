"""AssumptionCheck: silent under label shift, whatever the path and the holdout; loud where it should be."""

import numpy as np
import pytest

import baserate
from baserate.state import dumps
from baserate.trust import AssumptionCheck
from baserate.trust._directions import Directions
from baserate.trust._regions import DOUBT_EDGES, DOUBT_GRADES, RANGES, count_cells, references, regions
from baserate.trust._schedule import BLOCK, WINDOWS, due, looks_in, renewal_due, renewals, spent, spent_on_direction
from baserate.trust._two_samples import log_evidence, residuals

K = 4


def outputs(rng, y, noise=1.0, move=0.0):
    """Softmax outputs of four Gaussian classes; `move` takes class 0 away from class 1."""
    logits = 3.0 * np.eye(K)[y] + noise * 1.2 * rng.standard_normal((len(y), K))
    logits[y == 0, 1] -= move
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def fitted(rng, n=800, **kwargs):
    y = np.arange(n) % K
    return AssumptionCheck(**kwargs).fit(outputs(rng, y), y)


def run(check, rng, n_rounds, batch=10, path=None, **change):
    for t in range(n_rounds):
        q = np.full(K, 1.0 / K) if path is None else path(t)
        check.update(outputs(rng, rng.choice(K, size=batch, p=q), **change))
    return check


PATHS = {
    "even": lambda t: np.full(K, 1.0 / K),
    "one class": lambda t: np.eye(K)[2],
    "one class after the other": lambda t: np.eye(K)[t % K],
    "slow": lambda t: np.array([t, 60 - t, 30, 30]) / 120.0,
}


@pytest.mark.parametrize("path", PATHS)
def test_no_false_alarms_on_streams_much_longer_than_the_holdout(path):
    """20 runs of 30,000 samples against 100 of the holdout: 1 alarm expected at most on average, and 4 tolerated."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        alarms += run(fitted(rng, 100), rng, 60, batch=500, path=PATHS[path]).alarm_
    assert alarms <= 4


def test_a_holdout_taken_for_the_truth_would_be_found_out():
    """The same streams without the holdout's part in the bets: the test above would not be passed."""
    alarms = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        check = fitted(rng, 100)
        check._holdouts = check._holdouts * 1000.0  # as if it had a thousand times as many samples
        check._prepare()
        alarms += run(check, rng, 60, batch=500).alarm_
    assert alarms >= 8


def test_noise_is_found_and_named():
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        check = run(fitted(rng), rng, 100, noise=1.6)
        found += check.alarm_
    assert found >= 18
    first = check.explain()[0]
    assert first.share > first.expected + 3 * first.error
    assert first.too_many
    assert first.evidence <= check.evidence_
    assert "too high" in str(first)


def test_a_moved_class_is_found_and_named():
    """Class 0 moves away from class 1, which makes it strange and no other class."""
    named, found = 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        check = run(fitted(rng, 2000), rng, 300, move=2.0)
        found += check.alarm_
        named += any(finding.predicted == 0 for finding in check.explain())
    assert found >= 18
    assert named >= 18


def test_a_late_change_is_found_by_the_windows():
    rng = np.random.default_rng(0)
    check = run(fitted(rng), rng, 100, batch=300)
    assert not check.alarm_
    assert run(check, rng, 300, noise=1.6).alarm_
    assert 100 < check.since_ <= 400


def test_a_change_within_the_span_of_the_classes_goes_unseen():
    """Half of class 0 turns into class 1 as far as outputs go: a change of the class mix to anyone who sees outputs."""
    rng = np.random.default_rng(0)
    check = fitted(rng)
    for _ in range(300):
        y = rng.integers(K, size=10)
        seen_as = np.where((y == 0) & (rng.random(10) < 0.5), 1, y)
        check.update(outputs(rng, seen_as))
    assert not check.alarm_


def unseen(rng, n, share):
    """A new class takes a share of the stream: mostly taken for class 1, with class 2 nearer than it is wont to be."""
    y = rng.integers(K, size=n)
    new = rng.random(n) < share
    logits = 3.0 * np.eye(K)[y] + 1.2 * rng.standard_normal((n, K))
    logits[new] = np.array([-1.5, 3.0, 1.0, -1.5]) + 1.2 * rng.standard_normal((int(new.sum()), K))
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def test_an_unseen_class_is_found_by_directions_alone():
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        check = fitted(rng, 2000)
        check._room = np.inf  # no look at regions
        for _ in range(300):
            check.update(unseen(rng, 10, 0.1))
        found += check.alarm_
        assert all(finding.score.startswith("log-probability of class") for finding in check.explain())
    assert found >= 9


@pytest.mark.parametrize("path", PATHS)
def test_directions_alone_raise_no_false_alarms(path):
    """Halves of 50 samples against a stream of 30,000: at most a third of alpha is spent here; 2 of 20 tolerated."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 9])
        check = fitted(rng, 100)
        check._room = np.inf
        alarms += run(check, rng, 60, batch=500, path=PATHS[path]).alarm_
    assert alarms <= 2


def test_a_direction_is_learned_from_what_came_before_it_alone():
    """The bet in force is not changed by samples it is placed on, nor by the half of the holdout it is tested on."""
    rng = np.random.default_rng(0)
    y = np.arange(800) % K
    held = outputs(rng, y)
    stream = [unseen(rng, 10, 0.3) for _ in range(30)]
    other = held.copy()
    tested = np.zeros(len(y), dtype=bool)
    for c in range(K):
        tested[np.flatnonzero(y == c)[1::2]] = True
    other[tested] = outputs(rng, y[tested])
    slopes = []
    for rows in (held, other):
        check = AssumptionCheck().fit(rows, y)
        for batch in stream[:26]:
            check.update(batch)
        slopes.append(check._directions.slopes.copy())
        assert slopes[-1].any()
        for batch in stream[26:]:
            check.update(batch)
        np.testing.assert_array_equal(check._directions.slopes, slopes[-1])
    np.testing.assert_array_equal(*slopes)


def test_the_account_of_directions_is_the_transcribed_one():
    """Two directions, one after the other: sums over single samples, and the sum of bets on each of the holdout."""
    rng = np.random.default_rng(5)
    y = np.arange(800) % K
    held = outputs(rng, y)
    check = AssumptionCheck().fit(held, y)
    check._room = np.inf
    learned: Directions = check._directions
    tested = np.concatenate([np.flatnonzero(y == c)[1::2] for c in range(K)])
    tested.sort()
    logs, classes = np.log(np.maximum(held[tested], 1e-8)), y[tested]
    guess = logs.argmax(axis=1)
    confusion = np.array([np.bincount(guess[classes == c], minlength=K) / (classes == c).sum() for c in range(K)])
    residuals_of_stream, tilts = [], np.zeros(len(tested))
    for renewal in range(3):
        slopes, centres = learned.slopes.copy(), learned.centres.copy()
        batch = unseen(rng, int(np.ceil(renewal_due(renewal))) - sum(map(len, residuals_of_stream)), 0.3)
        rows = np.log(np.maximum(batch, 1e-8))

        def score(rows, slopes=slopes, centres=centres):
            c = rows.argmax(axis=1)
            return np.clip((slopes[c] * rows).sum(axis=1) - centres[c], -1.0, 1.0)

        b = np.linalg.solve(confusion, [score(logs)[classes == c].mean() for c in range(K)])
        residuals_of_stream.append(score(rows) - b[rows.argmax(axis=1)])
        v = np.linalg.solve(confusion.T, np.bincount(rows.argmax(axis=1), minlength=K))
        tilts += (v / np.bincount(classes))[classes] * (score(logs) - b[guess])
        check.update(batch)
    h = np.concatenate(residuals_of_stream)
    np.testing.assert_allclose(learned.moments, [(h**power).sum() for power in (1, 2, 3, 4)])
    np.testing.assert_allclose(learned._tilts, tilts, atol=1e-12)
    assert np.abs(h).max() <= learned._widest
    assert (np.abs(tilts) <= learned._reached[classes]).all()
    bet = np.sqrt(2.0 * 9.0 / ((h**2).sum() + (tilts**2).sum()))
    bet = min(bet, 0.5 / learned._widest, 0.9 / learned._reached.max())
    exact = np.log1p(bet * h).sum() + np.log1p(-bet * tilts).sum()
    assert exact - 0.3 < learned._log_evidence(9.0) <= exact


def test_the_polynomial_is_below_the_logarithm():
    x = np.linspace(-0.5, 0.5, 1001)
    assert (x - x**2 / 2 + x**3 / 3 - 0.4237 * x**4 <= np.log1p(x) + 1e-15).all()


def test_a_round_counts_as_cells_do():
    """What takes in a round in one go counts as what counts the holdout does, bit for bit."""
    rng = np.random.default_rng(0)
    check, batch = fitted(rng), outputs(rng, rng.integers(K, size=50), noise=1.5)
    batch[0] = [1.0, 0.0, 0.0, 0.0]
    check.update(batch)
    expected = np.zeros_like(check._counts)
    count_cells(batch, *check._references, check._edges, expected)
    np.testing.assert_array_equal(check._counts, expected)
    assert expected.sum() == 50 * 2 * len(WINDOWS)


def test_evidence_is_the_transcribed_product():
    """The product over single samples, as the module's text has it."""
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(400) % K)
    held, stream = outputs(rng, y), outputs(rng, rng.integers(K, size=1000), noise=1.8)
    aside = references(held[:0])
    edges = np.array([DOUBT_EDGES, DOUBT_EDGES])
    counts, holdout = np.zeros((2, 1, K * RANGES)), np.zeros((2, K, K * RANGES))
    count_cells(stream, *aside, edges, counts)
    for c in range(K):
        count_cells(held[y == c], *aside, edges, holdout[:, c : c + 1])
    tests = regions(K, DOUBT_GRADES)
    tested = residuals(tests.values, holdout[0])
    logs = np.linspace(5.0, 15.0, len(tests.values))
    out = log_evidence(counts[0, 0], tested, logs)
    assert log_evidence(np.zeros_like(counts[0, 0]), tested, logs) is None
    confusion = np.array([np.bincount(held[y == c].argmax(axis=1), minlength=K) / (y == c).sum() for c in range(K)])
    v = np.linalg.solve(confusion.T, np.bincount(stream.argmax(axis=1), minlength=K))
    compared = 0
    for g, (c, edge) in enumerate(zip(tests.classes, tests.edges, strict=True)):
        if edge < 0:
            continue

        def value(rows, c=c, edge=edge):
            inside = 1.0 - rows.max(axis=1) > DOUBT_EDGES[edge]
            return inside & ((c < 0) | (rows.argmax(axis=1) == c))

        b = np.linalg.solve(confusion, [value(held[y == j]).mean() for j in range(K)])
        h, e = value(stream) - b[stream.argmax(axis=1)], value(held) - b[held.argmax(axis=1)]
        weight = v[y] / np.bincount(y)[y]
        variance = (h**2).sum() + (weight**2 * e**2).sum()
        side = 0 if h.sum() > 0 else 1
        if abs(h.sum()) <= 2.5 * np.sqrt(variance) or variance < 1e-9:
            assert (out[g] == -np.inf).all()
            continue
        sign = 1 - 2 * side
        possible = np.array([g_ - b[j] for j in range(K) for g_ in ((0.0, 1.0) if c < 0 or c == j else (0.0,))])
        worst = max((-sign * possible).max(), (sign * np.outer(v / np.bincount(y), possible)).max())
        bet = sign * min(np.sqrt(2.0 * logs[g] / variance), 0.9 / worst)
        expected = np.log1p(bet * h).sum() + np.log1p(-bet * weight * e).sum()
        assert out[g, side] == pytest.approx(expected, abs=1e-10)
        assert out[g, 1 - side] == -np.inf
        compared += 1
    assert compared >= 5


def test_the_bets_on_the_holdout_cancel_the_error_in_b():
    """To first order, another b changes nothing: residuals of the holdout have mean zero in every class."""
    rng = np.random.default_rng(2)
    holdout = rng.integers(1, 20, size=(K, K * RANGES)).astype(float)
    holdout[:, :] += 100.0 * np.repeat(np.eye(K), RANGES, axis=1)
    tested = residuals(regions(K, DOUBT_GRADES).values, holdout)
    np.testing.assert_allclose(tested.values @ holdout.T, 0.0, atol=1e-9)


def test_no_more_is_spent_than_there_is():
    total = sum(spent(0, 0, look) for look in range(20_000))
    for window in range(1, len(WINDOWS)):
        looks = looks_in(window)
        assert due(window, looks - 2) <= WINDOWS[window] < due(window, looks - 1)
        total += sum(looks * spent(window, turn, 0) for turn in range(20_000))
    assert renewal_due(renewals() - 2) < BLOCK == renewal_due(renewals() - 1)
    total += sum(renewals() * spent_on_direction(block) for block in range(20_000))
    assert 0.999 < total <= 1.0
    assert spent(1, 0, 0) == 0.0


def test_the_order_within_a_round_does_not_matter():
    one, two = (fitted(np.random.default_rng(0)) for _ in range(2))
    rng = np.random.default_rng(3)
    for _ in range(60):
        rows = outputs(rng, rng.integers(K, size=10), noise=1.5)
        one.update(rows)
        two.update(rows[::-1])
    assert one.evidence_ > 1.0
    assert two.evidence_ == pytest.approx(one.evidence_)
    np.testing.assert_array_equal(one._counts, two._counts)


def test_saved_and_loaded_it_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    check = run(fitted(rng), rng, 30, noise=1.4)
    baserate.save(check, tmp_path / "check")
    loaded = baserate.load(tmp_path / "check")
    rounds = [outputs(rng, rng.integers(K, size=10), noise=1.4) for _ in range(60)]
    for rows in rounds:
        check.update(rows)
        loaded.update(rows)
    assert check.alarm_
    assert (loaded.since_, loaded.evidence_, loaded.explain()) == (check.since_, check.evidence_, check.explain())
    assert dumps(loaded) == dumps(check)


def test_a_damaged_file_is_refused():
    check = fitted(np.random.default_rng(0))
    check._counts = check._counts[:, :, :-1]
    with pytest.raises(ValueError, match="_counts"):
        baserate.state.loads(dumps(check))
    check = fitted(np.random.default_rng(0))
    check._references.starts[1] = 10**6
    with pytest.raises(ValueError, match="references"):
        baserate.state.loads(dumps(check))
    check = fitted(np.random.default_rng(0))
    check._directions.slopes = np.zeros((K, K + 1))
    with pytest.raises(ValueError, match="slopes"):
        baserate.state.loads(dumps(check))
    check = fitted(np.random.default_rng(0))
    check._directions._labels[3] = K
    with pytest.raises(ValueError, match="labels"):
        baserate.state.loads(dumps(check))


def test_empty_and_uneven_rounds():
    rng = np.random.default_rng(0)
    check = fitted(rng)
    check.update(np.empty((0, K)))
    assert (check.rounds_, check.evidence_, check.alarm_, check.since_) == (1, 1.0, False, None)
    assert check.explain() == []
    check.update(outputs(rng, rng.integers(K, size=40_000), noise=1.6))
    assert check.since_ == 2


def test_the_alarm_stays_until_reset():
    rng = np.random.default_rng(0)
    check = run(fitted(rng), rng, 100, noise=2.0)
    since = check.since_
    run(check, rng, 50)
    assert check.alarm_
    assert check.since_ == since
    check.reset()
    assert (check.alarm_, check.since_, check.evidence_, check.rounds_) == (False, None, 1.0, 0)
    assert dumps(check) == dumps(fitted(np.random.default_rng(0)))


def test_a_holdout_too_small_is_said_and_not_refused():
    rng = np.random.default_rng(0)
    check = run(fitted(rng, 70), rng, 50, noise=3.0)
    assert not check.testable_
    assert "17 samples of class 2" in check.reason_
    assert (check.evidence_, check.alarm_, check.rounds_) == (1.0, False, 50)


def test_classes_that_nobody_can_tell_apart():
    rng = np.random.default_rng(0)
    y = np.arange(400) % K
    check = AssumptionCheck().fit(outputs(rng, np.where(y == 3, 2, y)), y)
    assert not check.testable_
    assert "confuses classes" in check.reason_


@pytest.mark.parametrize("alpha", [0.0, 1.0, "much"])
def test_bad_alpha(alpha):
    with pytest.raises((ValueError, TypeError), match="alpha"):
        fitted(np.random.default_rng(0), alpha=alpha)


def test_bad_rounds_change_nothing():
    check = fitted(np.random.default_rng(0))
    before = dumps(check)
    for bad in ([[0.5, 0.5]], [[0.5, 0.5, 0.5, 0.5]], [[np.nan, 0.5, 0.25, 0.25]]):
        with pytest.raises(ValueError, match="proba"):
            check.update(bad)
    assert dumps(check) == before
    with pytest.raises(ValueError, match="not fitted"):
        AssumptionCheck().update([[0.5, 0.5]])


def test_smaller_alpha_alarms_later():
    when = []
    for alpha in (0.2, 1e-6):
        rng = np.random.default_rng(4)
        when.append(run(fitted(rng, alpha=alpha), rng, 300, noise=1.4).since_)
    assert when[0] < when[1]
