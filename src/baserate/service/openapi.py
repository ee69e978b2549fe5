"""The API as OpenAPI 3.1: bodies from the types that decode them, answers from `described`."""

from functools import cache
from typing import Any

from baserate._version import __version__
from baserate.service._web import msgspec
from baserate.service.bodies import NAME_PATTERN, AdaptBody, ChangeBody, LabelsBody, LoginBody, StreamBody
from baserate.service.described import ANSWERS, EXAMPLES, TEXT, listed
from baserate.service.inference_body import InferenceBody
from baserate.service.tables import ARROW, ARROW_FILE, CSV, PARQUET

JSON = "application/json"
_BODIES = (StreamBody, AdaptBody, LabelsBody, ChangeBody, LoginBody, InferenceBody)
_NAME = {
    "name": "name", "in": "path", "required": True, "description": "The name of a stream.",
    "schema": {"type": "string", "pattern": NAME_PATTERN}, "example": "mail",
}  # fmt: skip
_REASONS = {
    400: "The body cannot be read.",
    401: "No API key that is known.",
    403: "The key has another scope, or the request comes from another site.",
    404: "There is no such stream.",
    408: "The body took too long.",
    409: "It contradicts what is there: another definition, or a batch_id with another body.",
    413: "Too many bytes, rows, classes or streams.",
    415: "A content type that cannot be read.",
    422: "The body can be read, and makes no sense.",
    429: "Too many requests.",
    503: "The store cannot be used, or the server starts or ends; nothing was counted.",
}
_ALWAYS = (400, 401, 403, 408, 413, 422, 429, 503)


def _query(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": text}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(name: str) -> dict[str, Any]:
    shown = {"example": EXAMPLES[name]} if name in EXAMPLES else {}
    return {JSON: {"schema": _ref(name), **shown}}


def _operation(
    summary: str,
    scope: str | None,
    answers: dict[int, Any],
    *,
    body: str | None = None,
    tables: tuple[str, ...] = (),
    named: bool = False,
    query: tuple[dict[str, Any], ...] = (),
    refusals: tuple[int, ...] = (),
) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, content in answers.items():
        shown = {"content": _json(content) if isinstance(content, str) else content} if content else {}
        responses[str(status)] = {"description": "It is done." if status < 300 else "As it was.", **shown}
    for status in sorted({*_ALWAYS, *refusals, *((404,) if named else ()), *((415,) if body else ())}):
        responses[str(status)] = {"description": _REASONS[status], "content": _json("Problem")}
    found: dict[str, Any] = {"summary": summary, "responses": responses}
    found["parameters"] = [*([_NAME] if named else []), *query]
    found["security"] = [] if scope is None else [{"key": []}, {"cookie": []}, {}]
    if scope is not None:
        found["description"] = f"Needs a key of the scope {scope}, if there are keys."
    if body is not None:
        binary = {"schema": {"type": "string", "format": "binary"}}
        found["requestBody"] = {"required": True, "content": {**_json(body), **dict.fromkeys(tables, binary)}}
    return found


_ARROW_ANSWER = {ARROW: {"schema": {"type": "string", "format": "binary"}}}
_SSE = {"text/event-stream": {"schema": TEXT}}
_PLAIN = {"text/plain": {"schema": TEXT}}
_ANY = {JSON: {"schema": {"type": "object"}}}
_STREAMS = {JSON: {"schema": {"type": "object", "properties": {"streams": listed(_ref("Summary"))}}}}
_MODE = _query(
    "mode",
    {"type": "string", "enum": ["adapt", "predict", "learn"], "default": "adapt"},
    "predict: answer without learning; learn: take in without answering rows.",
)
_ID = {
    "name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": "The id of a sample.", "example": "mail-1",
}  # fmt: skip


def _paths() -> dict[str, Any]:
    do = _operation
    stream = {
        "put": do("Make a stream; or, with refit, go on with a redeployed model and keep the class mix.", "admin",
                  {201: "Stream", 200: "Stream"}, body="StreamBody", tables=(ARROW, ARROW_FILE, PARQUET, CSV),
                  named=True, refusals=(409,), query=(
                      _query("refit", {"type": "string", "enum": ["false", "true"]}, "Whether another definition "
                             "replaces the present one."),
                      _query("label", TEXT, "Of a table: the column of labels. Default: label."),
                      _query("classes", TEXT, "Of a table: the classes, as a list in JSON. Default: its columns."),
                      _query("options", TEXT, "Of a table: the options, in JSON."))),
        "get": do("Everything that a stream says about itself.", "read", {200: "Stream"}, named=True),
        "patch": do("Switch shadow mode.", "admin", {200: "Stream"}, body="ChangeBody", named=True),
        "delete": do("Delete a stream with everything that belongs to it.", "admin", {204: None}, named=True),
    }  # fmt: skip
    points = _query("points", {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 500}, "At most so many.")
    seconds = _query("seconds", {"type": "integer", "minimum": 0, "maximum": 999_999_999}, "Only the last so many.")
    n = _query("n", {"type": "integer", "minimum": 1, "maximum": 1_000, "default": 20}, "How many rows.")
    batch = _query("batch_id", {"type": "string", "minLength": 1, "maxLength": 200}, "As in the body; for tables.")
    forget = do("Delete the id of a sample.", "admin", {200: "Found"}, named=True)
    forget["parameters"].append(_ID)
    return {
        "/v1/streams": {"get": do("All streams at a glance.", "read", {200: _STREAMS})},
        "/v1/streams/{name}": stream,
        "/v1/streams/{name}/adapt": {
            "post": do("Adapt a batch, and learn from it. A retry with its batch_id gets the same answer.", "adapt",
                       {200: {**_json("Answer"), **_ARROW_ANSWER}}, body="AdaptBody", tables=(ARROW, ARROW_FILE),
                       named=True, refusals=(409,), query=(_MODE, batch)),
        },
        "/v1/streams/{name}/labels": {
            "post": do("Take in labels that come late.", "adapt", {200: "LabelsFound"}, body="LabelsBody", named=True,
                       refusals=(409,)),
        },
        "/v1/streams/{name}/history": {
            "get": do("The path of a stream, and what happened on it.", "read", {200: "History"}, named=True,
                      query=(points, seconds)),
        },
        "/v1/streams/{name}/requests": {
            "get": do("Waiting rows that are worth labelling.", "read", {200: "Requests"}, named=True, query=(n,)),
        },
        "/v1/streams/{name}/samples/{id}": {"delete": forget},
        "/v1/streams/{name}/events": {"get": do("What happens to a stream, live.", "read", {200: _SSE}, named=True)},
        "/v1/events": {"get": do("What happens to all streams, live.", "read", {200: _SSE})},
        "/v1/session": {"get": do("Who is calling.", "read", {200: "Session"})},
        "/v2": {"get": do("The server.", "read", {200: _ANY})},
        "/v2/health/live": {"get": do("Whether the server is alive.", None, {200: _ANY})},
        "/v2/health/ready": {"get": do("Whether the server is ready.", None, {200: _ANY})},
        "/v2/models/{name}": {"get": do("A stream, as a model.", "read", {200: _ANY}, named=True)},
        "/v2/models/{name}/ready": {"get": do("Whether a stream is ready.", "read", {200: _ANY}, named=True)},
        "/v2/models/{name}/infer": {
            "post": do("Adapt one tensor of probabilities or logits.", "adapt", {200: "InferenceAnswer"},
                       body="InferenceBody", named=True, refusals=(409,)),
        },
        "/healthz": {"get": do("Whether the server is alive.", None, {200: _ANY})},
        "/readyz": {"get": do("Whether the server is ready.", None, {200: _ANY})},
        "/metrics": {"get": do("Metrics for Prometheus.", "read", {200: _PLAIN})},
        "/openapi.json": {"get": do("This description.", None, {200: _ANY})},
        "/login": {"post": do("Exchange a key for a cookie.", None, {200: _ANY}, body="LoginBody")},
        "/logout": {"post": do("End a login.", None, {204: None})},
    }  # fmt: skip


@cache
def openapi() -> dict[str, Any]:
    """Return the description of the API."""
    _, schemas = msgspec.json.schema_components(_BODIES, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "baserate",
            "version": __version__,
            "description": "Keeps any classifier right while class proportions drift: probabilities in, corrected ones "
            "out, late labels whenever they come. Numbers in JSON keep full double precision.",
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "paths": _paths(),
        "components": {
            "schemas": {**schemas, **ANSWERS},
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key, br_..."},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "baserate"},
            },
        },
    }
