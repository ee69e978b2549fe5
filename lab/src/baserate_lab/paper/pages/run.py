"""Contents of a report."""

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
        Error in percent and squared distance of the tracked mix in each block, by method; None instead of the distance
        for a method that tracks no mix.
    marginals : (blocks, k) array
        Label frequencies in each block.
    classes : sequence of str
        Names of the classes.
    block : float
        Mean number of rounds in a block.
    """

    curves: Mapping[str, tuple[Sequence[float], Sequence[float] | None]]
    marginals: ArrayLike
    classes: Sequence[str]
    block: float = 1.0


class ShownArtefact(NamedTuple):
    """An artefact with its records and claims.

    `left_out` has a record without our number for each group of cells that a quick run leaves out, or that needs what
    a user's outputs do not have. `gains` are the gains over the base model, where the paper prints both errors.
    """

    artefact: Artefact
    records: Sequence[Record]
    claims: Sequence[Claim]
    timeline: Timeline | None = None
    left_out: Sequence[Record] = ()
    gains: Sequence[Record] = ()


class Reproduction(NamedTuple):
    """A whole run of ``baserate reproduce``.

    Attributes
    ----------
    command : str
        Command line of the run.
    seconds : float
        Duration of the run.
    artefacts : sequence of ShownArtefact
        Artefacts in the order in which they are shown.
    reasons : mapping of str to str
        Why numbers differ from the paper's, by data set and model (``mnist mlp``).
    in_methods : float
        Seconds of one core that the methods took, in this run or when their results were stored.
    failures : sequence of str
        Reasons why some cells gave no result.
    """

    command: str
    seconds: float
    artefacts: Sequence[ShownArtefact]
    reasons: Mapping[str, str]
    in_methods: float = 0.0
    failures: Sequence[str] = ()


def fields_of(artefact: Artefact, records: Sequence[Record]) -> tuple[str, ...]:
    """Fields that tell columns apart: the artefact's own, and more if two numbers would share a cell."""
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
    """Values of a record in some fields."""
    return tuple(getattr(record, field) for field in fields)
