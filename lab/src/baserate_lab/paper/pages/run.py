"""All that a report is made of."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.pages.records import Claim, Record


class Timeline(NamedTuple):
    """A stream over time, in blocks of rounds.

    Attributes
    ----------
    curves : mapping of str to pair
        Of each method, its error in percent and the squared distance of its mix in each block; None in place of the
        latter for a method without a mix.
    marginals : (blocks, k) array
        Label frequencies in each block.
    classes : sequence of str
        Their names.
    block : float
        Rounds in a block, on average.
    """

    curves: Mapping[str, tuple[Sequence[float], Sequence[float] | None]]
    marginals: ArrayLike
    classes: Sequence[str]
    block: float = 1.0


class Part(NamedTuple):
    """An artefact and what came of it."""

    artefact: Artefact
    records: Sequence[Record]
    claims: Sequence[Claim]
    timeline: Timeline | None = None


class Run(NamedTuple):
    """A whole run.

    Attributes
    ----------
    command : str
        What was typed.
    seconds : float
        How long it took.
    artefacts : sequence of Part
        In the order in which they are shown.
    reasons : mapping of str to str
        Of a data set and model (``mnist mlp``), why its numbers differ from the paper's.
    in_methods : float
        Seconds of one core that the methods themselves took, now or when their results were made.
    failures : sequence of str
        Why some cells gave no result.
    """

    command: str
    seconds: float
    artefacts: Sequence[Part]
    reasons: Mapping[str, str]
    in_methods: float = 0.0
    failures: Sequence[str] = ()


def fields_of(artefact: Artefact, records: Sequence[Record]) -> tuple[str, ...]:
    """Fields that tell columns apart: the artefact's, and those without which two numbers would share a cell."""
    axis = (artefact.x,) if artefact.x in Record._fields else ()
    fields = tuple(dict.fromkeys((*artefact.columns, *axis)))

    def shared() -> bool:
        keys = [(record.metric, record.method, key_of(record, fields)) for record in records]
        return len(set(keys)) < len(keys)

    for extra in ("dataset", "model", "shift", "variant", "holdout"):
        if not shared():
            return fields
        if extra not in fields and len({getattr(record, extra) for record in records}) > 1:
            fields = (*fields, extra)
    if shared():
        raise ValueError(f"{artefact.name}: two records are of the same method, metric and {', '.join(fields)}.")
    return fields


def key_of(record: Record, fields: Sequence[str]) -> tuple[Any, ...]:
    """What a record has in some fields."""
    return tuple(getattr(record, field) for field in fields)
