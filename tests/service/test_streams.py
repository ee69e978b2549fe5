"""Streams over HTTP do what the library does, to the last bit."""

import asyncio
import time
from collections import Counter

import numpy as np
import pytest

from baserate import RegressAndReweight
from baserate.service import streams
from baserate.service.points import read_point
from tests.service.served import CLASSES, HELD, HELD_Y, adapt, body, in_loop, made, named, outputs, serving, state_of

BATCHES = [outputs(12, seed, [0.1, 0.8, 0.1]) for seed in range(1, 30)]


@in_loop
async def test_a_batch_is_answered_as_by_the_library(tmp_path):
    alone = RegressAndReweight().fit(HELD, HELD_Y)
    async with serving(tmp_path) as client:
        await made(client)
        for number, (proba, y) in enumerate(BATCHES, 1):
            told = [CLASSES[c] if i % 5 == 0 else None for i, c in enumerate(y)]
            step = alone.step(
                proba, np.where(np.arange(len(y)) % 5 == 0, y, -1), ids=[f"{number}-{i}" for i in range(12)]
            )
            answer = (await adapt(client, proba, labels=told, ids=[f"{number}-{i}" for i in range(12)])).json()
            np.testing.assert_array_equal(answer["proba"], step.proba)
            np.testing.assert_array_equal(answer["prior"], step.prior)
            assert answer["labels"] == named(step.labels)
            assert answer["round"] == number
            assert answer["flags"] == step.flags
        late = [f"{number}-{i}" for number in (3, 4) for i in (1, 2)]
        y = [CLASSES[BATCHES[number - 1][1][i]] for number in (3, 4) for i in (1, 2)]
        response = await client.post("/v1/streams/mail/labels", json={"ids": [*late, "never"], "labels": [*y, "ham"]})
        assert response.json() == {"found": 4, "unknown": 1, "waiting": alone.waiting_ - 4}
        alone.update_labels([*late, "never"], [BATCHES[n - 1][1][i] for n in (3, 4) for i in (1, 2)] + [0])
        told = (await client.get("/v1/streams/mail")).json()
        np.testing.assert_array_equal(told["prior"], alone.prior_)
        np.testing.assert_array_equal(told["offsets"], alone.log_offsets())
        np.testing.assert_array_equal(told["bands"], alone.prior_interval())
        assert told["estimated_accuracy"]["value"] == alone.estimated_accuracy().value
        assert told["gate"]["weight"] == alone.correction_weight_
        assert told["evidence"]["value"] == alone.assumption_evidence_
        assert told["missed_labels"] == 1


@in_loop
async def test_modes(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        await adapt(client, BATCHES[0][0])
        before = state_of(client)
        predicted = (await adapt(client, BATCHES[1][0], mode="predict")).json()
        assert state_of(client) == before
        learned = (await adapt(client, BATCHES[1][0], mode="learn")).json()
        assert set(learned) == {"prior", "round", "flags"}
        assert learned["round"] == 2
        async with serving(tmp_path / "other") as other:
            await made(other)
            await adapt(other, BATCHES[0][0])
            answer = (await adapt(other, BATCHES[1][0])).json()
            assert answer["proba"] == predicted["proba"]
            assert state_of(other) == state_of(client)


@in_loop
async def test_the_same_definition_again_changes_nothing_and_another_is_a_conflict(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        await adapt(client, BATCHES[0][0])
        before = state_of(client)
        assert (await client.put("/v1/streams/mail", json=body())).status_code == 200
        other = await client.put("/v1/streams/mail", json=body({"gate": False}))
        assert other.status_code == 409
        assert "refit=true" in other.json()["error"]
        assert state_of(client) == before


@in_loop
async def test_a_refit_keeps_the_mix(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        for proba, _ in BATCHES:
            await adapt(client, proba)
        before = (await client.get("/v1/streams/mail")).json()
        proba, y = outputs(400, 77)
        again = await client.put("/v1/streams/mail?refit=true", json=body(proba=proba, y=y))
        assert again.status_code == 200
        np.testing.assert_allclose(again.json()["prior"], before["prior"], atol=1e-9)
        assert again.json()["round"] == before["round"]
        history = (await client.get("/v1/streams/mail/history")).json()
        assert [event["kind"] for event in history["events"]][-1] == "refit"


@in_loop
async def test_classes_are_added_and_retired_by_name(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        for proba, _ in BATCHES:
            await adapt(client, proba)
        spam = (await client.get("/v1/streams/mail")).json()["prior"][1]
        proba, y = outputs(400, 78, k=4)
        classes = ["spam", "scam", "news", "ham"]
        told = (await client.put("/v1/streams/mail?refit=true", json=body(proba=proba, y=y, classes=classes))).json()
        assert told["classes"] == classes
        assert told["prior"][0] == max(told["prior"]) > 0.8 * spam * 0.7
        assert (await adapt(client, outputs(5, 1, k=4)[0])).status_code == 200
        fewer = await client.put("/v1/streams/mail?refit=true", json=body())
        assert fewer.json()["classes"] == CLASSES


@in_loop
async def test_small_requests_are_collected_into_rounds(tmp_path):
    alone = RegressAndReweight().fit(HELD, HELD_Y)
    async with serving(tmp_path) as client:
        await made(client, options={"round_rows": 8})
        rows, y = outputs(40, 5, [0.1, 0.8, 0.1])
        for i in range(40):
            foreseen = alone.predict_proba(rows[i : i + 1])
            more = {"ids": [f"r{i}"]} if i % 2 else {}
            answer = (await adapt(client, rows[i : i + 1], **more)).json()
            np.testing.assert_array_equal(answer["proba"], foreseen)
            if i == 5:  # the label of a row that has not made a round yet
                found = await client.post("/v1/streams/mail/labels", json={"ids": ["r5"], "labels": named(y[5:6])})
                assert found.json()["found"] == 1
            if i % 8 == 7:
                part = slice(i - 7, i + 1)
                labels = np.where(np.arange(i - 7, i + 1) == 5, y[part], -1)
                ids = [f"r{j}" if j % 2 and j != 5 else None for j in range(i - 7, i + 1)]
                alone.update(rows[part], labels if (labels >= 0).any() else None, ids=ids)
            assert answer["round"] == (i // 8)
        told = (await client.get("/v1/streams/mail")).json()
        assert told["round"] == 5
        np.testing.assert_array_equal(told["prior"], alone.prior_)
        assert told["waiting"] == alone.waiting_ == 19


@in_loop
async def test_shadow_mode_is_switched_at_any_time(tmp_path):
    async with serving(tmp_path) as client:
        await made(client, options={"shadow": True})
        for proba, _ in BATCHES[:20]:
            assert (await adapt(client, proba)).json()["proba"] == proba.tolist()
        assert (await client.patch("/v1/streams/mail", json={"shadow": False})).json()["shadow"] is False
        proba = BATCHES[20][0]
        assert (await adapt(client, proba)).json()["proba"] != proba.tolist()
        await client.patch("/v1/streams/mail", json={"shadow": True})
        assert (await adapt(client, proba)).json()["proba"] == proba.tolist()


@in_loop
async def test_an_id_can_be_deleted(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        await adapt(client, BATCHES[0][0], ids=[f"patient {i}" for i in range(12)])
        assert (await client.delete("/v1/streams/mail/samples/patient 3")).json() == {"found": 1}
        assert (await client.delete("/v1/streams/mail/samples/patient 3")).json() == {"found": 0}
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"patient 4" in stored
    assert b"patient 3" not in stored
    async with serving(tmp_path) as client:
        late = await client.post("/v1/streams/mail/labels", json={"ids": ["patient 3"], "labels": ["ham"]})
        assert late.json()["found"] == 0


@in_loop
async def test_a_deleted_stream_is_gone_and_can_be_made_again(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        await adapt(client, BATCHES[0][0], batch_id="one")
        assert (await client.delete("/v1/streams/mail")).status_code == 204
        assert (await client.get("/v1/streams/mail")).status_code == 404
        assert (await adapt(client, BATCHES[0][0])).status_code == 404
        await made(client)
        assert (await adapt(client, BATCHES[0][0], batch_id="one")).json()["round"] == 1
        listed = (await client.get("/v1/streams")).json()["streams"]
        assert [stream["name"] for stream in listed] == ["mail"]


@in_loop
async def test_a_binary_model_may_send_one_score(tmp_path):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    scores = 1.0 / (1.0 + np.exp(-rng.normal(4.0 * y - 2.0, 1.0)))
    alone = RegressAndReweight().fit(np.column_stack([scores, 1.0 - scores]), 1 - y)
    async with serving(tmp_path) as client:
        held = {"scores": scores.tolist(), "positive": "ill", "labels": ["ill" if v else "well" for v in y]}
        made = await client.put("/v1/streams/x", json={"classes": ["ill", "well"], "holdout": held})
        assert made.status_code == 201
        answer = await client.post("/v1/streams/x/adapt", json={"scores": scores[:10].tolist()})
        step = alone.step(np.column_stack([scores[:10], 1.0 - scores[:10]]))
        np.testing.assert_array_equal(answer.json()["proba"], step.proba)
        turned = await client.post("/v1/streams/x/adapt?mode=predict", json={"scores": [0.9], "positive": "well"})
        np.testing.assert_array_equal(turned.json()["proba"], alone.predict_proba([[1.0 - 0.9, 0.9]]))


@pytest.mark.parametrize("classes", [[0, 1, 2], [True, False]])
@in_loop
async def test_labels_are_of_the_kind_of_the_classes(tmp_path, classes):
    k = len(classes)
    proba, y = outputs(200, 4, k=k)
    async with serving(tmp_path) as client:
        made = await client.put("/v1/streams/x", json=body(proba=proba, y=y, classes=classes))
        assert made.status_code == 201
        answer = await adapt(client, proba[:5], "x", labels=[classes[c] for c in y[:5]])
        assert all(type(label) is type(classes[0]) for label in answer.json()["labels"])
        wrong = await adapt(client, proba[:1], "x", labels=["0"])
        assert wrong.status_code == 422
        assert wrong.json()["field"] == "labels"


@in_loop
async def test_history_is_taken_down_and_thinned(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        for proba, _ in BATCHES[:3]:
            await adapt(client, proba)
        client.app.streams.points.clear()  # as if a second had passed
        await client.app.streams._look_around()
        told = (await client.get("/v1/streams/mail/history")).json()
        assert told["classes"] == CLASSES
        assert told["points"][-1]["round"] == 3
        assert told["points"][-1]["rows"] == 36
        low, prior, high = (np.array(told["points"][-1][name]) for name in ("low", "prior", "high"))
        assert ((low <= prior) & (prior <= high)).all()
        assert told["events"][0]["kind"] == "created"


@in_loop
async def test_requests_for_labels_are_of_rows_that_wait(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        await adapt(client, BATCHES[0][0], ids=list(range(12)), labels=["ham"] + [None] * 11)
        found = (await client.get("/v1/streams/mail/requests?n=5")).json()["requests"]
        assert 1 <= len(found) <= 5
        assert {one["id"] for one in found} <= {str(i) for i in range(1, 12)}


@in_loop
async def test_a_stream_that_is_slow_to_read_does_not_hold_up_the_history_of_others(tmp_path):
    read = Counter()

    def slowly(state, at, before):
        name = "slow" if state is client.app.streams._running["slow"].state else "quick"
        read[name] += 1
        if name == "slow":
            time.sleep(0.2)
        return read_point(state, at, before)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "read_point", slowly)
        async with serving(tmp_path) as client:
            for name in ("slow", "quick"):
                await made(client, name)
            until = time.monotonic() + 3.0
            while time.monotonic() < until:
                for name in ("slow", "quick"):
                    await adapt(client, BATCHES[0][0], name)
                await asyncio.sleep(0.1)
    assert read["slow"] >= 1
    assert read["quick"] > read["slow"]
