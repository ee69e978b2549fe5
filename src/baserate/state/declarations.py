"""Declarations: what a saved class holds, so that a whole file is checked before anything is built of it.

A class declares its parameters and its state by name (`Saves`), each by a spec (`baserate.state.specs`) or as a further
saved part (`Part`), which says which of its sizes must be its owner's. A file holds what is declared, and nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from typing import Any, NamedTuple, Self

from baserate.state.specs import (
    LONGEST,
    SHARE,
    Array,
    Each,
    Either,
    Fields,
    Flag,
    Foreign,
    Generator,
    Maybe,
    Number,
    Plain,
    SavedPart,
    Size,
    Sizes,
    Spec,
    Text,
    Together,
    Whole,
    flags,
    floats,
    ints,
    key_list,
    labels,
    priors,
    probabilities,
    vectors,
)
from baserate.state.unreadable import UnreadableError

__all__ = [
    "LONGEST",
    "SHARE",
    "Array",
    "Each",
    "Either",
    "Fields",
    "Flag",
    "Foreign",
    "Generator",
    "Maybe",
    "Number",
    "Part",
    "Plain",
    "Saved",
    "SavedPart",
    "Saves",
    "Size",
    "Sizes",
    "Spec",
    "Text",
    "Together",
    "Whole",
    "check_part",
    "flags",
    "floats",
    "ints",
    "key_list",
    "labels",
    "priors",
    "probabilities",
    "vectors",
]


@dataclass(frozen=True)
class Part:
    """A saved object of a class, or of one that follows a protocol.

    Parameters
    ----------
    kind : type
        The class, or a protocol of methods.
    sizes : mapping
        Which of its sizes is which of its owner's, such as ``{"k": "k"}``. A class of other people that declares
        nothing has no sizes to compare.
    fitted : bool
        Whether one that declares what it saves must have a state: one that was never fitted is refused.
    """

    kind: Any
    sizes: Mapping[str, Size] = field(default_factory=dict)
    fitted: bool = False

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse anything else, and a part whose own declaration refuses it."""
        if not isinstance(value, SavedPart) or not _follows(value.cls, self.kind):
            found = value.cls.__name__ if isinstance(value, SavedPart) else type(value).__name__
            raise UnreadableError(f"holds {where} that is a {found}, not a {self.kind.__name__}")
        if self.fitted and not value.state and vars(value.cls).get("saves") is not None:
            raise UnreadableError(f"holds {where} that was never fitted")
        found = check_part(value, where).known
        for inner, outer in self.sizes.items():
            if inner in found:
                sizes.agree(outer, found[inner], where)


@dataclass(frozen=True)
class ClassOf:
    """A class that can be saved, itself and not an object of it, that is of a kind.

    Parameters
    ----------
    kind : type
        The class, or a protocol of methods.
    """

    kind: Any

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse anything else."""
        if not isinstance(value, type) or not _follows(value, self.kind):
            raise UnreadableError(f"holds {where} that is no class of {self.kind.__name__}s")


@cache
def _follows(cls: type, kind: Any) -> bool:
    """Return whether a class is of a kind: for a protocol, with methods that need arguments where its methods do.

    Python itself compares names only, by which an `AccuracyEstimate` would be an estimator of class mixes.
    """
    if not issubclass(cls, kind):
        return False
    methods = [name for name, method in vars(kind).items() if callable(method) and not name.startswith("_")]
    return not getattr(kind, "_is_protocol", False) or all(
        _needs_arguments(getattr(cls, name)) for name in methods if _needs_arguments(vars(kind)[name])
    )


def _needs_arguments(method: Any) -> bool:
    given = list(signature(method).parameters.values())[1:]  # without self
    return any(argument.default is argument.empty for argument in given)


class Saved(NamedTuple):
    """The parameters and the state of an object in a file, and its sizes by name."""

    params: dict[str, Any]
    state: dict[str, Any]
    sizes: dict[str, int]


@dataclass(frozen=True)
class Saves:
    """The declaration of a class.

    Parameters
    ----------
    params, state : mapping
        Specs by name: of all parameters, and of everything in the state.
    optional : tuple of str
        Names in the state that may be missing.
    may_be_empty : bool
        Whether an object that was never fitted has no state at all.
    check : callable, optional
        Asked once all specs hold; returns what does not fit together, or an empty text.
    """

    params: Mapping[str, Spec] = field(default_factory=dict)
    state: Mapping[str, Spec] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    may_be_empty: bool = False
    check: "Callable[[Saved], str] | None" = None

    def extended(
        self,
        params: Mapping[str, Spec] | None = None,
        state: Mapping[str, Spec] | None = None,
        optional: tuple[str, ...] = (),
        check: "Callable[[Saved], str] | None" = None,
    ) -> Self:
        """The same, with more names: the declaration of a subclass."""
        return type(self)(
            {**self.params, **(params or {})},
            {**self.state, **(state or {})},
            (*self.optional, *optional),
            self.may_be_empty,
            check or self.check,
        )


def check_part(part: SavedPart, where: str) -> Sizes:
    """Check an object in a file by the declaration of its class, and all that it holds; gives its sizes."""
    sizes = Sizes()
    saves: Saves | None = vars(part.cls).get("saves")  # a subclass may hold more, so that it declares for itself
    if saves is None:
        for name in part.state.keys() & part.params.keys():
            raise UnreadableError(f"holds the parameter {where}.{name} a second time, in the state")
        for values in (part.params, part.state):
            _check_undeclared(values, where)
        return sizes
    Fields(saves.params).check(part.params, where, sizes)
    if part.state or not saves.may_be_empty:
        Fields(saves.state, saves.optional).check(part.state, where, sizes)
        if sizes.known.get("k", 2) < 2:
            raise UnreadableError(f"holds {where} of {sizes.known['k']} classes, not of 2 or more")
        if saves.check is not None and (problem := saves.check(Saved(part.params, part.state, sizes.known))):
            raise UnreadableError(f"does not fit together: {where} {problem}")
    return sizes


def _check_undeclared(value: Any, where: str) -> None:
    """Check the parts of an object of other people, which declares nothing itself."""
    if isinstance(value, SavedPart):
        check_part(value, where)
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_undeclared(item, f"{where}.{name}")
    elif isinstance(value, list | tuple):
        for item in value:
            _check_undeclared(item, where)
