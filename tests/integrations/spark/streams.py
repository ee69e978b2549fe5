"""Keyed streams for tests, and what a plain `Bank`, one key and one round at a time, says of them."""

import datetime
import itertools

import numpy as np
import pyarrow as pa

from baserate import Bank, RegressAndReweight
from baserate.integrations.spark.bucket import make_plan
from baserate.integrations.spark.processing import Columns, process
from baserate.integrations.spark.rounds import read_rounds

NAMES = ["cat", "dog", "eel"]
PROBA = [f"p_{name}" for name in NAMES]
COLUMNS = Columns("shop", PROBA, "truth", "id", "at")
MINUTE = 60_000_000
START = 1_767_225_600_000_000  # 2026-01-01


def probabilities(n, seed, k=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    logits = rng.normal(0.0, 1.0, (n, k)) + 2.0 * np.eye(k)[y]
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True), y


def holdout(seed=1):
    proba, y = probabilities(400, seed)
    return proba, [NAMES[c] for c in y]


def adapter(seed=1, **options):
    return RegressAndReweight(**options).fit(*holdout(seed), names=NAMES)


def plan(rounds=7, buckets=1, expire=0, **options):
    return make_plan(adapter(**options), read_rounds(rounds), expire=expire, buckets=buckets, names=NAMES)


def table(n, seed, n_keys=11, dtype=np.float64, seconds=7.0):
    """Rows in the order of (time, id), all times different from key to key or not, with a label now and then."""
    rng = np.random.default_rng(seed)
    proba, y = probabilities(n, seed + 100)
    times = START + np.cumsum(rng.integers(0, int(2e6 * seconds), n))
    return pa.table(
        {
            "id": [f"r{i:06d}" for i in range(n)],
            "shop": [f"shop {i}" for i in rng.zipf(1.4, n) % n_keys],
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            **{name: pa.array(proba[:, c].astype(dtype)) for c, name in enumerate(PROBA)},
            "truth": [NAMES[c] if i % 5 == 0 else None for i, c in enumerate(y)],
            "note": [None if i % 3 else i for i in range(n)],
        }
    )


def odd_table(n=3600, seed=31):
    """Rows of three keys: one as the holdout, one whose model has become under-confident, one that repeats rows."""
    proba, _ = probabilities(n, seed)
    which = np.arange(n) % 3
    flat = proba**0.3 / (proba**0.3).sum(axis=1, keepdims=True)
    proba = np.where((which == 1)[:, None], flat, proba)
    repeats = np.flatnonzero(which == 2)
    proba[repeats] = proba[repeats[np.arange(len(repeats)) // 5 * 5]]
    return pa.table(
        {
            "id": [f"r{i:06d}" for i in range(n)],
            "shop": [f"shop {i}" for i in which],
            "at": pa.array(START + 1_000_000 * np.arange(n), pa.timestamp("us", "UTC")),
            **{name: pa.array(proba[:, c]) for c, name in enumerate(PROBA)},
            "truth": pa.nulls(n, pa.string()),
            "note": pa.nulls(n, pa.int64()),
        }
    )


def with_late_labels(rows, seed=0):
    """Add, for every third row without a label, its label in a row of its own, up to an hour later; some come twice."""
    rng, frame = np.random.default_rng(seed), rows.to_pylist()
    proba = np.array([[row[name] for name in PROBA] for row in frame])
    out = [{**row, "note": ""} for row in frame]
    for i, row in enumerate(frame):
        if row["truth"] is None and i % 3 == 0:
            for copy in range(1 + (i % 2 == 0)):
                at = row["at"] + datetime.timedelta(microseconds=int(rng.integers(1, 3_600_000_000)))
                label = NAMES[int(rng.choice(3, p=proba[i]))]
                out.append({**row, **dict.fromkeys(PROBA), "at": at, "truth": label, "note": f"label {copy}"})
    schema = rows.schema.set(rows.schema.get_field_index("note"), pa.field("note", pa.string()))
    table = pa.Table.from_pylist(out, schema=schema)
    return table.sort_by([("at", "ascending"), ("id", "ascending")])


def by_id(answered):
    """The answers of each row by its id."""
    rows = answered.to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


def bucket_of(key, n):
    return sum(map(ord, key)) % n


def run(rows, the_plan, n_buckets=1, cuts=(), columns=COLUMNS, watermarks=None):
    """Answer rows in buckets and micro-batches; returns all answers, and the blobs."""
    blobs, out = {}, []
    edges = [0, *cuts, len(rows)]
    made = the_plan._replace(buckets=n_buckets)
    for batch, (begin, end) in enumerate(itertools.pairwise(edges)):
        part = rows.slice(begin, end - begin)
        numbers = np.array([bucket_of(key, n_buckets) for key in part.column("shop").to_pylist()], dtype=int)
        for b in range(n_buckets):
            watermark = None if watermarks is None else watermarks[batch]
            done = process(blobs.get(b), part.filter(pa.array(numbers == b)), made, columns, watermark)
            blobs[b] = done.blob
            out.append(done.answered)
    return pa.concat_tables(out), blobs


def one_at_a_time(rows, fitted, count=None, window=None, expire=None, *, waits=False):
    """The same with a `Bank` and nothing else, one row and one key at a time: by id, the answer and the round."""
    bank, out, keys = Bank(fitted), {}, {}
    for row in rows.to_pylist():
        time = _micros(row["at"])
        key, proba = row["shop"], [row[name] for name in PROBA]
        label = -1 if row["truth"] is None else NAMES.index(row["truth"])
        state = keys.get(key)
        if proba[0] is None:
            out[row["id"] + row["note"]] = None
            if state is not None:
                state["told"].append((0 if window is None else time // window, row["id"], label))
            continue
        if state is not None and expire and time - state["last"] >= expire:
            if key in bank:
                bank.drop([key])
            state = None
        if state is None:
            state = keys[key] = {"round": 1, "proba": [], "labels": [], "ids": [], "told": [], "window": None}
        if window is not None:
            now = time // window
            if state["window"] is not None and now > state["window"]:
                _close(bank, key, state, waits=waits)
                gap = now - state["window"] - 1
                if gap:
                    bank.idle([key], [gap])
                    state["round"] += gap
            state["window"] = now
        signs = bank.signs([key])
        warned = bool(signs.alarm[0]), bool(signs.fallback[0])
        out[row["id"]] = (bank.predict_proba([key], [proba])[0], state["round"], warned)
        state["last"] = time
        state["proba"].append(proba)
        state["labels"].append(label)
        state["ids"].append(row["id"])
        if count is not None and len(state["proba"]) == count:
            _close(bank, key, state, waits=waits)
    return out


def _micros(moment):
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1)


def _close(bank, key, state, *, waits=False):
    told = [one for one in state["told"] if state["window"] is None or one[0] <= state["window"]]
    state["told"] = [one for one in state["told"] if one not in told]
    late = []
    for _, name, label in told:
        if name not in state["ids"]:
            late.append((name, NAMES[label]))
        elif state["labels"][state["ids"].index(name)] < 0:
            state["labels"][state["ids"].index(name)] = label
    if late:
        bank.update_labels([key] * len(late), *zip(*late, strict=True))
    labels = None if max(state["labels"]) < 0 else [None if c < 0 else NAMES[c] for c in state["labels"]]
    ids = {"ids": state["ids"]} if waits else {}
    bank.update([key] * len(state["proba"]), state["proba"], labels, **ids)
    state.update(round=state["round"] + 1, proba=[], labels=[], ids=[])


def same(answered, expected):
    """Check that answers are those expected, bit for bit, and all of them."""
    told = answered.filter(answered.column(PROBA[0]).is_null())
    rows = by_id(answered.filter(answered.column(PROBA[0]).is_valid()))
    rows |= {row["id"] + row["note"]: row for row in told.to_pylist()}
    assert rows.keys() == expected.keys()
    for name, answer in expected.items():
        row = rows[name]
        if answer is None:
            assert {value for column, value in row.items() if column.startswith("adapted_")} == {None}
            continue
        proba, number, warned = answer
        assert [row[f"adapted_{column}"] for column in PROBA] == proba.tolist(), name
        assert row["adapted_round"] == number, name
        assert (row["adapted_alarm"], row["adapted_fallback"]) == warned, name
        assert row["adapted_label"] == NAMES[int(np.argmax(proba))]


def go(batches, the_plan):
    """Process tables, each with its watermark, in one bucket; returns answers, and the last outcome."""
    blob, out = None, []
    for part, watermark in batches:
        done = process(blob, part, the_plan, COLUMNS, int(watermark))
        blob, out = done.blob, [*out, done.answered]
    return pa.concat_tables(out), done


def those(answered, wanted):
    """The rows with some ids."""
    return answered.filter(pa.array([name in wanted for name in answered.column("id").to_pylist()]))
