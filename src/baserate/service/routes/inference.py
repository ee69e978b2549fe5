"""The Open Inference Protocol (v2): the service as a transformer in an inference graph."""

import math
from typing import Any

import numpy as np

from baserate._version import __version__
from baserate.protocols import FloatArray
from baserate.service._web import Request, Response, Route
from baserate.service.answers import labels_of
from baserate.service.bodies import check_name, check_rows, decode, from_scores, make_batch
from baserate.service.definitions import Definition, Label
from baserate.service.entries import Answer, floats
from baserate.service.exchange import answer, read_json, settings_of, takers_of
from baserate.service.inference_body import InferenceBody, Tensor
from baserate.service.problems import InvalidError
from baserate.service.routes.batches import ask
from baserate.service.taking import TakingStream, as_defined

_MODES = ("adapt", "predict", "learn")
_NUMBERS = ("FP64", "FP32", "FP16")


async def infer(request: Request) -> Response:
    """Adapt one tensor of probabilities or logits."""
    streams, name = takers_of(request), check_name(request.path_params["name"])
    stream = await streams.get(name)
    body = decode(await read_json(request), InferenceBody)
    told = body.parameters
    mode = told.get("mode", "adapt")
    if mode not in _MODES:
        raise InvalidError(
            f"parameters.mode is {mode!r:.100}; expected one of: {', '.join(_MODES)}.", "parameters.mode"
        )
    batch_id = told.get("batch_id")
    if batch_id is not None and not isinstance(batch_id, str):
        raise InvalidError("parameters.batch_id is no text.", "parameters.batch_id")
    tensors = [tensor for tensor in body.inputs if tensor.name not in ("ids", "labels")]
    if len(tensors) != 1:
        raise InvalidError(
            f"inputs has {len(tensors)} tensors besides ids and labels; expected one, of probabilities or logits.",
            "inputs",
        )
    others = {tensor.name: _flat(tensor) for tensor in body.inputs if tensor.name in ("ids", "labels")}

    async def read_and_ask(stream: TakingStream, definition: Definition) -> tuple[Answer, list[Label]]:
        proba = _proba(tensors[0], definition)
        check_rows(len(proba), settings_of(request), "inputs[0].data")
        labels, ids = others.get("labels"), others.get("ids")
        if ids is not None and not all(name is None or type(name) in (str, int) for name in ids):
            raise InvalidError("ids holds neither text nor whole numbers.", "ids")
        batch = make_batch(proba, labels, ids, batch_id, definition.classes)
        return await ask(stream, batch, definition, str(mode)), definition.classes

    found, classes = await as_defined(stream, streams.renewed, read_and_ask)
    k = len(classes)
    outputs: list[dict[str, Any]] = []
    if found.proba is not None:
        adapted = floats(found.proba, found.n, k)
        names = [str(name) for name in labels_of(adapted, classes)]
        outputs += [
            {"name": "proba", "shape": [found.n, k], "datatype": "FP64", "data": adapted.ravel().tolist()},
            {"name": "labels", "shape": [found.n], "datatype": "BYTES", "data": names},
        ]
    prior = np.frombuffer(found.prior).tolist()
    outputs.append({"name": "prior", "shape": [k], "datatype": "FP64", "data": prior})
    if body.outputs is not None:
        wanted = {str(output.get("name")) for output in body.outputs}
        outputs = [output for output in outputs if output["name"] in wanted]
    result = {
        "model_name": stream.name,
        "model_version": "1",
        "outputs": outputs,
        "parameters": {"round": found.round, **found.flags},
    }
    return answer(result if body.id is None else {"id": body.id, **result})


def _flat(tensor: Tensor) -> list[Any]:
    """Return a tensor of one dimension as a list."""
    data = [row[0] if isinstance(row, list) and len(row) == 1 else row for row in tensor.data]
    if any(isinstance(row, list | dict | float) for row in data):
        raise InvalidError(f"{tensor.name} holds something that is no label and no id.", tensor.name)
    return data


def _proba(tensor: Tensor, definition: Definition) -> FloatArray:
    field = "inputs[0].data"
    if tensor.datatype not in _NUMBERS:
        raise InvalidError(
            f"inputs[0].datatype is {tensor.datatype!r:.100}; expected one of: {', '.join(_NUMBERS)}.",
            "inputs[0].datatype",
        )
    try:
        values = np.array(tensor.data)
    except (ValueError, OverflowError):
        raise InvalidError("inputs[0].data is ragged; give every row the same length.", field) from None
    if values.dtype.kind not in "iuf" and values.size > 0:
        raise InvalidError("inputs[0].data holds something that is no number.", field)
    k, shape = len(definition.classes), tuple(tensor.shape)
    width = shape[1] if len(shape) == 2 else 1
    fits = len(shape) in (1, 2) and min(shape) >= 0 and math.prod(shape) == values.size and width in (1, k)
    if not fits or (values.ndim > 1 and values.shape != shape):
        raise InvalidError(
            f"inputs[0].shape is {list(shape)!r:.100} and the data has the shape {list(values.shape)!r:.100}; expected "
            f"[rows, {k}], the data like that or flat.",
            "inputs[0].shape",
        )
    rows = values.astype(np.float64)
    if width == 1:
        return from_scores(rows.ravel(), definition.positive, k, field)
    rows = rows.reshape(shape)
    logits = tensor.name == "logits" or tensor.parameters.get("content_type") == "logits"
    return softmax(rows, field) if logits else rows


def softmax(logits: FloatArray, field: str) -> FloatArray:
    """Return the probabilities of logits."""
    if not np.isfinite(logits).all():
        raise InvalidError(f"{field} holds a logit that is not finite.", field)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True)) if logits.size else logits
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


async def server(_: Request) -> Response:
    """The server."""
    return answer({"name": "baserate", "version": __version__, "extensions": []})


async def model(request: Request) -> Response:
    """A stream, as a model."""
    stream = await takers_of(request).get(check_name(request.path_params["name"]))
    k = len(stream.definition.classes)
    return answer(
        {
            "name": stream.name,
            "versions": ["1"],
            "platform": "baserate",
            "inputs": [{"name": "proba", "datatype": "FP64", "shape": [-1, k]}],
            "outputs": [
                {"name": "proba", "datatype": "FP64", "shape": [-1, k]},
                {"name": "labels", "datatype": "BYTES", "shape": [-1]},
                {"name": "prior", "datatype": "FP64", "shape": [k]},
            ],
        }
    )


async def model_ready(request: Request) -> Response:
    """Tell whether a stream is ready."""
    stream = await takers_of(request).get(check_name(request.path_params["name"]))
    return answer({"name": stream.name, "ready": True})


ROUTES = [
    Route("/v2", server, methods=["GET"]),
    Route("/v2/models/{name}/infer", infer, methods=["POST"]),
    Route("/v2/models/{name}/ready", model_ready, methods=["GET"]),
    Route("/v2/models/{name}", model, methods=["GET"]),
]
