import numpy as np
import pyarrow as pa
import pytest

from baserate import Bank
from baserate.integrations.spark.bucket import read_blob
from baserate.integrations.spark.processing import process
from baserate.trackers import FollowTheHistory, LikelihoodMixture

from .streams import (
    COLUMNS,
    MINUTE,
    NAMES,
    PROBA,
    START,
    adapter,
    by_id,
    go,
    holdout,
    odd_table,
    one_at_a_time,
    plan,
    run,
    same,
    table,
    those,
    with_late_labels,
)

ROUNDS = {"count": 7, "window": 5 * MINUTE}


def _plan(rounds, **more):
    return plan(7 if rounds == "count" else "5min", **more)


def _expected(rows, rounds, options=(), **more):
    return one_at_a_time(rows, adapter(**dict(options)), **{rounds: ROUNDS[rounds]}, **more)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_one_bucket_is_a_bank(rounds):
    rows = table(700, seed=3)
    same(run(rows, _plan(rounds))[0], _expected(rows, rounds))


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("seed", range(4))
def test_buckets_and_micro_batches_change_nothing(rounds, seed):
    rng = np.random.default_rng(seed)
    rows = table(600, seed=seed + 10)
    cuts = np.sort(rng.choice(600, size=rng.integers(1, 40), replace=True)).tolist()
    answered, _ = run(rows, _plan(rounds), n_buckets=int(rng.integers(1, 6)), cuts=cuts)
    same(answered, _expected(rows, rounds))


def test_keys_have_the_alarms_and_the_gate_that_they_have_in_a_bank():
    rows = odd_table()
    answered, blobs = run(rows, plan(20), n_buckets=2, cuts=range(40, 3600, 40))
    same(answered, one_at_a_time(rows, adapter(), count=20))
    last = {row["shop"]: row for row in answered.sort_by("id").to_pylist()}
    assert [last[f"shop {i}"]["adapted_alarm"] for i in range(2)] == [False, True]
    assert [last[f"shop {i}"]["adapted_fallback"] for i in range(3)] == [False, True, True]
    for state in map(read_blob, blobs.values()):
        for place, key in enumerate(state["keys"]):
            assert (state["evidence"][place] > 20.0) == state["alarm"][place] == last[key]["adapted_alarm"]
            assert (state["correction_weight"][place] < 1.0) == state["fallback"][place] == (key != "shop 0")


def test_another_holdout_begins_the_signs_anew_and_the_same_one_does_not():
    rows = odd_table()
    blob = process(None, rows, plan(20)._replace(model="one"), COLUMNS).blob
    nothing = rows.slice(0, 0)
    again = read_blob(process(blob, nothing, plan(20)._replace(model="one"), COLUMNS).blob)
    other = read_blob(process(blob, nothing, plan(20, seed=2)._replace(model="two"), COLUMNS).blob)
    assert again["alarm"].any()
    assert (again["signs"]["rows"][:, 0] == 1200).all()
    assert not other["alarm"].any()
    assert not other["signs"]["rows"].any()


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("expire", [None, 25 * MINUTE])
def test_late_labels_are_learned_as_a_bank_learns_them(rounds, expire):
    rows = with_late_labels(table(500, seed=33, seconds=30.0))
    expected = _expected(rows, rounds, {"max_waiting": 20}, waits=True, expire=expire)
    without = _expected(rows, rounds)
    assert any(answer is not None and (answer[0] != without[name][0]).any() for name, answer in expected.items())
    the_plan = _plan(rounds, max_waiting=20, expire=expire or 0)._replace(waits=True)
    once, blobs = run(rows, the_plan)
    same(once, expected)
    rng = np.random.default_rng(1)
    missed = read_blob(blobs[0])["missed"]
    for n_buckets in (1, 3):
        cuts = np.sort(rng.choice(len(rows), 25)).tolist()
        answered, blobs = run(rows, the_plan, n_buckets, cuts)
        same(answered, expected)
        assert sum(read_blob(blob)["missed"] for blob in blobs.values()) == missed
    assert missed > 0


@pytest.mark.parametrize("rounds", ROUNDS)
def test_late_labels_wait_for_the_watermark_too(rounds):
    rows = with_late_labels(table(300, seed=34))
    times = _times(rows)
    the_plan = _plan(rounds, max_waiting=50)._replace(waits=True)
    batches = [(rows.slice(i, 50), times[i - 20] if i else 0) for i in range(0, len(rows), 50)]
    answered, _ = go([*batches, (rows.slice(0, 0), 2**52)], the_plan)
    same(answered, _expected(rows, rounds, {"max_waiting": 50}, waits=True))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_float32_rows_give_what_the_same_numbers_give(rounds):
    rows = table(300, seed=5, dtype=np.float32)
    answered, blobs = run(rows, _plan(rounds), cuts=[100, 150])
    same(answered, _expected(rows, rounds))
    assert read_blob(blobs[0])["pending_proba"].dtype == np.float32


def test_a_micro_batch_is_put_in_order_by_time_and_id():
    rows = table(300, seed=6)
    shuffled = rows.take(np.random.default_rng(0).permutation(300))
    same(run(shuffled, _plan("count"))[0], _expected(rows, "count"))


def test_equal_times_are_ordered_by_id():
    rows = table(100, seed=7, n_keys=2)
    rows = rows.set_column(2, "at", pa.array(np.full(100, START), pa.timestamp("us", "UTC")))
    same(run(rows.take(np.arange(99, -1, -1)), _plan("count"))[0], _expected(rows, "count"))


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("n_buckets", [1, 4])
def test_with_a_watermark_rows_may_come_in_disorder(rounds, n_buckets):
    rows, rng = table(500, seed=8), np.random.default_rng(1)
    disordered = rows.take(np.argsort(np.arange(500) + rng.uniform(0, 60, 500)))
    times = disordered.column("at").cast(pa.int64()).to_numpy()
    ordered = rows.column("at").cast(pa.int64()).to_numpy()
    cuts = [50, 120, 130, 300, 420]
    # Of all rows before a batch, the latest one whose elders have all come: nothing is late.
    marks = []
    for cut in [0, *cuts]:
        missing = np.setdiff1d(ordered, times[:cut])
        marks.append(int(missing.min()) - 1 if len(missing) else int(ordered.max()))
    answered, blobs = run(disordered, _plan(rounds), n_buckets, cuts, watermarks=marks)
    end = [
        process(blob, rows.slice(0, 0), _plan(rounds)._replace(buckets=n_buckets), COLUMNS, 2**52)
        for blob in blobs.values()
    ]
    answered = pa.concat_tables([answered, *(done.answered for done in end)])
    same(answered, _expected(rows, rounds))
    states = [read_blob(done.blob) for done in end]
    assert sum(state["rows"] for state in states) == 500
    assert sum(state["late"] for state in states) == 0


def test_rows_wait_for_the_watermark_with_all_their_columns():
    rows = table(100, seed=9)
    nothing, times = rows.slice(0, 0), _times(rows)
    answered, done = go([(rows, 0), (nothing, times[39])], _plan("count"))
    assert len(answered) == 40
    assert done.wake_at == times[40]
    rest = process(done.blob, nothing, _plan("count"), COLUMNS, int(times[-1]))
    assert rest.answered.select(rows.column_names) == rows.slice(40)
    assert rest.wake_at is None


@pytest.mark.parametrize("rounds", ROUNDS)
def test_rows_behind_the_watermark_are_answered_counted_and_not_taken_in(rounds):
    rows = table(300, seed=12)
    times, nothing = _times(rows), rows.slice(0, 0)
    late, on_time = rows.slice(20, 5), pa.concat_tables([rows.slice(0, 20), rows.slice(25)])
    after = pa.concat_tables([late, on_time.slice(195)])
    batches = [(on_time.slice(0, 195), 0), (nothing, times[199]), (after, times[199]), (nothing, 2**52)]
    answered, done = go(batches, _plan(rounds))
    expected = _expected(on_time, rounds)
    same(those(answered, expected), expected)
    state = read_blob(done.blob)
    assert (state["rows"], state["late"]) == (300, 5)
    # A late row has the prior and the number of its key's round at that time, as the key's next row has.
    got, last = by_id(answered), by_id(go(batches[:2], _plan(rounds))[0])
    for row in late.to_pylist():
        of_key = [other["adapted_round"] for other in last.values() if other["shop"] == row["shop"]]
        assert got[row["id"]]["adapted_round"] in (max(of_key, default=1), max(of_key, default=0) + 1)


def _times(rows):
    return rows.column("at").cast(pa.int64()).to_numpy()


def test_without_a_watermark_rows_of_a_window_that_is_over_are_answered_and_not_taken_in():
    rows = table(200, seed=13, n_keys=1)
    late = rows.slice(3, 1)
    on_time = pa.concat_tables([rows.slice(0, 3), rows.slice(4)])
    answered, blobs = run(pa.concat_tables([on_time, late]), _plan("window"), cuts=[199])
    assert read_blob(blobs[0])["late"] == 1
    got = by_id(answered)
    expected = _expected(on_time, "window")
    same(those(answered, expected), expected)
    assert got[late.column("id")[0].as_py()]["adapted_round"] == got["r000199"]["adapted_round"]


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("n_buckets", [1, 3])
def test_keys_expire_by_event_time(rounds, n_buckets):
    rows = table(500, seed=14, seconds=30.0)
    expire = 25 * MINUTE
    expected = _expected(rows, rounds, expire=expire)
    assert any(a[1] != b[1] for a, b in zip(expected.values(), _expected(rows, rounds).values(), strict=True))
    answered, _ = run(rows, _plan(rounds, expire=expire), n_buckets, cuts=[40, 41, 200])
    same(answered, expected)


def test_the_watermark_frees_keys_that_expired_and_counts_them():
    rows = table(300, seed=15)
    the_plan = _plan("count", expire=60 * MINUTE)
    times = rows.column("at").cast(pa.int64()).to_numpy()
    first = go([(rows, 0), (rows.slice(0, 0), times[-1])], the_plan)[1]
    assert first.wake_at == min(
        int(times[[k == key for k in rows.column("shop").to_pylist()]].max()) + 60 * MINUTE
        for key in read_blob(first.blob)["keys"]
    )
    second = process(first.blob, rows.slice(0, 0), the_plan, COLUMNS, int(times[-1]) + 60 * MINUTE)
    state = read_blob(second.blob)
    assert state["keys"] == []
    assert len(state["pending_places"]) == len(state["held"]) == 0
    assert state["expired"] == len(read_blob(first.blob)["keys"]) + read_blob(first.blob)["expired"]


def test_a_redeployed_model_goes_on_with_the_class_mix_of_each_key():
    rows = table(140, seed=16, n_keys=1)
    first = process(None, rows.slice(0, 70), _plan("count"), COLUMNS)
    second = process(first.blob, rows.slice(70), plan(7, seed=2), COLUMNS)
    bank, key = Bank(adapter()), ["shop 0"] * 7

    def part(i):
        some = rows.slice(7 * i, 7)
        return np.column_stack([some.column(name).to_numpy() for name in PROBA]), some.column("truth").to_pylist()

    for i in range(10):
        bank.update(key, *part(i))
    bank.adapter.refit(*holdout(2), names=NAMES)
    for i in range(10, 20):
        step = bank.step(key, *part(i))
        got = second.answered.slice(7 * (i - 10), 7)
        assert np.array_equal(np.column_stack([got.column(f"adapted_{name}").to_numpy() for name in PROBA]), step.proba)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (plan(8), "rounds"),
        (plan(7, buckets=2), "buckets"),
        (plan(7)._replace(names=["cat", "dog", "fox"]), "names"),
    ],
)
def test_a_checkpoint_of_another_plan_is_refused(other, what):
    blob = process(None, table(50, seed=1), plan(7), COLUMNS).blob
    with pytest.raises(ValueError, match=f"begun with {what} = "):
        process(blob, table(50, seed=1), other, COLUMNS)


def test_trackers_of_other_options_are_refused():
    blob = process(None, table(50, seed=1), plan(7), COLUMNS).blob
    with pytest.raises(ValueError, match="Give the options "):
        process(blob, table(50, seed=1), plan(7, tracker=LikelihoodMixture(3, light=True)), COLUMNS)
    with pytest.raises(ValueError, match="begun with tracker = 'LikelihoodMixture'"):
        process(blob, table(50, seed=1), plan(7, tracker=FollowTheHistory(3)), COLUMNS)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("shop", pa.nulls(50, pa.string()), "without a key"),
        ("at", pa.nulls(50, pa.timestamp("us", "UTC")), "without a time"),
        ("p_dog", pa.nulls(50, pa.float64()), "without a probability"),
        ("p_dog", pa.array(np.full(50, 2.0)), "sums to|sum to|above|between"),
        ("truth", pa.array(["horse"] * 50), "horse"),
    ],
)
def test_bad_rows_are_refused(column, values, message):
    rows = table(50, seed=1)
    rows = rows.set_column(rows.column_names.index(column), column, values)
    with pytest.raises(ValueError, match=message):
        process(None, rows, plan(7), COLUMNS)


def test_equal_states_have_equal_bytes():
    rows = table(200, seed=2)
    assert run(rows, plan(7), cuts=[100])[1] == run(rows, plan(7), cuts=[100])[1]
