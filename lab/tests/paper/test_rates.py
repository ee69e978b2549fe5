"""The rates of the theory, measured: on a step and on a ramp up to 2^14 rounds; all of it is `make reproduce-rates`."""

import numpy as np
import pytest

from baserate.trackers import Aligator, Arrows, FollowTheHistory, LastSighting
from baserate_lab.paper import rates

LENGTHS = rates.LENGTHS[:-1]


@pytest.fixture(scope="module")
def results():
    trackers = ["FLH-FTL", "Aligator", "Arrows", "gradient descent, told V", "global mean"]
    return rates.run_rates(["step", "ramp"], trackers, LENGTHS, n_seeds=3)


@pytest.mark.parametrize("tracker", ["FLH-FTL", "Aligator", "Arrows"])
@pytest.mark.parametrize(("path", "most"), [("step", 0.3), ("ramp", 0.65)])
def test_adaptive_trackers_grow_slowly(results, tracker, path, most):
    assert rates.slope(results[path, tracker][:, :, 0], LENGTHS).value <= most


@pytest.mark.parametrize("path", ["step", "ramp"])
def test_the_global_mean_grows_linearly(results, path):
    assert rates.slope(results[path, "global mean"][:, :, 0], LENGTHS).value >= 0.95


def test_gradient_descent_is_in_between(results):
    assert 0.4 < rates.slope(results["step", "gradient descent, told V"][:, :, 0], LENGTHS).value < 0.6


def test_slopes_are_those_of_powers():
    seeds = np.array([1.0, 2.0, 5.0])
    fitted = rates.slope(np.array([n**0.4 for n in LENGTHS])[:, None] * seeds, LENGTHS)
    assert fitted.value == pytest.approx(0.4)
    assert fitted.margin == pytest.approx(0, abs=1e-9)
    steep = rates.slope(np.stack([[n**power for power in (0.2, 0.4)] for n in LENGTHS]), LENGTHS)
    assert steep.value == pytest.approx(0.3)
    assert steep.margin == pytest.approx(12.706 * 0.1, rel=1e-3)  # Student's t with one degree of freedom


def test_slopes_of_means_stand_negative_seeds():
    powers = np.array([n**0.4 for n in LENGTHS])[:, None]
    fitted = rates.slope_of_mean(powers * np.array([3.0, -1.0, 2.0]), LENGTHS)
    assert fitted.value == pytest.approx(0.4)
    assert fitted.margin == pytest.approx(0, abs=1e-9)
    noisy = powers * (1 + 0.1 * np.random.default_rng(0).standard_normal((len(LENGTHS), 8)))
    by_mean, by_seed = rates.slope_of_mean(noisy, LENGTHS), rates.slope(noisy, LENGTHS)
    assert by_mean.value == pytest.approx(by_seed.value, abs=0.01)
    assert by_mean.margin == pytest.approx(by_seed.margin, rel=0.2)  # for small noise they are the same


@pytest.mark.parametrize("name", rates.PATHS)
def test_paths_have_the_variation_they_are_sorted_by(name):
    rng = np.random.default_rng(0)
    variations = [np.mean([rates.variation(rates.PATHS[name](n, rng)) for _ in range(20)]) for n in (2**10, 2**14)]
    growth = np.log(variations[1] / variations[0]) / np.log(2**4)
    assert growth == pytest.approx(0.0 if name in rates.FIXED else 0.5, abs=0.13)
    for n in (2**8, 2**15):
        path = rates.PATHS[name](n, rng)
        assert path.shape == (n, 3)
        assert path.min() >= 0
        np.testing.assert_allclose(path.sum(axis=1), 1)


def test_play_by_hand():
    path = np.array([[1.0, 0.0, 0.0]] * 3)  # sightings without noise
    run = rates.track_path(LastSighting(3), path, np.random.default_rng(0))
    assert run.error == pytest.approx((2 / 3) ** 2 + 2 / 9)
    assert run.switches == 1
    assert rates.track_path(FollowTheHistory(3), path, np.random.default_rng(0)) == run


@pytest.mark.parametrize("cls", [Aligator, Arrows])
def test_memory_is_constant(cls):
    few, many = (rates.cost(lambda: cls(10), n, repeats=1) for n in (2**9, 2**12))
    assert many.n_bytes <= 1.01 * few.n_bytes


def test_regret_of_adapting_is_far_below_that_of_doing_nothing():
    found = rates.regrets("step", 512, seed=0)
    assert 0 < found["FLH-FTL"] < 0.3 * found["left alone"]


def test_the_tables_can_be_made():
    full = {
        (path, name): np.random.default_rng(0).random((8, 2, 2)) + 1 for path in rates.PATHS for name in rates.TRACKERS
    }
    regret = {path: {"FLH-FTL": np.ones((6, 2)), "left alone": np.ones((6, 2))} for path in rates.REGRET_PATHS}
    for table in (
        rates.rates_table(full),
        rates.errors_table(full),
        rates.switches_table(full),
        rates.regret_table(regret),
    ):
        assert table.row_count >= 4


def test_the_figure_can_be_drawn(tmp_path):
    full = {
        (path, name): np.random.default_rng(0).random((8, 2, 2)) + 1 for path in rates.PATHS for name in rates.TRACKERS
    }
    regret = {"step": {"FLH-FTL": np.ones((6, 2)), "left alone": np.ones((6, 2))}}
    rates.draw_rates(full, regret, tmp_path / "rates.svg")
    text = (tmp_path / "rates.svg").read_text()
    assert text.startswith("<?xml")
    for name in rates.TRACKERS:
        assert name in text


def test_paths_start_where_they_say():
    for name in ("step", "sine", "steps", "ramps"):
        np.testing.assert_allclose(rates.PATHS[name](1024, None)[0], 1 / 3)


def test_the_optimal_order():
    assert rates.optimal_order("step", 4096) == pytest.approx(16 * (4 / 3) ** (2 / 3))


def test_a_switch_is_a_change_of_any_class():
    path = np.repeat(np.eye(3)[[0, 1]], 2, axis=0)  # class 2 never moves after the first round
    assert rates.track_path(LastSighting(3), path, np.random.default_rng(0)).switches == 2


def test_seeds_have_noise_of_their_own():
    errors = [rates.track_all("step", 64, seed, ["global mean"])["global mean"].error for seed in (0, 1)]
    assert errors[0] != errors[1]


def test_the_table_names_the_theory():
    full = {(path, name): np.ones((8, 2, 2)) for path in rates.PATHS for name in rates.TRACKERS}
    assert list(rates.rates_table(full).columns[1].cells) == ["1/3"] * 4 + ["2/3"] * 4
