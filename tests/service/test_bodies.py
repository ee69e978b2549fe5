"""Nonsense gets a 4xx that says why, and changes nothing."""

import asyncio
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.malformed import malformed
from tests.service.served import HELD, HELD_Y, adapt, body, in_loop, made, named, outputs, serving, state_of

ROWS = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
WRONG = {
    "": (400, ""),
    "{": (400, ""),
    "nonsense": (400, ""),
    '{"proba": [[NaN, 0, 0]]}': (400, ""),
    "[]": (422, ""),
    "null": (422, ""),
    "{}": (422, "proba"),
    '{"proba": null}': (422, "proba"),
    '{"proba": 3}': (422, "proba"),
    '{"proba": [1, 2]}': (422, "proba[0]"),
    '{"proba": [["1", 0, 0]]}': (422, "proba[0][0]"),
    '{"proba": [[null, 0, 0]]}': (422, "proba[0][0]"),
    '{"proba": [[1e999, 0, 0]]}': (422, "proba[0][0]"),
    '{"proba": [[1e300, 0, 0]]}': (422, "proba"),
    '{"proba": [[1, 0]]}': (422, "proba"),
    '{"proba": [[1, 0, 0], [1, 0]]}': (422, "proba"),
    '{"proba": [[]]}': (422, "proba"),
    '{"proba": [[0.5, 0.4, 0]]}': (422, "proba"),
    '{"proba": [[-0.5, 1.5, 0]]}': (422, "proba"),
    '{"proba": [[50, 30, 20]]}': (422, "proba"),
    '{"proba": [[1, 0, 0]], "labels": ["none"]}': (422, "labels"),
    '{"proba": [[1, 0, 0]], "labels": [0]}': (422, "labels"),
    '{"proba": [[1, 0, 0]], "labels": []}': (422, "labels"),
    '{"proba": [[1, 0, 0]], "labels": [["ham"]]}': (422, "labels[0]"),
    '{"proba": [[1, 0, 0]], "ids": []}': (422, "ids"),
    '{"proba": [[1, 0, 0]], "ids": [1.5]}': (422, "ids[0]"),
    '{"proba": [[1, 0, 0]], "ids": [""]}': (422, "ids"),
    '{"proba": [[1, 0, 0]], "ids": [99999999999999999999]}': (422, "ids"),
    '{"proba": [[1, 0, 0], [1, 0, 0]], "ids": ["a", "a"]}': (422, "ids"),
    '{"proba": [[1, 0, 0]], "ids": ["waits"]}': (422, "ids"),
    '{"proba": [[1, 0, 0]], "batch_id": 5}': (422, "batch_id"),
    '{"proba": [[1, 0, 0]], "batch_id": ""}': (422, "batch_id"),
    '{"proba": [[1, 0, 0]], "batch_id": "a\\u0000"}': (422, "batch_id"),
    '{"proba": [[1, 0, 0]], "scores": [0.5]}': (422, "proba"),
    '{"scores": [0.5]}': (422, "scores"),
    '{"probabilities": [[1, 0, 0]]}': (422, "probabilities"),
}


@pytest.mark.parametrize("round_rows", [None, 5])
@in_loop
async def test_a_batch_that_makes_no_sense(tmp_path, round_rows):
    async with serving(tmp_path) as client:
        await made(client, options={"round_rows": round_rows})
        await adapt(client, np.array([ROWS[0]]), ids=["waits"])
        before = state_of(client)
        for text, (status, field) in WRONG.items():
            answer = await client.post(
                "/v1/streams/mail/adapt", content=text, headers={"content-type": "application/json"}
            )
            assert answer.status_code == status, (text, answer.text)
            assert answer.json().get("field", "") == field, (text, answer.text)
            assert len(answer.json()["error"]) > 10
        assert state_of(client) == before
        assert (await client.post("/v1/streams/mail/adapt?mode=guess", json={"proba": ROWS})).status_code == 422


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"classes": ["ham"]}, "classes"),
        ({"classes": ["ham", "ham", "spam"]}, "classes"),
        ({"classes": ["ham", 1, "spam"]}, "classes"),
        ({"classes": ["ham", "spam"]}, "holdout.proba"),
        ({"classes": ["ham", "spam", None]}, "classes[2]"),
        ({"options": {"tracker": "FLHFTL"}}, "options.tracker"),
        ({"options": {"speed": 3}}, "options"),
        ({"options": {"alpha": 7}}, "holdout"),
        ({"options": {"alpha": None}}, "holdout"),
        ({"options": {"floor": 0.9}}, "holdout"),
        ({"options": {"bounds": [0.5, 0.1]}}, "holdout"),
        ({"options": {"source_prior": [1, 2]}}, "holdout"),
        ({"options": {"max_waiting": -1}}, "options.max_waiting"),
        ({"options": {"round_rows": 0}}, "options.round_rows"),
        ({"holdout": {"proba": HELD.tolist(), "labels": named(HELD_Y)[:-1]}}, "holdout.labels"),
        ({"holdout": {"proba": HELD.tolist(), "labels": [None] * 300}}, "holdout.labels[0]"),
        ({"holdout": {"proba": [], "labels": []}}, "holdout"),
        ({"holdout": {"proba": HELD[:, ::-1].tolist(), "labels": named(HELD_Y)}}, "holdout"),
        ({"holdout": {"labels": named(HELD_Y)}}, "holdout.proba"),
        ({"surprise": 1}, "surprise"),
    ],
)
@in_loop
async def test_a_stream_that_makes_no_sense(tmp_path, change, field):
    async with serving(tmp_path) as client:
        answer = await client.put("/v1/streams/mail", json=body() | change)
        assert answer.status_code == 422, answer.text
        assert answer.json().get("field", "") == field, answer.text
        assert (await client.get("/v1/streams")).json() == {"streams": []}


@in_loop
async def test_limits(tmp_path):
    async with serving(tmp_path, max_body=60_000, max_rows=300, max_classes=3, max_streams=1) as client:
        await made(client)
        before = state_of(client)
        rows = outputs(301, 2)[0]
        answer = await adapt(client, rows)
        assert answer.status_code == 413
        assert "301 rows; this server allows 300" in answer.json()["error"]
        huge = await client.post(
            "/v1/streams/mail/adapt", content=b" " * 60_001, headers={"content-type": "application/json"}
        )
        assert huge.status_code == 413

        async def chunks():
            for _ in range(100):
                yield b" " * 1000

        unsaid = await client.post(
            "/v1/streams/mail/adapt", content=chunks(), headers={"content-type": "application/json"}
        )
        assert unsaid.status_code == 413
        many = body() | {"classes": [f"c{i}" for i in range(1000)]}
        assert (await client.put("/v1/streams/other", json=many)).status_code == 413
        assert (await client.put("/v1/streams/other", json=body())).status_code == 413
        assert state_of(client) == before


@in_loop
async def test_a_slow_body_is_given_up(tmp_path):
    async with serving(tmp_path, body_seconds=0.2) as client:
        await made(client)

        async def drops():
            yield b"{"
            await asyncio.sleep(5)
            yield b"}"

        answer = await client.post(
            "/v1/streams/mail/adapt", content=drops(), headers={"content-type": "application/json"}
        )
        assert answer.status_code == 408


@pytest.mark.parametrize("depth", [100, 100_000])
@in_loop
async def test_deep_nesting(tmp_path, depth):
    async with serving(tmp_path) as client:
        await made(client)
        for text in ("[" * depth, '{"proba":' + "[" * depth + "]" * depth + "}", '{"proba":' * depth):
            for path in ("/v1/streams/mail/adapt", "/v2/models/mail/infer"):
                answer = await client.post(path, content=text, headers={"content-type": "application/json"})
                assert answer.status_code in (400, 422)


@given(seed=st.integers(0, 10**9))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_malformed_bodies(tmp_path_factory, seed):
    async def run():
        rng = np.random.default_rng(seed)
        async with serving(tmp_path_factory.mktemp("malformed")) as client:
            await made(client)
            before = state_of(client)
            for _ in range(150):
                method, path, kind, data, harmless = malformed(rng)
                answer = await client.request(method, path, content=data, headers={"content-type": kind})
                assert 400 <= answer.status_code < 500 or harmless, (method, path, data[:300], answer.text)
                assert answer.status_code < 500
                assert harmless or json.loads(answer.text)["error"]
                if harmless and answer.status_code == 200:
                    before = state_of(client)
            assert state_of(client) == before

    asyncio.run(run())
