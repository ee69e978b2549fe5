"""SerialDependence: neighbours that repeat each other, whatever the class mix does, against a loop over pairs."""

import numpy as np
import pytest

import baserate
from baserate.shifts import Bernoulli, Constant, Monotone, RandomWalk, Sinusoidal, Square
from baserate.state import dumps, loads
from baserate.trust import SerialDependence

from .simulated import labels, outputs


def binary(odds):
    return np.column_stack([odds, np.ones(len(odds))]) / (1.0 + odds)[:, np.newaxis]


def related(rng, n, r):
    """Outputs of which each takes a part of the one before: their log-odds correlate by `r`."""
    noise, x = rng.normal(size=n), np.zeros(n)
    for i in range(n):
        x[i] = r * x[i - 1] + np.sqrt(1 - r * r) * noise[i] if i else noise[0]
    return binary(np.exp(4.0 + x))  # always the same class, so that nothing is selected


def naive(rows):
    """Products about the mean of the class's pairs, pair by pair."""
    sure = [min(max(np.log(max(p) / (1 - max(p))), -5.0), 7.0) for p in rows.tolist()]
    of_class = {}
    for i in range(len(rows) - 1):
        if rows[i].argmax() == rows[i + 1].argmax():
            of_class.setdefault(int(rows[i].argmax()), []).append((sure[i], sure[i + 1]))
    products = variances = n = 0.0
    for pairs in of_class.values():
        if len(pairs) < 3:
            continue
        mean = sum(a + b for a, b in pairs) / (2 * len(pairs))
        variance = sum((a - mean) ** 2 + (b - mean) ** 2 for a, b in pairs) / 2
        products += sum((a - mean) * (b - mean) for a, b in pairs) + variance / (2 * len(pairs) - 1)
        variances += variance
        n += len(pairs)
    return products, variances, n


@pytest.mark.parametrize("n", [2, 5, 40, 300])
def test_it_is_the_loop_over_pairs(n):
    rng = np.random.default_rng(n)
    rows = [outputs(rng, labels(rng, n, [0.5, 0.3, 0.2])) for _ in range(3)]
    watch, sums = SerialDependence(memory=500), np.zeros(3)
    for batch in rows:
        watch.update(batch)
        sums = np.exp(-n / 500) * sums + naive(batch)
    assert watch.correlation_ == pytest.approx(sums[0] / sums[1] if sums[1] else 0.0)
    assert watch.low_ == pytest.approx(watch.correlation_ - 2 / np.sqrt(sums[2]) if sums[2] >= 50 else -1.0)


@pytest.mark.parametrize("r", [0.0, 0.2, 0.5, 0.9])
def test_it_finds_the_correlation(r):
    watch = SerialDependence(memory=20_000)
    watch.update(related(np.random.default_rng(0), 20_000, r))
    assert watch.correlation_ == pytest.approx(r, abs=0.05)
    assert watch.dependent_ == (r > 1 / 3)


def test_independent_samples_are_not_taken_for_dependent_whatever_the_mix_does():
    """At 256 samples a look, over 20 streams of 50 looks: the class mix alone makes nobody repeat anybody."""
    worst = -1.0
    for shift in (Constant(), Monotone(), Square(), Sinusoidal(), Bernoulli(), RandomWalk()):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            watch = SerialDependence()
            path = shift.path(1280, 3, rng)
            y = np.concatenate([labels(rng, 10, q) for q in path])
            rows = outputs(rng, y)
            for start in range(0, len(rows), 256):
                watch.update(rows[start : start + 256])
                worst = max(worst, watch.low_)
                assert not watch.dependent_
    assert worst < 0.15  # the limit is 1/3


def test_it_is_over_when_samples_are_independent_again():
    rng = np.random.default_rng(0)
    watch = SerialDependence()
    for _ in range(8):
        watch.update(related(rng, 256, 0.8))
    assert watch.dependent_
    said = []
    for _ in range(30):
        watch.update(related(rng, 256, 0.0))
        said.append(watch.dependent_)
    assert said[0]  # it is not forgotten at once
    assert not said[-1]
    assert sorted(said, reverse=True) == said  # and does not come back


def test_a_few_pairs_do_not_tell():
    watch = SerialDependence()
    watch.update(binary(np.exp(4.0 + np.linspace(0, 1, 40))))
    assert watch.correlation_ > 0.9
    assert watch.low_ == -1.0
    assert not watch.dependent_


@pytest.mark.parametrize(
    "rows", [np.empty((0, 2)), [[1.0, 0.0]], [[1.0, 0.0]] * 500, [[0.9, 0.1]] * 500, [[0.9, 0.1], [0.2, 0.8]] * 300]
)
def test_what_has_no_spread_tells_nothing(rows):
    watch = SerialDependence()
    watch.update(rows)
    assert watch.correlation_ == 0.0
    assert not watch.dependent_


def test_saved_and_loaded_it_goes_on_bit_for_bit(tmp_path):
    rng = np.random.default_rng(0)
    watch = SerialDependence(memory=700)
    watch.update(related(rng, 300, 0.9))
    baserate.save(watch, tmp_path / "watch")
    again = baserate.load(tmp_path / "watch")
    for one in (watch, again):
        one.update(related(np.random.default_rng(1), 300, 0.9))
    assert dumps(one) == dumps(watch)
    assert watch.dependent_
    watch.reset()
    assert dumps(watch) == dumps(SerialDependence(memory=700))


def test_bad_input_is_refused_and_changes_nothing():
    watch = SerialDependence()
    watch.update(related(np.random.default_rng(0), 100, 0.9))
    before = dumps(watch)
    with pytest.raises(ValueError, match="NaN"):
        watch.update([[np.nan, 0.5]])
    assert dumps(watch) == before
    with pytest.raises(ValueError, match="memory"):
        SerialDependence(memory=0)


def test_what_has_faded_can_be_saved():
    watch = SerialDependence(memory=1)
    rng = np.random.default_rng(0)
    watch.update(binary(np.exp(rng.normal(size=200))))
    for _ in range(60):
        watch.update(binary(np.full(13, 2.0)))
        assert dumps(loads(dumps(watch))) == dumps(watch)


@pytest.mark.parametrize(
    "sums", [np.zeros(4), np.full(3, np.nan), np.array([2.0, 1.0, 1.0]), np.array([0.0, -1.0, 1.0]), -np.ones(3)]
)
def test_a_damaged_state_is_refused(sums):
    watch = SerialDependence()
    watch._sums = sums
    with pytest.raises(ValueError, match=r"holds|none of pairs"):
        loads(dumps(watch))
