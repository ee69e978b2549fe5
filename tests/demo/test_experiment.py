"""The experiment of the demo: its model, its methods, its streams, and what a seed decides."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import baserate.adapters
import baserate.trackers
from baserate.adapters import UOGD, Base, Oracle, RegressAndReweight
from baserate.demo import run_demo, train_model
from baserate.demo.experiment import BASE, MOVING, ORACLE, REFERENCES, describe, every_tracker, rivals
from baserate.evaluation import evaluate
from baserate.reports.demo_rows import demo_rows
from baserate.shifts import Square, sample_stream
from baserate.trackers import FLHFTL, LastSighting

from .small_runs import BATCH, ROUNDS, small_demo, small_model


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def demo():
    return small_demo()


def cell(demo, shift, method):
    (found,) = (c for c in demo.cells if (c.shift, c.method) == (shift, method))
    return found


def test_the_model_leaves_something_to_gain_and_is_about_honest():
    wrong, overconfidence, by_class = [], [], []
    for seed in range(6):
        proba, y = train_model(seed)[2:4]
        miss = proba.argmax(axis=1) != y
        wrong.append(miss.mean())
        overconfidence.append(proba.max(axis=1).mean() - (1 - miss.mean()))
        by_class.append([miss[y == c].mean() for c in range(10)])
    assert 0.07 < np.mean(wrong) < 0.09
    assert abs(np.mean(overconfidence)) < 0.06
    assert np.argmax(np.mean(by_class, axis=0)) == MOVING
    assert np.mean(by_class, axis=0)[0] < 0.02


def test_a_cell_is_what_a_direct_evaluation_gives(demo, model):
    rng = np.random.default_rng(np.random.SeedSequence(5).spawn(4)[1])
    path = Square(second=np.eye(10)[MOVING]).path(ROUNDS, 10, rng)
    stream = sample_stream(model.pool_proba, model.pool_y, path, batch_size=BATCH, rng=rng)
    adapter = RegressAndReweight(FLHFTL(10, experts="window"), gate=False).fit(model.holdout_proba, model.holdout_y)
    direct = evaluate(adapter, stream)
    ours = cell(demo, "Square", "FLH-FTL (window)").evaluation
    np.testing.assert_array_equal(ours.wrong, direct.wrong)
    np.testing.assert_allclose(
        ours.prior, direct.prior, rtol=0, atol=1e-12
    )  # the demo has one thread, this may have more


def test_regret_is_the_extra_loss_over_the_pool(demo, model):
    base = cell(demo, "Sinusoidal", BASE)
    oracle = Oracle(base.evaluation.q).fit(model.holdout_proba, model.holdout_y)
    expected = 0.0
    for q in base.evaluation.q:
        told = oracle.predict_proba(model.pool_proba)
        oracle.update(model.pool_proba[:1])
        gain = (told - model.pool_proba)[np.arange(len(told)), model.pool_y]
        expected += sum(q[c] * gain[model.pool_y == c].mean() for c in range(10))
    assert base.regret == pytest.approx(expected)
    for method in ("UOGD", "RetrainLastLayer"):  # no re-weighting, but a loss on the pool they have
        assert 0.0 < cell(demo, "Sinusoidal", method).regret < 5.0 * base.regret
    assert cell(demo, "Sinusoidal", ORACLE).regret == pytest.approx(0.0, abs=1e-12)


def test_every_method_sees_the_same_stream(demo):
    for c in demo.cells:
        np.testing.assert_array_equal(c.evaluation.frequencies, cell(demo, c.shift, BASE).evaluation.frequencies)
        assert c.evaluation.n.tolist() == ROUNDS * [BATCH]


def test_the_seed_decides_everything(demo):
    again = demo_rows(run_demo(train_model(0), ROUNDS, BATCH, seed=5))
    assert again == demo_rows(demo)
    assert demo_rows(run_demo(train_model(1), ROUNDS, BATCH, seed=5)) != again
    assert demo_rows(run_demo(train_model(0), ROUNDS, BATCH, seed=6)) != again


def test_an_exported_tracker_is_found(monkeypatch):
    class Wrapper(BaseEstimator):
        def __init__(self, tracker):
            self.tracker = tracker

        @classmethod
        def examples(cls):
            return [cls(LastSighting(3))]

    monkeypatch.setattr(baserate.trackers, "Wrapper", Wrapper, raising=False)
    monkeypatch.setattr(baserate.trackers, "__all__", [*baserate.trackers.__all__, "Wrapper"])
    found = every_tracker(10)
    assert found["Wrapper"].tracker.predict().shape == (10,)
    assert {type(tracker).__name__ for tracker in found.values()} == set(baserate.trackers.__all__)
    assert len(found["FLH-FTL"].predict()) == 10
    assert found["FLH-FTL"].experts == "start"
    assert found["FLH-FTL (window)"].experts == "window"
    assert "FLHFTL" not in found


def test_every_method_is_described():
    for method in (*REFERENCES, *rivals(train_model(0))):
        assert describe(method).endswith(".")
    assert describe("LastSighting") == "The last estimate, without any averaging."
    assert "`window`" in describe("FLH-FTL (window)")


def test_progress_goes_through_every_cell(model):
    seen = []

    def track(cells):
        for one in cells:
            seen.append(one)
            yield one

    small = run_demo(model, 2, 1, track=track)
    assert seen == [(c.shift, c.method) for c in small.cells]
    assert len(seen) == 4 * (3 + len(rivals(model)))


def test_the_largest_batch_is_possible_and_one_more_is_not(model):
    limit = model.largest_batch
    assert run_demo(model, 3, limit).cells[0].evaluation.n.tolist() == 3 * [limit]
    with pytest.raises(ValueError, match="batch_size"):
        run_demo(model, 40, np.bincount(model.pool_y)[MOVING] + 1)


def test_every_method_is_there(model):
    exported = {*baserate.adapters.__all__} - {*REFERENCES, "RegressAndReweight"}
    assert exported == {"ATLAS", "ROGD", "UOGD", "RetrainLastLayer"}
    assert set(rivals(model)) == exported | set(every_tracker(10)) | {"baserate"}
    assert rivals(model)["baserate"].get_params() == RegressAndReweight().get_params()
    assert not any(rivals(model)[name].gate for name in every_tracker(10))
    assert rivals(model)["RetrainLastLayer"].epochs == 10  # the default would take most of the tour


def test_methods_that_move_the_last_layer_see_features(demo, model):
    rng = np.random.default_rng(np.random.SeedSequence(5).spawn(4)[1])
    path = Square(second=np.eye(10)[MOVING]).path(ROUNDS, 10, rng)
    stream = list(
        sample_stream(
            model.pool_proba,
            model.pool_y,
            path,
            batch_size=BATCH,
            features=model.pool_features,
            rng=rng,
        )
    )
    direct = evaluate(UOGD(*model.head).fit(model.holdout_features, model.holdout_y), stream)
    np.testing.assert_array_equal(cell(demo, "Square", "UOGD").evaluation.wrong, direct.wrong)
    logits = model.pool_features @ model.head[0].T + model.head[1]
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(proba / proba.sum(axis=1, keepdims=True), model.pool_proba, atol=1e-12)
    base = evaluate(Base().fit(model.holdout_proba, model.holdout_y), stream)
    assert (direct.wrong != base.wrong).any()
