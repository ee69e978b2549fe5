"""The Open Inference Protocol."""

import numpy as np
import pytest

from tests.service.served import CLASSES, adapt, in_loop, made, outputs, serving, state_of

BATCH = outputs(6, 2)[0]


def tensor(data, name="proba", datatype="FP64", shape=None, **more):
    return {"name": name, "shape": shape or list(np.shape(data)), "datatype": datatype, "data": data, **more}


async def infer(client, *tensors, **more):
    return await client.post("/v2/models/mail/infer", json={"inputs": list(tensors), **more})


@in_loop
async def test_a_tensor_is_adapted_as_a_batch_is(tmp_path):
    async with serving(tmp_path / "a") as client, serving(tmp_path / "b") as other:
        await made(client)
        await made(other)
        plain = (await adapt(other, BATCH, ids=["a", "b", "c", "d", "e", "f"])).json()
        ids = tensor(["a", "b", "c", "d", "e", "f"], "ids", "BYTES")
        flat = BATCH.ravel().tolist()
        answer = (await infer(client, tensor(flat, shape=[6, 3]), ids, id="42", parameters={"batch_id": "x"})).json()
        assert (answer["id"], answer["model_name"]) == ("42", "mail")
        proba, labels, prior = answer["outputs"]
        assert (proba["shape"], proba["datatype"]) == ([6, 3], "FP64")
        np.testing.assert_array_equal(np.reshape(proba["data"], (6, 3)), plain["proba"])
        assert (labels["data"], prior["data"]) == (plain["labels"], plain["prior"])
        again = (await infer(client, tensor(BATCH.tolist()), ids, parameters={"batch_id": "x"})).json()
        assert again["outputs"] == answer["outputs"]
        assert client.app.streams._running["mail"].state.adapter.rounds_ == 1


@in_loop
async def test_logits(tmp_path):
    logits = np.log(BATCH) + 3.0
    async with serving(tmp_path) as client:
        await made(client)
        right = (await infer(client, tensor(BATCH.tolist()), parameters={"mode": "predict"})).json()["outputs"][0][
            "data"
        ]
        for given in (
            tensor(logits.tolist(), "logits"),
            tensor(logits.tolist(), parameters={"content_type": "logits"}),
        ):
            got = (await infer(client, given, parameters={"mode": "predict"})).json()["outputs"][0]["data"]
            np.testing.assert_allclose(got, right, rtol=1e-12)
        chosen = await infer(client, tensor(BATCH.tolist()), outputs=[{"name": "labels"}])
        assert [output["name"] for output in chosen.json()["outputs"]] == ["labels"]


@pytest.mark.parametrize(
    "tensors",
    [
        [],
        [tensor(BATCH.tolist()), tensor(BATCH.tolist(), "other")],
        [tensor(BATCH.tolist(), shape=[3, 6])],
        [tensor(BATCH.tolist(), shape=[-6, -3])],
        [tensor(BATCH.tolist(), shape=[6, 3, 1])],
        [tensor(BATCH.tolist(), datatype="BYTES")],
        [tensor([["a", "b", "c"]])],
        [tensor([[1.0, 0.0, 0.0], [1.0]], shape=[2, 3])],
        [tensor([[[1.0, 0.0, 0.0]]], shape=[1, 3])],
        [tensor([{}], shape=[1, 3])],
        [tensor([None] * 3, shape=[1, 3])],
        [tensor([2**70, 0, 0], shape=[1, 3])],
        [tensor([0.5], shape=[1])],
        [tensor(BATCH.tolist()), tensor([{}] * 6, "ids", "BYTES")],
        [tensor(BATCH.tolist()), tensor(["x"] * 6, "labels", "BYTES")],
        [tensor(BATCH.tolist()), tensor(["a"], "ids", "BYTES")],
        [tensor([], shape=[0, 4])],
    ],
)
@in_loop
async def test_tensors_that_make_no_sense(tmp_path, tensors):
    async with serving(tmp_path) as client:
        await made(client)
        before = state_of(client)
        answer = await infer(client, *tensors)
        assert answer.status_code == 422, answer.text
        assert state_of(client) == before


@in_loop
async def test_what_the_protocol_asks_besides(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        assert (await client.get("/v2")).json()["name"] == "baserate"
        told = (await client.get("/v2/models/mail")).json()
        assert told["inputs"][0]["shape"] == [-1, len(CLASSES)]
        for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/mail/ready"):
            assert (await client.get(path)).status_code == 200
        assert (await client.get("/v2/models/none/ready")).status_code == 404
