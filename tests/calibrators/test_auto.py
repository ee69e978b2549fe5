"""The automatic choice: close to the best single map, hardly ever worse than none, and able to say why."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from baserate.calibrators import BCTS, AutoCalibrator, TemperatureScaling, VectorScaling
from baserate.calibrators import auto as module
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
        outcome = {"identity": nats(shown, pool[1])}
        for name, cls in MAPS.items():
            if name != "vector" or n >= 200:
                outcome[name] = nats(cls().fit(p, y).transform(shown), pool[1])
        auto = AutoCalibrator().fit(p, y)
        assert set(auto.scores_) == set(outcome)
        outcome["auto"] = nats(auto.transform(shown), pool[1])
        assert outcome["auto"] == pytest.approx(outcome[auto.chosen_], abs=1e-12)
        outcomes.append(outcome)
    means = {name: np.mean([outcome[name] for outcome in outcomes]) for name in outcomes[0]}
    losses = np.array([outcome["identity"] - outcome["auto"] for outcome in outcomes])
    assert means["auto"] > max(means.values()) - 0.01
    assert losses.max() < 0.01  # among other seeds, about one holdout of 200 in a hundred misleads by more


@pytest.mark.parametrize(
    ("how", "chosen"),
    [
        ({}, "identity"),
        ({"temperature": 0.4}, "temperature"),
        ({"temperature": 0.6, "biases": np.array([1.0, -1.0, 0.5])}, "bcts"),
    ],
)
def test_it_names_its_choice(how, chosen):
    p, y = draw(np.random.default_rng(0), 2000, 3)
    auto = AutoCalibrator().fit(distort(p, **how), y)
    assert auto.chosen_ == chosen
    assert type(auto.calibrator_) is MAPS.get(chosen, type(None))
    assert list(auto.scores_) == ["identity", "temperature", "bcts", "vector"]
    gain = max(auto.scores_[name] for name in MAPS) - auto.scores_["identity"]
    assert gain > 0.01 or chosen == "identity"
    assert "2000 samples" in auto.reason_
    assert auto.reason_.endswith(".")
    assert "stay as they are" in auto.reason_ if chosen == "identity" else auto.reason_.startswith(chosen)


def test_scales_are_chosen_where_they_are_needed():
    rng = np.random.default_rng(1)
    p, y = draw(rng, 4000, 4)
    shown = p ** np.array([3.0, 0.5, 1.0, 1.0])
    assert AutoCalibrator().fit(shown / shown.sum(axis=1, keepdims=True), y).chosen_ == "vector"


def test_cross_validation_by_hand():
    """Five folds, each with its share of every class; each sample scored by a map that has not seen it."""
    rng = np.random.default_rng(2)
    p, y = draw(rng, 120, 3)
    p = distort(p, 0.5)
    order = module._by_class(y)
    assert sorted(order) == list(range(120))
    assert (np.diff(y[order]) != 0).sum() == 2
    folds = [order[j::5] for j in range(5)]
    for fold in folds:
        assert (np.abs(np.bincount(y[fold], minlength=3) - np.bincount(y) / 5) < 1).all()
    auto = AutoCalibrator().fit(p, y)
    for name, cls in MAPS.items():
        total = 0.0
        for fold in folds:
            rest = np.setdiff1d(np.arange(120), fold)
            total += len(fold) * nats(cls().fit(p[rest], y[rest]).transform(p[fold]), y[fold])
        assert auto.scores_[name] == pytest.approx(total / 120, abs=1e-9)
    assert auto.scores_["identity"] == pytest.approx(nats(p, y), abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ((-1.0, -0.961, -0.925, -0.885), "identity"),
        ((-1.0, -0.959, -0.921, -0.881), "temperature"),
        ((-1.0, -0.961, -0.919, -0.881), "bcts"),
        ((-1.0, -0.961, -0.921, -0.879), "vector"),
        ((-1.0, -0.959), "temperature"),
        ((-np.inf, -2.0, -1.98, -1.0), "vector"),
        ((-np.inf, -2.0, -1.961), "temperature"),
    ],
)
def test_four_nats_for_every_step(scores, chosen):
    names = ["identity", *MAPS][: len(scores)]
    assert module._choose(dict(zip(names, scores, strict=True)), 100)[0] == chosen


def test_who_is_a_candidate():
    rng = np.random.default_rng(3)
    for n, names in ((29, 2), (30, 3), (199, 3), (200, 4)):
        assert len(AutoCalibrator().fit(*draw(rng, n)).scores_) == names


@pytest.mark.parametrize(
    ("y", "words"), [([0, 1], "2 samples"), ([0] * 9, "9 samples"), ([2] * 50, "samples of class 2 alone")]
)
def test_nothing_to_judge_by(y, words):
    p = draw(np.random.default_rng(4), len(y), 3)[0]
    auto = AutoCalibrator().fit(p, y)
    assert auto.chosen_ == "identity"
    assert auto.calibrator_ is None
    assert words in auto.reason_
    np.testing.assert_allclose(auto.transform(p), p, rtol=0, atol=1e-15)


def test_a_ruled_out_truth_cannot_be_left_as_it_is():
    p, y = draw(np.random.default_rng(5), 300, 3)
    p[0] = np.eye(3)[(y[0] + 1) % 3]
    auto = AutoCalibrator().fit(p, y)
    assert auto.scores_["identity"] == -np.inf
    assert auto.chosen_ != "identity"
    assert "no probability" in auto.reason_
    assert nats(auto.transform(p), y) > -np.inf


def test_choosing_looks_at_a_stratified_part_of_a_large_holdout(monkeypatch):
    p, y = draw(np.random.default_rng(6), 5000, 4)
    seen = []
    monkeypatch.setattr(module, "_NUMBERS", 4000)
    cross_validate = module._cross_validate
    monkeypatch.setattr(module, "_cross_validate", lambda p, y: seen.append(y) or cross_validate(p, y))
    auto = AutoCalibrator().fit(distort(p, 0.5), y)
    assert len(seen[0]) == 1000
    np.testing.assert_allclose(np.bincount(seen[0]) / 1000, np.bincount(y) / 5000, atol=0.002)
    whole = TemperatureScaling().fit(distort(p, 0.5), y)
    assert auto.calibrator_.temperature_ == whole.temperature_


def test_five_thousand_classes():
    k = 5000
    rng = np.random.default_rng(7)
    y = rng.integers(k, size=600)
    p = np.full((600, k), 0.5 / k)
    p[np.arange(600), np.where(rng.random(600) < 0.9, y, (y + 1) % k)] += 0.5
    auto = AutoCalibrator().fit(p, y)
    assert list(auto.scores_) == ["identity", "temperature"]
    assert auto.chosen_ == "temperature"
    assert nats(auto.transform(p), y) > nats(p, y)


def test_ten_samples_are_judged():
    p, y = draw(np.random.default_rng(4), 10, 3)
    y[:2] = 0, 1
    assert set(AutoCalibrator().fit(p, y).scores_) == {"identity", "temperature", "bcts"}
    assert set(AutoCalibrator().fit(p[:9], y[:9]).scores_) == {"identity"}


@pytest.mark.parametrize(("n", "k"), [(2050, 1000), (2054, 1000)])
def test_a_large_holdout_of_any_size_is_thinned(n, k, monkeypatch):
    p = np.full((n, k), 1 / k)
    monkeypatch.setattr(module, "_cross_validate", lambda p, y: {"identity": 0.0, "temperature": 0.0})
    AutoCalibrator().fit(p, np.arange(n) % k)


def test_folds_do_not_depend_on_the_numbers_of_classes():
    y = np.random.default_rng(0).integers(4, size=50)
    np.testing.assert_array_equal(module._by_class(y), module._by_class(np.array([2, 0, 3, 1])[y]))


def test_the_reason_is_right():
    _, reason = module._choose({"identity": -1.0, "temperature": -1.01, "bcts": -0.94}, 100)
    assert "bcts gained 6.00 nats in all" in reason
    assert "short of the 8" in reason
    _, reason = module._choose({"identity": -1.0, "temperature": -0.9, "bcts": -0.9}, 100)
    assert "temperature gained 10.00 nats in all (0.1000 a sample)" in reason
    assert "more than the 4" in reason
    _, reason = module._choose({"identity": -1.0, "temperature": -1.0001}, 100)
    assert "no other map did better" in reason


def test_the_number_of_threads_changes_no_bit():
    p, y = draw(np.random.default_rng(0), 2000, 60)
    scores = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            scores.append(AutoCalibrator().fit(distort(p, 0.5), y).scores_)
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("chosen_", "identity"),
        ("chosen_", "bcts"),
        ("calibrator_", None),
        ("calibrator_", TemperatureScaling()),
        ("calibrator_", BCTS().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])),
        ("calibrator_", TemperatureScaling().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])),
        ("n_classes_", 4),
        ("scores_", {"identity": 1.0}),
        ("scores_", {"other": -1.0}),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(3), size=500)
    y = (rows.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    auto = AutoCalibrator().fit(rows**3 / (rows**3).sum(axis=1, keepdims=True), y)
    assert auto.chosen_ == "temperature"
    loads(dumps(auto))
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
