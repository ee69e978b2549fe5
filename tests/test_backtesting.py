import numpy as np
import pytest

from baserate.adapters import Base, Oracle, RegressAndReweight
from baserate.backtesting import backtest
from baserate.backtesting.blocks import Blocks, Change, draw_blocks, with_few_mistakes
from baserate.backtesting.hindsight import around_rounds, hindsight
from baserate.backtesting.methods import CALIBRATED, DEFAULT, HINDSIGHT, LONG, NOTHING, chosen, every_tracker
from baserate.backtesting.replay import SMALLEST, Log, replay
from baserate.backtesting.run import default_rows
from baserate.evaluation import evaluate
from baserate.shifts import replay_stream


def labels_of(mix, rng):
    """A label for each row of a path of class mixes."""
    return (rng.random((len(mix), 1)) > np.cumsum(mix, axis=1)).sum(axis=1)


def model_outputs(y, k, rng, distance=1.5):
    """Probabilities of a model that is right on a balanced mix."""
    x = rng.normal(size=(len(y), k))
    x[np.arange(len(y)), y] += distance
    proba = np.exp(distance * x)
    return proba / proba.sum(axis=1, keepdims=True)


def drifting(n=6000, seed=0, last=0.9):
    """Three classes; after a balanced holdout of 1,000 rows the last one grows."""
    rng = np.random.default_rng(seed)
    share = np.where(np.arange(n) < 1000, 1 / 3, np.linspace(1 / 3, last, n))
    y = labels_of(np.column_stack([(1 - share) / 2, (1 - share) / 2, share]), rng)
    return model_outputs(y, 3, rng), y


SHARE = 1000 / 6000


@pytest.fixture(scope="module")
def drift():
    return backtest(*drifting(), holdout=SHARE)


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


def test_every_tracker_is_there_without_its_gate(drift):
    assert [score.method for score in drift.scores] == [NOTHING, DEFAULT, CALIBRATED, *every_tracker(3), HINDSIGHT]
    assert not drift.left_out
    proba, y = drifting()
    for name, tracker in every_tracker(3).items():
        adapter = RegressAndReweight(tracker, gate=False).fit(proba[:1000], y[:1000])
        for start in range(1000, 2000, 25):
            assert adapter.step(proba[start : start + 25]).prior == pytest.approx(
                drift.played[name].prior[(start - 1000) // 25]
            )


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


def test_no_drift_is_no_difference():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 6000)
    found = backtest(model_outputs(y, 3, rng), y, holdout=SHARE, methods=[])
    assert found.verdict == "no difference"
    assert found.sentence.startswith("No difference that could not be chance: error ")
    assert found.sentence.endswith("knowing the class mix would not have helped either; leave the model alone.")


def test_another_concept_is_not_to_be_used():
    """The model's outputs say that the last class grows, and what looks like it is the first."""
    proba, y = drifting()
    changed = np.where(np.arange(6000) < 1000, y, np.array([2, 1, 0])[y])
    found = backtest(proba, changed, holdout=SHARE, methods=[])
    assert found.verdict == "do not use"
    assert found.sentence.startswith("Do not use it: error ")
    assert found.score(DEFAULT).error_change.low > 0


def test_an_alarm_is_said_with_what_looks_wrong():
    """From the middle on, the outputs are blurred: no class mix explains that."""
    proba, y = drifting()
    blurred = np.where(np.arange(6000)[:, None] < 2500, proba, 0.5 * proba + 0.5 / 3)
    found = backtest(blurred, y, holdout=SHARE, methods=[], names=["cat", "dog", "eel"])
    assert found.trust.since is not None
    assert found.trust.since >= (2500 - 1000) // 25
    assert found.trust.alarm[: found.trust.since + 1].sum() == 0
    assert found.trust.alarm[found.trust.since + 1]
    assert f"from round {found.trust.since + 1} on the stream does not look like label shift (" in found.sentence
    assert "class 0" not in found.sentence
    assert found.sentence.count(".") >= 1
    assert found.sentence.endswith(".")


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


def test_a_probability_of_zero_does_not_outweigh_all():
    log = Log(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 0]), np.array([0, 2]))
    adapter, _ = chosen(np.full((1, 2), 0.5), [])
    played, _ = replay(adapter[NOTHING].fit([[0.9, 0.1], [0.1, 0.9]], [0, 1]), log)
    assert played.log_loss[0] == pytest.approx(-np.log(SMALLEST) - np.log(0.5))


def test_the_same_seed_gives_the_same_limits():
    proba, y = drifting(3000)
    one, same, other = (
        backtest(proba, y, holdout=1 / 3, methods=[], seed=seed).score(DEFAULT).error_change for seed in (3, 3, 4)
    )
    assert one == same
    assert one != other
    assert one.value == other.value
    assert one.low == pytest.approx(other.low, abs=0.1 * (one.high - one.low))


def test_hindsight_leaves_a_round_itself_out():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(10, [0.2, 0.8], size=50)
    source = np.array([0.5, 0.5])
    before = hindsight(counts, source)
    assert before.width >= 16  # nothing drifts: all rounds tell
    changed = counts.copy()
    changed[20] += [1, -1]
    after = hindsight(changed, source)
    assert after.width == before.width
    assert np.array_equal(before.path[20], after.path[20])
    assert not np.allclose(before.path[21], after.path[21])


def test_hindsight_looks_as_far_as_the_mix_stands_still():
    jumps = np.repeat([[90, 10], [10, 90], [90, 10], [10, 90]], 5, axis=0)
    found = hindsight(jumps, np.array([0.5, 0.5]))
    assert found.width == 1
    assert found.path[2] == pytest.approx([(180 + 0.5) / 201, (20 + 0.5) / 201])
    assert around_rounds(jumps, 100).tolist() == [[1000, 1000]] * 20


@pytest.mark.parametrize(("n_rounds", "persistence", "least"), [(20, 0.0, 0.88), (200, 0.0, 0.86), (200, 0.6, 0.84)])
def test_limits_hold_the_truth_about_as_often_as_they_say(n_rounds, persistence, least):
    """Rounds that are alike (their correlation falls off within a block) and of different sizes."""
    rng = np.random.default_rng(7)
    truth, held = -0.05, []
    for _ in range(500):
        noise = rng.normal(size=n_rounds + 50)
        for t in range(1, len(noise)):
            noise[t] += persistence * noise[t - 1]
        n = rng.integers(5, 30, n_rounds)
        change = draw_blocks(n_rounds, 0.9, rng, 300).change(n * (truth + noise[50:]), n)
        held.append(change.low <= truth <= change.high)
    assert least < np.mean(held) < 0.96


def test_blocks_are_whole_and_in_a_circle():
    blocks = Blocks(2, np.array([[0, 2], [3, 3]]), 0.9)
    values = np.array([1.0, 2.0, 4.0, 8.0])
    found = blocks.change(values, np.ones(4, dtype=np.int64))
    assert found.value == 15 / 4
    # The resamples are 1 + 2 + 4 + 8 and, twice, 8 + 1: means 15 / 4 and 18 / 4.
    assert found.low == pytest.approx(15 / 4, abs=0.3)
    assert found.high > 18 / 4


def test_few_mistakes_are_no_proof():
    narrow = Change(-0.004, -0.008, -0.001)
    assert with_few_mistakes(narrow, 4, 0, 1000, 0.95).high > 0
    assert with_few_mistakes(narrow, 6, 0, 1000, 0.95).high < 0  # half to the power of six is less than 2.5 %
    assert with_few_mistakes(Change(0.004, 0.001, 0.008), 0, 4, 1000, 0.95).low < 0
    assert with_few_mistakes(narrow, 0, 0, 1000, 0.95) == narrow
    wide = Change(-0.04, -0.5, 0.5)
    assert with_few_mistakes(wide, 50, 10, 1000, 0.95) == wide


def test_slow_trackers_are_left_out_of_long_logs_unless_asked_for():
    path = np.full((150_000, 2), 0.5)
    found, left_out = chosen(path, None)
    assert set(left_out) == {"FLH-FTL", "FLH-FTL (window)", "LowSwitching"}
    assert "150,000" in left_out["FLH-FTL"]
    assert "Arrows" in found
    assert set(chosen(path, ["FLH-FTL"])[0]) == {NOTHING, DEFAULT, CALIBRATED, "FLH-FTL", HINDSIGHT}
    found, left_out = chosen(np.full((LONG + 1, 2), 0.5), None)
    assert set(found) == {NOTHING, DEFAULT, CALIBRATED, HINDSIGHT}
    assert set(left_out) == set(every_tracker(2))


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
