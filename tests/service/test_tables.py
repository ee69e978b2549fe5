"""Batches and holdouts as tables."""

import io
import json

import numpy as np
import polars as pl
import pytest

from baserate import RegressAndReweight
from baserate.service.tables import ARROW, ARROW_FILE, CSV, PARQUET
from tests.service.served import CLASSES, HELD, HELD_Y, adapt, in_loop, made, named, outputs, serving, state_of

BATCH, Y = outputs(50, 3)


def frame(proba=BATCH, prefix="", **more):
    return pl.DataFrame({f"{prefix}{name}": proba[:, c] for c, name in enumerate(CLASSES)} | more)


def written(table, kind=ARROW):
    sink = io.BytesIO()
    write = {
        ARROW: table.write_ipc_stream, ARROW_FILE: table.write_ipc, PARQUET: table.write_parquet, CSV: table.write_csv,
    }  # fmt: skip
    write[kind](sink)
    return sink.getvalue()


def sent(client, data, kind=ARROW, path="/v1/streams/mail/adapt", method="POST", **query):
    return client.request(method, path, content=data, headers={"content-type": kind}, params=query)


@pytest.mark.parametrize("kind", [ARROW, ARROW_FILE])
@pytest.mark.parametrize("prefix", ["", "p_"])
@in_loop
async def test_arrow_is_answered_as_json_is(tmp_path, kind, prefix):
    async with serving(tmp_path / "a") as client, serving(tmp_path / "b") as other:
        await made(client)
        await made(other)
        told = [CLASSES[c] if i % 3 else None for i, c in enumerate(Y)]
        table = frame(prefix=prefix, id=pl.Series(range(50)), label=pl.Series(told))
        answer = await sent(client, written(table.select(reversed(table.columns)), kind), kind, batch_id="x")
        assert answer.headers["content-type"] == ARROW
        plain = (await adapt(other, BATCH, ids=list(range(50)), labels=told)).json()
        found = pl.read_ipc_stream(io.BytesIO(answer.content))
        np.testing.assert_array_equal(found.select(CLASSES).to_numpy(), plain["proba"])
        assert found["label"].to_list() == plain["labels"]
        assert json.loads(answer.headers["baserate-prior"]) == plain["prior"]
        assert json.loads(answer.headers["baserate-flags"]) == plain["flags"]
        again = await sent(client, written(table), batch_id="x")
        assert again.content == answer.content
        assert again.headers["baserate-round"] == "1"


@in_loop
async def test_pyarrow_and_polars_understand_each_other(tmp_path):
    pa = pytest.importorskip("pyarrow")
    async with serving(tmp_path) as client:
        await made(client)
        table = pa.table({name: BATCH[:, c] for c, name in enumerate(CLASSES)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        answer = await sent(client, sink.getvalue().to_pybytes(), mode="predict")
        found = pa.ipc.open_stream(answer.content).read_all()
        assert found.num_rows == 50


@pytest.mark.parametrize("kind", [ARROW, ARROW_FILE, PARQUET, CSV])
@in_loop
async def test_a_holdout_may_be_a_table(tmp_path, kind):
    alone = RegressAndReweight().fit(HELD, HELD_Y)
    async with serving(tmp_path) as client:
        table = frame(HELD, "p_", truth=pl.Series(named(HELD_Y)))
        told = await sent(
            client, written(table, kind), kind, "/v1/streams/mail", "PUT", label="truth", options='{"max_waiting": 7}'
        )
        assert told.status_code == 201, told.text
        assert told.json()["classes"] == CLASSES
        assert told.json()["options"] == {"max_waiting": 7}
        np.testing.assert_array_equal((await adapt(client, BATCH)).json()["proba"], alone.step(BATCH).proba)


@in_loop
async def test_tables_that_make_no_sense(tmp_path):
    async with serving(tmp_path, max_rows=200) as client:
        held = written(frame(HELD[:150], label=pl.Series(named(HELD_Y[:150]))), CSV)
        assert (await sent(client, held, CSV, "/v1/streams/mail", "PUT")).status_code == 201
        before = state_of(client)
        wrong = {
            written(frame())[:300]: 400,
            b"": 400,
            written(frame().drop("ham")): 422,
            written(frame().with_columns(pl.col("ham").cast(pl.String))): 422,
            written(frame().with_columns(ham=pl.lit(None, dtype=pl.Float64))): 422,
            written(frame(np.full((2, 3), np.nan))): 422,
            written(frame(label=pl.Series(["none"] * 50))): 422,
            written(frame(id=pl.Series([1.5] * 50))): 422,
            written(frame(id=pl.Series(["a"] * 50))): 422,
            written(frame(np.tile(BATCH, (5, 1)))): 413,
        }
        for data, status in wrong.items():
            answer = await sent(client, data)
            assert answer.status_code == status, (data[:50], answer.text)
            assert answer.json()["error"]
        assert (await sent(client, held, CSV)).status_code == 415
        assert (await sent(client, held, CSV, "/v1/streams/x", "PUT", label="y")).status_code == 422
        assert (await sent(client, held, CSV, "/v1/streams/x", "PUT", options="{")).status_code == 422
        assert (await sent(client, held, CSV, "/v1/streams/x", "PUT", classes='["a"]')).status_code == 422
        assert state_of(client) == before
