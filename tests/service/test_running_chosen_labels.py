"""How probably labels were chosen: as in the library, for batches, late labels, and rounds that are collected."""

import numpy as np
import pytest

from baserate import RegressAndReweight
from tests.service.served import CLASSES, HELD, HELD_Y, adapt, in_loop, made, named, outputs, serving, state_of

BATCHES = [outputs(12, seed, [0.8, 0.15, 0.05]) for seed in range(8)]
IDS = [f"m{i}" for i in range(12)]


async def late(client, ids, labels, **more):
    return await client.post("/v1/streams/mail/labels", json={"ids": ids, "labels": labels, **more})


async def told(client):
    return (await client.get("/v1/streams/mail")).json()


@in_loop
async def test_as_in_the_library(tmp_path):
    alone, plain = (RegressAndReweight().fit(HELD, HELD_Y) for _ in range(2))
    async with serving(tmp_path) as client:
        await made(client)
        for number, (proba, y) in enumerate(BATCHES):
            ids = [f"{number}-{i}" for i in range(12)]
            some = np.where(np.arange(12) % 3 == 0, y, -1)
            chances = np.linspace(0.1, 1.0, 12)
            labels = [CLASSES[c] if c >= 0 else None for c in some]
            given = [chance if c >= 0 else None for c, chance in zip(some, chances, strict=True)]
            answer = await adapt(client, proba, labels=labels, ids=ids, y_probability=given)
            step = alone.step(proba, some, ids=ids, y_probability=chances)
            np.testing.assert_array_equal(answer.json()["proba"], step.proba)
            plain.step(proba, some, ids=ids)
            found = await late(client, ids[1:3], named(y[1:3]), y_probability=[0.5, 0.2])
            assert found.json()["found"] == 2
            alone.update_labels(ids[1:3], y[1:3], y_probability=[0.5, 0.2])
            plain.update_labels(ids[1:3], y[1:3])
        seen = await told(client)
    async with serving(tmp_path) as client:  # what is made again from the log is the same
        assert await told(client) == seen
    assert seen["prior"] == alone.prior_.tolist()
    assert seen["estimated_accuracy"]["value"] == alone.estimated_accuracy().value
    assert alone.estimated_accuracy().value != plain.estimated_accuracy().value


@in_loop
async def test_rounds_that_are_collected(tmp_path):
    alone = RegressAndReweight().fit(HELD, HELD_Y)
    (one, y_one), (two, y_two) = BATCHES[:2]
    async with serving(tmp_path) as client:
        await made(client, options={"round_rows": 24})
        await adapt(client, one, ids=IDS)
        await late(client, ["m1", "m4"], named(y_one[[1, 4]]), y_probability=[0.5, 0.25])
        await adapt(client, two, labels=[CLASSES[y_two[0]]] + [None] * 11, y_probability=0.125)
        labels, chances = np.full(24, -1), np.ones(24)
        labels[[1, 4, 12]], chances[[1, 4, 12]] = [y_one[1], y_one[4], y_two[0]], [0.5, 0.25, 0.125]
        ids = [None if name in ("m1", "m4") else name for name in IDS] + [None] * 12
        alone.update(np.concatenate([one, two]), labels, ids=ids, y_probability=chances)
        seen = await told(client)
        assert seen["round"] == 1
        assert seen["prior"] == alone.prior_.tolist()
        assert seen["estimated_accuracy"]["value"] == alone.estimated_accuracy().value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (0.0, "y_probability[0] is 0.0"),
        ([0.5, 1.5], "y_probability[1] is 1.5"),
        ([0.5, None], "y_probability[1] is None"),
        ([0.5], "has 1 entries; expected 2"),
        ("half", "Expected `float | array | null`"),
    ],
)
@in_loop
async def test_what_is_no_probability_is_refused(tmp_path, given, said):
    async with serving(tmp_path) as client:
        await made(client)
        await adapt(client, BATCHES[0][0], ids=IDS)
        before = state_of(client)
        refused = await late(client, ["m1", "m2"], ["ham", "spam"], y_probability=given)
        assert refused.status_code == 422
        assert said in refused.json()["error"]
        assert state_of(client) == before


@in_loop
async def test_a_probability_needs_a_label(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        refused = await adapt(client, BATCHES[0][0], y_probability=0.5)
        assert refused.status_code == 422
        assert refused.json()["field"] == "y_probability"
