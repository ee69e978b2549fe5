"""Definition: what a stream is made of (its classes, its holdout and its options), as a PUT says it."""

import hashlib
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.service._web import msgspec
from baserate.service.problems import InvalidError

if TYPE_CHECKING:
    from baserate.adapters import RegressAndReweight

Label = str | bool | int
"""A class, as people call it."""


class Options(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The options of a stream: the parameters of `RegressAndReweight`, and two of the service.

    Attributes
    ----------
    round_rows : int or None
        Collect requests into rounds of at least so many rows. None: each request is a round.
    shadow : bool
        Track and report, but answer the model's own probabilities.
    """

    tracker: None = None
    marginals: None = None
    calibrator: Literal["auto"] | None = "auto"
    transductive: bool = False
    floor: float | None = None
    bounds: tuple[float | list[float], float | list[float]] | None = None
    source_prior: list[float] | None = None
    enabled: bool = True
    max_waiting: int = 10_000
    gate: bool = True
    alpha: float | None = 0.05
    round_rows: int | None = None
    shadow: bool = False

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of `RegressAndReweight`."""
        own = {"round_rows", "shadow", "tracker", "marginals"}
        found = {name: getattr(self, name) for name in self.__struct_fields__ if name not in own}
        found["enabled"] = self.enabled and not self.shadow
        return found

    def check(self) -> None:
        """Refuse what the library would not notice before the first round."""
        if self.round_rows is not None and not 1 <= self.round_rows <= 1_000_000:
            raise InvalidError(
                f"options.round_rows is {self.round_rows}; expected 1 to 1,000,000 rows, or null.", "options.round_rows"
            )
        if not 0 <= self.max_waiting <= 1_000_000:
            raise InvalidError(
                f"options.max_waiting is {self.max_waiting}; expected 0 to 1,000,000 samples.", "options.max_waiting"
            )


class Definition(msgspec.Struct):
    """A stream as it was defined, without the holdout itself: of that, a hash tells whether it is the same.

    Attributes
    ----------
    classes : list
        The label of each column.
    options : Options
    positive : int
        The column that a single score is about.
    fingerprint : str
        A hash of everything in the definition.
    """

    classes: list[Label]
    options: Options
    positive: int
    fingerprint: str


class Holdout(msgspec.Struct):
    """A definition with the arrays that an adapter is fitted on."""

    definition: Definition
    proba: FloatArray
    labels: IntArray

    def fit(self) -> "RegressAndReweight":
        """Fit an adapter; whatever the library refuses is the request's fault."""
        from baserate.adapters import RegressAndReweight  # the process that reads requests never needs it

        options = self.definition.options
        try:
            return RegressAndReweight(**options.parameters()).fit(
                self.proba, self.labels, names=self.definition.classes
            )
        except (ValueError, TypeError) as error:
            raise InvalidError(str(error), "holdout") from error


def define(
    classes: list[Label], proba: FloatArray, labels: list[Label | None], options: Options, positive: int = 1
) -> Holdout:
    """Check a definition, and hash it."""
    check_classes(classes)
    options.check()
    columns = to_columns(labels, classes, "holdout.labels")
    if UNLABELLED in columns:
        raise InvalidError("holdout.labels has no label for some rows; drop these rows.", "holdout.labels")
    if len(columns) != len(proba):
        raise InvalidError(
            f"holdout.labels has {len(columns)} labels and holdout.proba {len(proba)} rows; give one for each row.",
            "holdout.labels",
        )
    if proba.ndim != 2 or proba.shape[1] != len(classes):
        raise InvalidError(
            f"holdout.proba has the shape {proba.shape}; expected a column for each of the {len(classes)} classes.",
            "holdout.proba",
        )
    told = hashlib.blake2b(msgspec.json.encode([classes, options, positive]), digest_size=32)
    told.update(proba.tobytes())
    told.update(columns.tobytes())
    return Holdout(Definition(classes, options, positive, told.hexdigest()), proba, columns)


def check_classes(classes: list[Label]) -> None:
    """Check that classes are two or more, of one kind, none twice."""
    if len(classes) < 2:
        raise InvalidError(f"classes has {len(classes)} entries; expected at least 2.", "classes")
    kinds = {type(name) for name in classes}
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InvalidError(
            f"classes holds labels of the kinds {names}; give all as text, or all as numbers.", "classes"
        )
    seen = set()
    for name in classes:
        if name in seen:
            raise InvalidError(f"classes holds {name!r} twice; give each class one column.", "classes")
        seen.add(name)


def to_columns(labels: list[Any], classes: list[Label], field: str) -> IntArray:
    """Return the column of each label, -1 where it is null."""
    places: dict[Any, int] = {(type(name), name): column for column, name in enumerate(classes)}
    places[type(None), None] = UNLABELLED
    found = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        place = places.get((type(label), label))
        if place is None:
            shown = ", ".join(map(repr, classes[:10])) + (", ..." if len(classes) > 10 else "")
            raise InvalidError(
                f"{field}[{i}] is {label!r:.100}, which is none of the classes {shown}. Where a label is not known, "
                "give null. A new class needs a model that knows it: PUT its holdout with ?refit=true.",
                field,
            )
        found[i] = place
    return found
