"""The default calibrator: close to the best single map, no map where nothing is wrong, and it says what it found."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from baserate.calibrators import BCTS, AutoCalibrator, TemperatureScaling, VectorScaling
from baserate.calibrators import auto as module
from baserate.calibrators._averaging import Average
from baserate.state import dumps, loads

from .honest import distort, draw, nats

MAPS = {"temperature": TemperatureScaling, "bcts": BCTS, "vector": VectorScaling}
MODELS = {"over-confident": (0.4, 0.0), "under-confident": (2.5, 0.0), "biased": (1.0, 1.0), "calibrated": (1.0, 0.0)}


@pytest.fixture(scope="module")
def pool():
    return draw(np.random.default_rng(99), 20_000)


@pytest.mark.parametrize(("n", "repeats"), [(100, 20), (200, 20), (1000, 6), (10_000, 2)])
@pytest.mark.parametrize("model", MODELS)
def test_close_to_the_best_and_never_far_below_none(pool, model, n, repeats):
    temperature, spread = MODELS[model]
    outcomes = []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n])
        biases = spread * rng.standard_normal(10)
        p, y = draw(rng, n)
        p, shown = distort(p, temperature, biases), distort(pool[0], temperature, biases)
        outcome = {"identity": nats(shown, pool[1]), "auto": nats(AutoCalibrator().fit(p, y).transform(shown), pool[1])}
        outcome |= {name: nats(cls().fit(p, y).transform(shown), pool[1]) for name, cls in MAPS.items()}
        outcomes.append(outcome)
    means = {name: np.mean([outcome[name] for outcome in outcomes]) for name in outcomes[0]}
    losses = {name: np.array([outcome["identity"] - outcome[name] for outcome in outcomes]) for name in outcomes[0]}
    assert means["auto"] > max(means.values()) - 0.01
    assert losses["auto"].mean() < 0.9 / n
    # A small holdout may mislead, but not more than it misleads the single maps.
    assert losses["auto"].max() < 0.01 + max(0.0, *(losses[name].max() for name in MAPS))


@pytest.mark.parametrize("k", [2, 4, 10])
def test_calibrated_probabilities_are_mostly_left_exactly_as_they_are(k):
    changes = []
    for seed in range(40):
        p, y = draw(np.random.default_rng([seed, k]), 1000, k)
        auto = AutoCalibrator().fit(p, y)
        changes.append(np.mean(np.sum(p * np.log(p / auto.transform(p)), axis=1)))
        if auto.degrees_of_freedom_ == 0.0:
            np.testing.assert_array_equal(auto.transform(p), p)
            assert "stay as they are" in auto.reason_
    changes = np.array(changes)
    assert (changes == 0.0).mean() > 0.5
    assert changes.mean() < 0.001  # nats a sample


def test_what_it_found():
    p, y = draw(np.random.default_rng(0), 2000, 3)
    assert "stay as they are: on 2000 samples" in AutoCalibrator().fit(p, y).reason_
    auto = AutoCalibrator().fit(distort(p, 0.4), y)
    np.testing.assert_allclose(1 / auto.scales_, 2.5, rtol=0.1)
    np.testing.assert_allclose(auto.biases_, 0.0, atol=0.1)
    assert 1.0 < auto.degrees_of_freedom_ < 4.0
    assert auto.reason_.startswith("The probabilities are calibrated with ")
    assert f"with {auto.degrees_of_freedom_:.1f} degrees of freedom gains " in auto.reason_
    auto = AutoCalibrator().fit(distort(p, 0.6, np.array([1.0, -1.0, 0.5])), y)
    np.testing.assert_allclose(auto.biases_, -0.6 * np.array([5 / 6, -7 / 6, 2 / 6]), atol=0.15)
    assert f"biases of at most {np.abs(auto.biases_).max():.2f}" in auto.reason_


def test_the_gain_is_that_of_the_holdout():
    p, y = draw(np.random.default_rng(1), 300, 3)
    p = distort(p, 0.4)
    auto = AutoCalibrator().fit(p, y)
    assert f"gains {300 * (nats(auto.transform(p), y) - nats(p, y)):.1f} nats" in auto.reason_


@pytest.mark.parametrize(("more", "changed"), [(-0.01, False), (0.01, True)])
def test_a_map_must_gain_more_than_its_degrees_of_freedom(more, changed, monkeypatch):
    p, y = draw(np.random.default_rng(1), 300, 3)
    average = Average(np.full(3, 1.1), np.zeros(3), 300 * nats(p, y) + 2.5 + more, 2.5)
    monkeypatch.setattr(module, "fit_average", lambda logs, labels: average)
    auto = AutoCalibrator().fit(p, y)
    assert auto.degrees_of_freedom_ == (2.5 if changed else 0.0)
    assert auto.scales_[0] == (1.1 if changed else 1.0)
    assert ("by chance" in auto.reason_) != changed


def test_scales_differ_where_they_must():
    p, y = draw(np.random.default_rng(1), 4000, 4)
    shown = p ** np.array([3.0, 0.5, 1.0, 1.0])
    auto = AutoCalibrator().fit(shown / shown.sum(axis=1, keepdims=True), y)
    np.testing.assert_allclose(auto.scales_, 1 / np.array([3.0, 0.5, 1.0, 1.0]), rtol=0.15)
    assert "temperatures from" in auto.reason_


@pytest.mark.parametrize("seen", [0, 1, 5])
def test_a_rare_class_gets_no_wild_bias(seen):
    """Classes of 1 % whose model is calibrated, or two times too sure, with few samples in the holdout."""
    for seed in range(20):
        rng = np.random.default_rng([seed, 8])
        p, y = draw(rng, 20_000, 3)
        shift = np.array([0.0, 0.0, -4.0])
        p = distort(p, 1.0, shift)
        y = (p.cumsum(axis=1) > rng.random((20_000, 1))).argmax(axis=1)
        rare = np.flatnonzero(y == 2)[:seen]
        rows = np.concatenate([np.flatnonzero(y != 2)[: 500 - seen], rare])
        for temperature in (1.0, 0.5):
            auto = AutoCalibrator().fit(distort(p[rows], temperature), y[rows])
            assert np.abs(auto.biases_).max() < (2.0 if seen else 3.0)
            assert auto.biases_[2] < 0.7


@pytest.mark.parametrize(
    ("y", "words"), [([0, 1], "2 samples"), ([0] * 9, "9 samples"), ([2] * 50, "samples of class 2 alone")]
)
def test_nothing_to_judge_by(y, words):
    p = draw(np.random.default_rng(4), len(y), 3)[0]
    auto = AutoCalibrator().fit(p, y)
    assert auto.degrees_of_freedom_ == auto.floor_ == 0.0
    assert words in auto.reason_
    np.testing.assert_allclose(auto.transform(p), p, rtol=0, atol=1e-15)


def test_ten_samples_are_judged():
    p, y = draw(np.random.default_rng(4), 10, 3)
    y[:2] = 0, 1
    assert "on 10 samples" in AutoCalibrator().fit(p, y).reason_


def test_a_ruled_out_truth_cannot_be_left_as_it_is():
    p, y = draw(np.random.default_rng(5), 300, 3)
    p[0] = np.eye(3)[(y[0] + 1) % 3]
    auto = AutoCalibrator().fit(p, y)
    assert auto.degrees_of_freedom_ > 0
    assert "the model had given a true class no probability" in auto.reason_
    assert nats(auto.transform(p), y) > -np.inf


def test_five_thousand_classes():
    k = 5000
    rng = np.random.default_rng(7)
    y = rng.integers(k, size=600)
    p = np.full((600, k), 0.5 / k)
    p[np.arange(600), np.where(rng.random(600) < 0.9, y, (y + 1) % k)] += 0.5
    auto = AutoCalibrator().fit(p, y)
    assert auto.degrees_of_freedom_ == pytest.approx(1.0, abs=1.0)
    assert nats(auto.transform(p), y) > nats(p, y)


def test_useless_probabilities_stay_finite():
    rng = np.random.default_rng(9)
    p = distort(rng.dirichlet(np.ones(3), size=300), 0.1)
    auto = AutoCalibrator().fit(p, rng.integers(3, size=300))
    assert (auto.scales_ > 0).all()
    np.testing.assert_allclose(auto.transform(p), 1 / 3, atol=0.1)


def test_the_number_of_threads_changes_no_bit():
    p, y = draw(np.random.default_rng(0), 2000, 60)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(dumps(AutoCalibrator().fit(distort(p, 0.5), y)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("scales_", np.ones(4)),
        ("biases_", np.full(3, np.inf)),
        ("floor_", 0.0),
        ("degrees_of_freedom_", 0.0),
        ("degrees_of_freedom_", -1.0),
        ("reason_", 3),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    p, y = draw(np.random.default_rng(0), 500, 3)
    auto = AutoCalibrator().fit(distort(p, 0.4), y)
    assert loads(dumps(auto)).reason_ == auto.reason_
    setattr(auto, name, wrong)
    with pytest.raises(ValueError, match=r"AutoCalibrator"):
        loads(dumps(auto))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("scales_", np.ones(3)), ("scales_", np.zeros(2)), ("biases_", np.full(2, np.nan)), ("floor_", 0.5)],
)
def test_a_damaged_map_is_refused(name, wrong):
    scaling = VectorScaling().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    setattr(scaling, name, wrong)
    with pytest.raises(ValueError, match="holds VectorScaling"):
        loads(dumps(scaling))
