"""A backtest as a whole: scores by hand, labels that nobody sees too early, arguments that are refused."""

import numpy as np
import pytest

from baserate.adapters import Base, Oracle, RegressAndReweight
from baserate.backtesting import backtest
from baserate.backtesting.blocks import Change
from baserate.backtesting.hindsight import hindsight
from baserate.backtesting.methods import CALIBRATED, DEFAULT, HINDSIGHT, NOTHING, every_tracker
from baserate.backtesting.run import default_rows
from baserate.evaluation import evaluate
from baserate.shifts import replay_stream

from .logs import SHARE, drifting, labels_of, model_outputs


def test_a_planted_drift_is_found_worth_it(drift):
    assert drift.verdict == "use"
    assert drift.trust.since is None
    nothing, default = drift.score(NOTHING), drift.score(DEFAULT)
    assert default.error < nothing.error - 0.03
    assert default.error_change.value == pytest.approx(default.error - nothing.error)
    assert drift.sentence == (
        f"Use it: error {100 * nothing.error:.1f} % -> {100 * default.error:.1f} % "
        f"({100 * default.error_change.value:+.1f} points, 95 % interval {100 * default.error_change.low:+.1f} to "
        f"{100 * default.error_change.high:+.1f})."
    )
    assert default.error_change.high < 0
    # It comes close to what the class mix in hindsight gives, and calibration alone has no part in it.
    assert drift.score(HINDSIGHT).error > default.error - 0.02
    assert abs(drift.score(CALIBRATED).error - nothing.error) < 0.01
    assert drift.beyond_calibration.high < 0


def test_scores_are_those_of_the_adapter_by_hand(drift):
    proba, y = drifting()
    adapter = RegressAndReweight().fit(proba[:1000], y[:1000])
    rows = default_rows(5000)
    found = np.concatenate([adapter.step(proba[i : i + rows]).proba for i in range(1000, 6000, rows)])
    truth = y[1000:]
    right, model_right = found.argmax(axis=1) == truth, proba[1000:].argmax(axis=1) == truth
    default = drift.score(DEFAULT)
    assert default.error == pytest.approx((~right).mean())
    assert (default.better, default.worse) == ((right & ~model_right).sum(), (~right & model_right).sum())
    assert default.log_loss == pytest.approx(-np.log(found[np.arange(5000), truth]).mean())
    assert default.worse - default.better == round(5000 * default.error_change.value)
    assert drift.score(NOTHING).error == pytest.approx((~model_right).mean())
    assert drift.score(NOTHING).error_change == Change(0, 0, 0)


def test_an_overconfident_model_is_calibrated_for_all_but_the_first():
    proba, y = drifting()
    bold = proba**2.5 / (proba**2.5).sum(axis=1, keepdims=True)
    found = backtest(bold, y, holdout=SHARE, rounds=25, methods=["Arrows"])
    stream = list(replay_stream(bold[1000:], y[1000:], batch_size=25))
    assert found.score(CALIBRATED).log_loss < found.score(NOTHING).log_loss - 0.1
    by_hand = {
        NOTHING: Base(),
        DEFAULT: RegressAndReweight(),
        CALIBRATED: Base(calibrator="auto"),
        "Arrows": RegressAndReweight(every_tracker(3)["Arrows"], gate=False),
        HINDSIGHT: Oracle(hindsight(found.log.counts(), found.source_prior).path),
    }
    for name, adapter in by_hand.items():
        expected = evaluate(adapter.fit(bold[:1000], y[:1000]), stream)
        assert found.played[name].log_loss == pytest.approx(expected.log_loss, rel=1e-9), name
        assert found.played[name].wrong.tolist() == expected.wrong.tolist()


def test_labels_after_the_holdout_change_no_prediction(drift):
    proba, y = drifting()
    rng = np.random.default_rng(5)
    other = y.copy()
    other[1000:] = rng.permutation(y[1000:])
    found = backtest(proba, other, holdout=SHARE)
    for name, played in drift.played.items():
        same = np.array_equal(played.prior, found.played[name].prior)
        assert same == (name != HINDSIGHT), name
    for field in ("evidence", "weight", "held_back", "low", "high"):
        assert np.array_equal(getattr(drift.trust, field), getattr(found.trust, field))
    assert found.score(DEFAULT).error > drift.score(DEFAULT).error + 0.1


def test_no_method_is_given_a_label(monkeypatch):
    seen = []
    step = RegressAndReweight.step

    def watched(self, proba, y=None, **more):
        seen.append((y, more))
        return step(self, proba, y, **more)

    monkeypatch.setattr(RegressAndReweight, "step", watched)
    backtest(*drifting(), holdout=SHARE, methods=["Arrows"])
    assert seen == [(None, {})] * 400


def test_rows_without_a_label_are_predicted_and_not_scored(drift):
    proba, y = drifting()
    some = np.where(np.arange(6000) % 3 == 0, y, -1)
    found = backtest(proba, some, holdout=(proba[:1000], y[:1000]), methods=[], rounds=25)
    assert found.played[NOTHING].n.sum() == 2000
    assert len(found.played[DEFAULT].prior) == 240
    scored = np.arange(0, 6000, 3)
    assert found.score(NOTHING).error == pytest.approx((proba[scored].argmax(axis=1) != y[scored]).mean())
    # The adapter saw all rows: after the first 1,000 it tracks as if all were labelled.
    full = backtest(proba, y, holdout=(proba[:1000], y[:1000]), methods=[], rounds=25)
    assert np.array_equal(found.played[DEFAULT].prior, full.played[DEFAULT].prior)


def test_rounds_may_start_anywhere():
    proba, y = drifting()
    starts = np.concatenate([np.arange(0, 1000, 10), np.arange(1000, 5001, 100)])
    found = backtest(proba, y, holdout=SHARE, rounds=starts, methods=[])
    assert found.log.n_rounds == 140
    assert found.played[DEFAULT].n.tolist() == np.diff(starts).tolist()


def test_the_same_seed_gives_the_same_limits():
    proba, y = drifting(3000)
    one, same, other = (
        backtest(proba, y, holdout=1 / 3, methods=[], seed=seed).score(DEFAULT).error_change for seed in (3, 3, 4)
    )
    assert one == same
    assert one != other
    assert one.value == other.value
    assert one.low == pytest.approx(other.low, abs=0.1 * (one.high - one.low))


def test_progress_is_told():
    told = []
    backtest(*drifting(), holdout=SHARE, methods=["Arrows"], watch=lambda *state: told.append(state))
    assert told[0] == (NOTHING, 0, 1000)
    assert told[-1] == (HINDSIGHT, 1000, 1000)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"holdout": 0.0}, "holdout"),
        ({"rounds": 1000}, "in 5 rounds; at least 20 are needed"),
        ({"methods": ["Nonsense"]}, "methods names 'Nonsense'; choose among FLH-FTL, "),
        ({"names": ["a"]}, "names has 1 entries; expected 3"),
        ({"level": 1.0}, "level"),
        ({"rounds": [0, 10]}, "rounds"),
        ({"idle": [1, 2]}, "idle is not a whole number of at least 0 for each of the 200 rounds"),
        ({"idle": np.full(200, -1)}, "idle is not a whole number of at least 0 for each of the 200 rounds"),
        ({"holdout": (np.full((2, 3), 1 / 3), [0, 1])}, "the holdout's y"),
    ],
)
def test_wrong_arguments(arguments, message):
    proba, y = drifting()
    with pytest.raises(ValueError, match=message):
        backtest(proba, y, **({"holdout": SHARE} | arguments))


def test_one_class_is_nothing_to_compare():
    proba, y = drifting()
    with pytest.raises(ValueError, match="no two classes after the holdout"):
        backtest(proba, np.where(np.arange(6000) < 1000, y, 1), holdout=SHARE)


def test_scores_of_two_classes_are_enough():
    rng = np.random.default_rng(0)
    share = np.where(np.arange(4000) < 1000, 0.5, 0.9)
    y = labels_of(np.column_stack([1 - share, share]), rng)
    proba = model_outputs(y, 2, rng)
    rows, scores = (backtest(given, y, methods=[]) for given in (proba, proba[:, 1]))
    assert scores.score(DEFAULT).error == pytest.approx(rows.score(DEFAULT).error, abs=1e-3)
    held, held_y = proba[:1000, 1], y[:1000]
    apart = backtest(proba[1000:, 1], y[1000:], holdout=(held, held_y), methods=[])
    assert apart.n_holdout == 1000
