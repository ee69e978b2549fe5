"""The body of a request of the Open Inference Protocol (v2)."""

from typing import Any

from baserate.service._web import msgspec


class Tensor(msgspec.Struct, forbid_unknown_fields=True):
    """A tensor of probabilities or logits, its data flat or nested."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any]
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)


class InferenceBody(msgspec.Struct, forbid_unknown_fields=True):
    """A request of the Open Inference Protocol."""

    inputs: list[Tensor]
    id: str | None = None
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    outputs: list[dict[str, Any]] | None = None
