"""Schemas and examples of answers, for the description of the API."""

from typing import Any

Schema = dict[str, Any]

NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
LABEL: Schema = {"type": ["string", "integer", "boolean"]}
SHARES: Schema = {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}}
FLAGS: Schema = {"type": "object", "additionalProperties": TRUTH}
ACCURACY: Schema = {
    "type": ["object", "null"],
    "properties": {"value": {"type": ["number", "null"]}, "low": NUMBER, "high": NUMBER},
    "required": ["value", "low", "high"],
}


def listed(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def having(**properties: Schema) -> Schema:
    """Return the schema of an object that has all of some properties."""
    return {"type": "object", "properties": properties, "required": sorted(properties)}


PROBLEM = {
    "type": "object",
    "properties": {"error": TEXT, "field": TEXT},
    "required": ["error"],
    "example": {"error": "proba row 0 sums to 0.8; expected 1. Normalise the rows.", "field": "proba"},
}
ANSWER = {
    "type": "object",
    "description": "Adapted rows and their most probable classes (neither with mode=learn), the class mix that was "
    "used, the number of rounds so far, and flags.",
    "properties": {
        "proba": listed(SHARES),
        "labels": listed(LABEL),
        "prior": SHARES,
        "round": WHOLE,
        "flags": FLAGS,
    },
    "required": ["prior", "round", "flags"],
}
SUMMARY = having(
    name=TEXT, classes=listed(LABEL), created=NUMBER, round=WHOLE, rows=WHOLE, labels=WHOLE, waiting=WHOLE,
    shadow=TRUTH, prior=SHARES, source_prior=SHARES, alarm=TRUTH, weight=NUMBER, evidence=NUMBER, reason=TEXT,
    at={"type": ["number", "null"]}, rate=NUMBER, accuracy=ACCURACY, health=listed(TEXT),
)  # fmt: skip
STREAM = having(
    name=TEXT, classes=listed(LABEL), options={"$ref": "#/components/schemas/Options"}, created=NUMBER, round=WHOLE,
    rows=WHOLE, buffered_rows=WHOLE, labels=WHOLE, waiting=WHOLE, missed_labels=WHOLE, label_lag=NUMBER, shadow=TRUTH,
    prior=SHARES, source_prior=SHARES, bands=listed(SHARES), offsets=listed({"type": ["number", "null"]}),
    gate=having(weight=NUMBER, fallback=TRUTH, reason=TEXT, since={"type": ["integer", "null"]}),
    evidence=having(value=NUMBER, alarm=TRUTH, alarm_at={"type": ["number", "null"]}, untested=TEXT,
                    findings=listed(TEXT)),
    estimated_accuracy=ACCURACY, unknown_mass=NUMBER, serial_correlation=NUMBER, calibration=TEXT, health=listed(TEXT),
)  # fmt: skip
POINT = having(
    at=NUMBER, round=WHOLE, rows=WHOLE, labels=WHOLE, waiting=WHOLE, prior=SHARES, low=SHARES, high=SHARES,
    weight=NUMBER, evidence=NUMBER, alarm=TRUTH, shadow=TRUTH, accuracy=ACCURACY, rate=NUMBER,
)  # fmt: skip
EVENT = having(at=NUMBER, round=WHOLE, kind=TEXT, text=TEXT)
HISTORY = having(name=TEXT, classes=listed(LABEL), points=listed(POINT), events=listed(EVENT))
REQUESTS = having(
    requests=listed(having(id=TEXT, proba=SHARES, label=LABEL, probability=NUMBER, reason=TEXT, since=NUMBER))
)
TENSOR = having(name=TEXT, shape=listed(WHOLE), datatype=TEXT, data={"type": "array"})
INFERENCE = having(model_name=TEXT, model_version=TEXT, outputs=listed(TENSOR), parameters={"type": "object"})
FOUND = having(found=WHOLE)
LABELS_FOUND = having(found=WHOLE, unknown=WHOLE, waiting=WHOLE)
SESSION = having(name=TEXT, scope=TEXT, open=TRUTH, ready=TRUTH)

ANSWERS: dict[str, Schema] = {
    "Problem": PROBLEM, "Answer": ANSWER, "Summary": SUMMARY, "Stream": STREAM, "Point": POINT, "Event": EVENT,
    "History": HISTORY, "Requests": REQUESTS, "InferenceAnswer": INFERENCE, "Found": FOUND,
    "LabelsFound": LABELS_FOUND, "Session": SESSION,
}  # fmt: skip

HELD = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.2, 0.8], [0.1, 0.9], [0.3, 0.7]]
EXAMPLES: dict[str, Any] = {
    "StreamBody": {
        "classes": ["ham", "spam"],
        "holdout": {"proba": HELD * 20, "labels": ["ham", "ham", "ham", "spam", "spam", "spam"] * 20},
        "options": {"round_rows": None, "shadow": False},
    },
    "AdaptBody": {
        "proba": [[0.7, 0.3], [0.2, 0.8]],
        "ids": ["mail-1", "mail-2"],
        "labels": [None, "spam"],
        "batch_id": "2026-11-18/1",
    },
    "LabelsBody": {"ids": ["mail-1"], "labels": ["ham"]},
    "ChangeBody": {"shadow": True},
    "LoginBody": {"key": "br_..."},
    "InferenceBody": {
        "id": "42",
        "inputs": [{"name": "proba", "shape": [1, 2], "datatype": "FP64", "data": [0.7, 0.3]}],
    },
    "Answer": {
        "proba": [[0.6, 0.4], [0.1, 0.9]],
        "labels": ["ham", "spam"],
        "prior": [0.4, 0.6],
        "round": 1,
        "flags": {"enabled": True, "transductive": False, "fallback": False, "alarm": False},
    },
    "LabelsFound": {"found": 1, "unknown": 0, "waiting": 0},
    "Found": {"found": 1},
}
"""Examples of bodies and answers, by the name of their schema; those of bodies work as they are."""
