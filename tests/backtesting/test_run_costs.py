"""A backtest by cost: a log of card payments with a wave of fraud, and one without."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, f1_score, precision_score, recall_score, roc_auc_score

from baserate.adapters import RegressAndReweight
from baserate.backtesting import backtest
from baserate.backtesting.methods import CALIBRATED, DEFAULT, NOTHING, TUNED
from baserate.backtesting.run import default_rows

from .fraud import N_HELD, fraud_log, scores, split

COSTS = [[0, 1], [20, 0]]


@pytest.fixture(scope="module")
def wave():
    proba, y = fraud_log()
    return proba, y, backtest(**split(proba, y), costs=(1, 20), methods=[])


def test_the_log_is_like_a_real_one(wave):
    proba, y, _ = wave
    assert roc_auc_score(y, proba[:, 1]) == pytest.approx(0.9, abs=0.01)
    parts = np.array_split(y[N_HELD:], 10)
    assert [np.mean(part) for part in (y[:N_HELD], parts[0], parts[4], parts[9])] == pytest.approx(
        [0.01, 0.01, 0.08, 0.02], abs=0.01
    )
    p = scores((np.random.default_rng(1).random(200_000) < 0.01).astype(int), np.random.default_rng(2))
    assert p.mean() == pytest.approx(0.01, abs=0.001)


def test_by_cost_a_wave_of_fraud_is_worth_it(wave):
    _, _, found = wave
    assert found.by == "cost"
    assert found.verdict == "use"
    nothing, default = found.score(NOTHING), found.score(DEFAULT)
    assert default.cost_change.high < 0
    assert default.cost < 0.75 * nothing.cost
    assert default.recall > nothing.recall + 0.2
    change = default.cost_change
    assert found.sentence == (
        f"Use it: cost per 1,000 rows {1000 * nothing.cost:.1f} -> {1000 * default.cost:.1f} "
        f"({1000 * change.value:+.1f}, 95 % interval {1000 * change.low:+.0f} to {1000 * change.high:+.0f})."
    )
    # By the error, the same decisions are worse: a missed fraud counts no more there than a false alarm.
    assert default.error_change.low > 0


@pytest.mark.parametrize("seed", range(5))
def test_without_drift_there_is_nothing_to_use(seed):
    found = backtest(**split(*fraud_log(seed=seed, drift=False)), costs=(1, 20), methods=[])
    assert found.verdict == "no difference"
    change = found.score(DEFAULT).cost_change
    assert change.low < 0 < change.high
    assert found.sentence.startswith("No clear difference: cost per 1,000 rows ")


def test_every_measure_by_hand(wave):
    proba, y, found = wave
    adapter = RegressAndReweight().fit(proba[:N_HELD], y[:N_HELD])
    rows = default_rows(40_000)
    adapted = np.concatenate([adapter.step(proba[i : i + rows]).proba for i in range(N_HELD, len(y), rows)])
    truth = y[N_HELD:]
    for name, p in ((NOTHING, proba[N_HELD:, 1]), (DEFAULT, adapted[:, 1])):
        # A false alarm costs 1, a missed fraud 20: it is called where 20 p > 1 - p.
        called = (p > 1 / 21).astype(int)
        cost = ((called == 1) & (truth == 0)) + 20 * ((called == 0) & (truth == 1))
        one = found.score(name)
        assert one.cost == pytest.approx(cost.mean())
        assert one.error == pytest.approx((called != truth).mean())
        assert one.precision == pytest.approx(precision_score(truth, called))
        assert one.recall == pytest.approx(recall_score(truth, called))
        assert one.f1 == pytest.approx(f1_score(truth, called))
        assert one.brier == pytest.approx(brier_score_loss(truth, p))
        assert one.expected_cost == pytest.approx(np.minimum(20 * p, 1 - p).mean())
        assert one.decided == ((called == 0).sum(), called.sum())
        by_round = np.add.reduceat(cost, np.arange(0, 40_000, rows))
        np.testing.assert_allclose(found.played[name].cost, by_round)
    default = found.score(DEFAULT)
    assert default.cost_change.value == pytest.approx(default.cost - found.score(NOTHING).cost)
    # The model does not see the wave; adapted probabilities foresee what it costs.
    assert found.score(NOTHING).expected_cost < 0.6 * found.score(NOTHING).cost
    assert default.expected_cost == pytest.approx(default.cost, rel=0.15)


def test_the_threshold_tuned_on_the_holdout_is_an_anchor(wave):
    proba, y, found = wave
    held, truth = proba[:N_HELD, 1], y[N_HELD:]

    def cost(p, labels, threshold):
        return np.mean(np.where(labels == 1, 20 * (p < threshold), p >= threshold))

    best = min(cost(held, y[:N_HELD], threshold) for threshold in np.linspace(0.01, 0.2, 400))
    assert cost(held, y[:N_HELD], found.tuned.threshold) <= best
    tuned = found.score(TUNED)
    assert tuned.cost == pytest.approx(cost(proba[N_HELD:, 1], truth, found.tuned.threshold))
    assert tuned.log_loss == found.score(NOTHING).log_loss
    assert found.beyond_tuned.value == pytest.approx(found.score(DEFAULT).cost - tuned.cost)
    assert found.beyond_tuned.high < 0
    assert [one.method for one in found.scores][:3] == [NOTHING, DEFAULT, TUNED]
    assert found.beyond_calibration.value == pytest.approx(found.score(DEFAULT).cost - found.score(CALIBRATED).cost)


def test_a_table_of_costs_is_the_pair(wave):
    proba, y, found = wave
    same = backtest(**split(proba, y), costs=COSTS, methods=[])
    assert same.scores == found.scores
    turned = backtest(**split(proba, y), costs=np.transpose(COSTS), methods=[])
    assert turned.score(NOTHING).recall < 0.1  # a transposed table is another one


def test_the_threshold_of_the_costs_decides_alike(wave):
    proba, y, found = wave
    same = backtest(**split(proba, y), threshold=1 / 21, methods=[])
    assert (same.by, same.verdict, same.sentence) == ("cost", "use", found.sentence)
    np.testing.assert_allclose(same.rule.costs, COSTS)
    assert same.tuned == found.tuned
    for one, other in zip(same.scores, found.scores, strict=True):
        assert one.decided == other.decided
        assert one.cost == pytest.approx(other.cost)
        assert one.expected_cost == pytest.approx(other.expected_cost)
    assert same.beyond_tuned.high == pytest.approx(found.beyond_tuned.high)
    by_error = backtest(**split(proba, y), threshold=1 / 21, methods=[], by="error")
    assert by_error.sentence.startswith("Do not use it: error ")
    assert by_error.scores == same.scores


def test_at_one_half_the_cost_is_the_error(wave):
    proba, y, _ = wave
    found = backtest(**split(proba, y), threshold=0.5, methods=[])
    for one in found.scores:
        assert one.cost == one.error


@pytest.mark.parametrize("by", ["error", "log-loss", "brier"])
def test_the_verdict_may_be_by_another_measure(wave, by):
    proba, y, _ = wave
    found = backtest(**split(proba, y), costs=(1, 20), methods=[], by=by)
    assert found.verdict == {"error": "do not use", "log-loss": "use", "brier": "use"}[by]
    assert {"error": "error ", "log-loss": "log loss ", "brier": "Brier score "}[by] in found.sentence


def test_asking_is_a_decision_and_no_mistake(wave):
    proba, y, plain = wave
    costs = [[0, 1, 0.3], [20, 0, 0.5]]
    found = backtest(**split(proba, y), costs=costs, decisions=["ask"], methods=[])
    nothing = found.score(NOTHING)
    p, truth = proba[N_HELD:], y[N_HELD:]
    chosen = np.argmin(np.column_stack([20 * p[:, 1], p[:, 0], 0.3 * p[:, 0] + 0.5 * p[:, 1]]), axis=1)
    assert nothing.decided == tuple(np.bincount(chosen, minlength=3))
    assert nothing.cost == pytest.approx(np.array(costs)[truth, chosen].mean())
    assert nothing.error == pytest.approx(((chosen != truth) & (chosen != 2)).mean())
    assert nothing.recall == pytest.approx(((chosen == 1) & (truth == 1)).sum() / (truth == 1).sum())
    assert found.score(DEFAULT).cost < plain.score(DEFAULT).cost
    assert found.tuned is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"costs": (1, 20), "threshold": 0.1}, "two ways to decide"),
        ({"costs": (1, -20)}, "above 0"),
        ({"threshold": 2}, "threshold"),
        ({"by": "cost"}, "there are no costs"),
        ({"by": "accuracy"}, "by is 'accuracy'"),
    ],
)
def test_wrong_arguments(arguments, message, wave):
    with pytest.raises(ValueError, match=message):
        backtest(**split(*wave[:2]), **arguments)
