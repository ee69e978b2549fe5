"""Specs: what a value in a state file must be, such as an array with its type, shape and range, a number, or a text.

Sizes in shapes are named (``"k"``): a name stands for the same number throughout an object.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from baserate.state.unreadable import UnreadableError

Size = int | str
"""A length: a number, or a name that stands for one."""

LONGEST = 2**53
"""The largest whole number that may stand in a state: larger ones overflow somewhere, and no count reaches it."""


class Sizes:
    """The numbers that names of sizes stand for in one object."""

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self.known = dict(known or {})

    def agree(self, size: Size, found: int, where: str) -> None:
        """Note what a size stands for, or check that it is what it stood for before."""
        expected = size if isinstance(size, int) else self.known.setdefault(size, found)
        if expected != found:
            raise UnreadableError(f"holds {where} of length {found}, not of length {expected}")


@dataclass(frozen=True)
class SavedPart:
    """An object in a file, before it is built: its class, parameters and state."""

    cls: Any
    params: dict[str, Any]
    state: dict[str, Any]


class Spec(Protocol):
    """Says what a value in a file must be."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse a value that is something else."""
        ...


@dataclass(frozen=True)
class Array:
    """An array of one type; use `floats`, `ints`, `flags`, `priors` and `labels` to make one.

    Parameters
    ----------
    dtype : str
    shape : tuple of int or str
    low, high : float or str, optional
        Limits, both allowed. A name of a size as the upper limit is a limit that is itself not allowed.
    finite : bool
        Whether NaN and infinities are refused.
    simplex : bool
        Whether each row sums to one, or nearly.
    within : float
        How nearly.
    """

    dtype: str
    shape: tuple[Size, ...]
    low: float | None = None
    high: float | str | None = None
    finite: bool = True
    simplex: bool = False
    within: float = 1e-2

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse an array of another type or shape, or with numbers out of range."""
        if not isinstance(value, np.ndarray) or value.dtype != np.dtype(self.dtype) or value.ndim != len(self.shape):
            found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
            raise UnreadableError(f"holds {where} as {found}, not as {np.dtype(self.dtype)} {self.shape}")
        for size, found in zip(self.shape, value.shape, strict=True):
            sizes.agree(size, found, where)
        if value.size == 0:
            return
        if self.finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise UnreadableError(f"holds {where} with a number that is not finite")
        if self.low is not None and not value.min() >= self.low:
            raise UnreadableError(f"holds {where} with a number below {self.low}")
        if isinstance(self.high, str):
            if value.max() >= sizes.known[self.high]:
                raise UnreadableError(f"holds {where} with a number that is none of {sizes.known[self.high]}")
        elif self.high is not None and not value.max() <= self.high:
            raise UnreadableError(f"holds {where} with a number above {self.high}")
        if self.simplex and not (np.abs(value.sum(axis=-1) - 1.0) <= self.within).all():
            raise UnreadableError(f"holds {where} that does not sum to one")


def floats(*shape: Size, low: float | None = None, high: float | None = None, finite: bool = True) -> Array:
    """An array of float64."""
    return Array("f8", shape, low, high, finite)


def ints(*shape: Size, low: float | None = -LONGEST, high: float | str | None = LONGEST) -> Array:
    """An array of int64."""
    return Array("i8", shape, low, high)


def flags(*shape: Size) -> Array:
    """An array of bool."""
    return Array("?", shape)


def vectors(*shape: Size, updates: float = 1.0) -> Array:
    """Vectors as trackers are given them, or sums of so many of them: see `check_vector`."""
    return Array("f8", shape, -1e9 * updates, 1e9 * updates)


def priors(*shape: Size, low: float = 0.0, within: float = 1e-2) -> Array:
    """Class mixes along the last axis."""
    return Array("f8", shape, low, 1.0 + 1e-9, simplex=True, within=within)


def probabilities(*shape: Size) -> Array:
    """Rows of probabilities as they come from a model, not quite normalised: see `check_proba`."""
    return Array("f8", shape, 0.0, 1.0 + 2e-3, simplex=True, within=2e-3)


def labels(size: Size, n_classes: str) -> Array:
    """Classes by number, each below `n_classes`."""
    return Array("i8", (size,), 0, n_classes)


@dataclass(frozen=True)
class Whole:
    """A whole number between two limits, both allowed; with a `size`, the number that this name stands for."""

    low: int = 0
    high: int = LONGEST
    size: str | None = None

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse another type, or a number out of range."""
        if not isinstance(value, Integral) or isinstance(value, bool) or not self.low <= int(value) <= self.high:
            raise UnreadableError(f"holds {where} that is no whole number from {self.low} to {self.high}")
        if self.size is not None:
            sizes.agree(self.size, int(value), where)


@dataclass(frozen=True)
class Number:
    """A number between two limits, both allowed."""

    low: float = -np.inf
    high: float = np.inf
    finite: bool = True

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse another type, or a number out of range."""
        if not isinstance(value, Real) or isinstance(value, bool):
            raise UnreadableError(f"holds {where} that is no number")
        if isinstance(value, Integral) and not -(2**63) <= int(value) < 2**63:  # compiled code cannot take it
            raise UnreadableError(f"holds {where} that is too large a number")
        if self.finite and not np.isfinite(float(value)):
            raise UnreadableError(f"holds {where} that is no finite number")
        if not (self.low <= float(value) <= self.high or (not self.finite and np.isnan(float(value)))):
            raise UnreadableError(f"holds {where} that is no number from {self.low} to {self.high}")


SHARE = Number(5e-324, 1.0 - 2.0**-53)
"""A number strictly between 0 and 1."""


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse anything else."""
        if not isinstance(value, bool | np.bool_):
            raise UnreadableError(f"holds {where} that is neither true nor false")


@dataclass(frozen=True)
class Text:
    """A text, one of several, or one that a regular expression matches as a whole."""

    choices: tuple[str, ...] | None = None
    pattern: str | None = None

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse anything else."""
        if not isinstance(value, str) or (self.choices is not None and value not in self.choices):
            raise UnreadableError(f"holds {where} that is none of {self.choices or 'texts'}")
        if self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            raise UnreadableError(f"holds {where} that is not like {self.pattern}")


@dataclass(frozen=True)
class Plain:
    """Plain data: numbers, texts, arrays, and lists, tuples and dicts of them; no saved part, nor a model."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse anything else."""
        if isinstance(value, list | tuple):
            for item in value:
                self.check(item, where, sizes)
        elif isinstance(value, dict):
            for item in value.values():
                self.check(item, where, sizes)
        elif not (value is None or isinstance(value, bool | int | float | str | np.ndarray | np.generic)):
            raise UnreadableError(f"holds {where} that is a {type(value).__name__}, not plain data")
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise UnreadableError(f"holds {where} that is a whole number of more than 64 bits")


@dataclass(frozen=True)
class Foreign:
    """A model of another library, which was handed over and is not in the file."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse what is in the file."""
        if value is None or isinstance(
            value, SavedPart | type | bool | int | float | str | list | tuple | dict | np.ndarray
        ):
            raise UnreadableError(f"holds {where} that is no model")


@dataclass(frozen=True)
class Generator:
    """A random generator, which is checked when it is read."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse anything else."""
        if not isinstance(value, np.random.Generator):
            raise UnreadableError(f"holds {where} that is no random generator")


@dataclass(frozen=True)
class Maybe:
    """Nothing, or what another spec says."""

    spec: Spec

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse what the other spec refuses."""
        if value is not None:
            self.spec.check(value, where, sizes)


@dataclass(frozen=True)
class Either:
    """A value that one of several specs accepts."""

    specs: tuple[Spec, ...]

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse what all of them refuse."""
        n_known = len(sizes.known)
        for spec in self.specs:
            try:
                spec.check(value, where, sizes)
            except UnreadableError as error:
                last = error
                for name in list(sizes.known)[n_known:]:  # those that the refused spec has noted
                    del sizes.known[name]
            else:
                return
        raise last


@dataclass(frozen=True)
class Each:
    """A list, or a tuple, of values that are alike."""

    spec: Spec
    length: Size | None = None

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse anything else."""
        if not isinstance(value, list | tuple):
            raise UnreadableError(f"holds {where} that is no list")
        if self.length is not None:
            sizes.agree(self.length, len(value), where)
        for item in value:
            self.spec.check(item, where, sizes)


def key_list(size: Size) -> Either:
    """Keys or ids: all are texts, or all are whole numbers of 64 bits."""
    return Either((Each(Text(), size), Each(Whole(-(2**63), 2**63 - 1), size)))


@dataclass(frozen=True)
class Together:
    """A list, or a tuple, of values that each have a spec of their own."""

    specs: tuple[Spec, ...]

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse anything else."""
        if not isinstance(value, list | tuple) or len(value) != len(self.specs):
            raise UnreadableError(f"holds {where} that is no list of {len(self.specs)}")
        for item, spec in zip(value, self.specs, strict=True):
            spec.check(item, where, sizes)


@dataclass(frozen=True)
class Fields:
    """Values by name: all that are declared, and no others.

    Parameters
    ----------
    specs : mapping
        Specs by name.
    optional : tuple of str
        Names that may be missing.
    """

    specs: Mapping[str, Spec]
    optional: tuple[str, ...] = ()

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse a dict with other names, or whose values are refused."""
        if not isinstance(value, dict):
            raise UnreadableError(f"holds {where} that is a {type(value).__name__}, not values by name")
        for name in value:
            if name not in self.specs:
                raise UnreadableError(f"holds {where}.{name}, which does not belong there")
        for name, spec in self.specs.items():
            if name in value:
                spec.check(value[name], f"{where}.{name}", sizes)
            elif name not in self.optional:
                raise UnreadableError(f"has no {where}.{name}")
