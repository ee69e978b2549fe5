"""Runs that adapt: the same bits for the same cell, and the same stream for all methods."""

import numpy as np
import pytest

from baserate.evaluation import evaluate
from baserate.shifts import Bernoulli, Monotone, Sinusoidal, Square
from baserate_lab.paper.runs import adapting, base_models
from baserate_lab.paper.runs.adapting import SHIFTS, run_adapting
from baserate_lab.paper.runs.cells import PaperCell
from baserate_lab.paper.runs.methods import METHODS, NEED_FEATURES


def cell(method="FTH", shift="ber", seed=0, **fields):
    return PaperCell(
        "synthetic", "linear", shift, **{"holdout": 240, "method": method, "seed": seed, "n_rounds": 60} | fields
    )


def timeless(result):
    return result._replace(seconds=0.0)


def stream(of):
    key = of.dataset, of.model, of.model_seed, of.train_share, of.method in NEED_FEATURES
    return adapting._stream(key, of.shift, of.seed, of.batch_size, of.n_rounds)


def labels(of):
    return np.concatenate([batch.y for batch in stream(of)])


def forget():
    adapting._stream.cache_clear()
    base_models.load.cache_clear()


@pytest.mark.parametrize("method", [m for m in METHODS if m != "RT-FLH-FTL"])
def test_the_same_cell_gives_the_same_bits_whatever_ran_before(method):
    first = timeless(run_adapting(cell(method)))
    assert timeless(run_adapting(cell(method))) == first
    run_adapting(cell("Base", "sin", 3, batch_size=4))
    run_adapting(cell("ATLAS" if method != "ATLAS" else "UOGD", "mon", 1))
    assert timeless(run_adapting(cell(method))) == first
    forget()
    assert timeless(run_adapting(cell(method))) == first


def test_a_run_leaves_the_stream_as_it_was():
    before = [tuple(map(np.copy, batch[1:2])) for batch in stream(cell())]
    for method in ("FLH-FTL", "ROGD", "OFC"):
        run_adapting(cell(method))
    for batch, (proba,) in zip(stream(cell()), before, strict=True):
        np.testing.assert_array_equal(batch.proba, proba)


def test_all_methods_of_a_seed_see_the_same_stream():
    plain, with_features = stream(cell("FTH")), stream(cell("UOGD"))
    for one, other in zip(plain, with_features, strict=True):
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(one.q, other.q)
        np.testing.assert_array_equal(one.rows, other.rows)
    assert plain[0].features is None
    assert with_features[0].features.shape[0] == 10


def test_streams_have_the_shape_asked_for():
    found = stream(cell(batch_size=3, n_rounds=7))
    assert [len(batch.y) for batch in found] == [3] * 7


def test_streams_differ_between_seeds_and_shifts():
    seen = {(shift, seed): labels(cell(shift=shift, seed=seed)).tobytes() for shift in SHIFTS for seed in (0, 1)}
    assert len(set(seen.values())) == 8
    assert {name: type(shift) for name, shift in SHIFTS.items()} == {
        "mon": Monotone,
        "squ": Square,
        "sin": Sinusoidal,
        "ber": Bernoulli,
    }


def test_streams_do_not_depend_on_what_the_method_is_given():
    few, many = cell(holdout=30), cell(holdout=12_000, marginal="MLLS")
    np.testing.assert_array_equal(labels(few), labels(many))
    assert run_adapting(few).error != run_adapting(many).error


def test_the_seed_also_chooses_the_holdout(monkeypatch):
    asked = []
    honest = base_models.choose_holdout

    def choose(y, size, rng):
        asked.append((size, honest(y, size, rng)))
        return asked[-1][1]

    monkeypatch.setattr(base_models, "choose_holdout", choose)
    for of in (cell(seed=4, holdout=50), cell("Base", seed=4, holdout=200, shift="mon"), cell(seed=5, holdout=200)):
        run_adapting(of)
    (n, small), (m, large), (_, other) = asked
    assert (n, m) == (50, 200)
    assert set(small) < set(large)
    assert set(other) != set(large)


def test_the_numbers_are_those_of_the_evaluation():
    of = cell("FTH", "squ", 2, marginal="MLLS")
    base = base_models.load("synthetic", "linear", 0, 0.8, False)
    rows = base_models.choose_holdout(base.holdout_y, 240, np.random.default_rng([2, 0]))
    from baserate.adapters import RegressAndReweight
    from baserate.calibrators import TemperatureScaling
    from baserate.marginals import MLLS
    from baserate.trackers import FollowTheHistory

    method = RegressAndReweight(FollowTheHistory(3), MLLS(), TemperatureScaling())
    method.fit(base.holdout[rows], base.holdout_y[rows])
    found, expected = run_adapting(of), evaluate(method, stream(of))
    assert found.error == pytest.approx(100 * expected.error_rate, abs=1e-12)
    assert found.mse == pytest.approx(expected.mse_to_frequencies, abs=1e-12)
    assert found.mse_true == pytest.approx(expected.mse, abs=1e-12)
    assert found.mse != found.mse_true
    assert 0 < found.seconds < 60
    assert not any(found[4:])


def test_a_method_without_a_mix_has_no_mse():
    found = run_adapting(cell("UOGD"))
    assert (found.mse, found.mse_true) == (None, None)
    assert 0 < found.error < 50


REAL = PaperCell("hapt", "linear", "real", 120, "FTH", 0, n_rounds=130)


def test_a_real_stream_is_replayed_and_told_over_time():
    base = base_models.load("hapt", "linear", 0, 0.8, False)
    np.testing.assert_array_equal(labels(REAL), base.target_y[:1300])
    found = run_adapting(REAL)
    assert len(found.block_errors) == len(found.block_mses) == 60
    # 130 rounds are ten blocks of three and fifty of two.
    rounds = [3] * 10 + [2] * 50
    assert np.average(found.block_errors, weights=rounds) == pytest.approx(found.error)
    assert np.average(found.block_mses, weights=rounds) == pytest.approx(found.mse)
    assert found.mse_true is None  # nobody knows the mix that it was drawn from
    assert len(run_adapting(REAL._replace(n_rounds=7)).block_errors) == 7


def test_the_seed_of_a_real_stream_is_that_of_the_holdout_only():
    np.testing.assert_array_equal(labels(REAL), labels(REAL._replace(seed=1)))
    assert run_adapting(REAL).block_errors != run_adapting(REAL._replace(seed=1)).block_errors


def test_what_is_no_problem_of_the_paper_is_refused():
    with pytest.raises(ValueError, match="hapt forest is no problem of the paper"):
        run_adapting(REAL._replace(model="forest"))
