"""All data sets by name."""

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from baserate.datasets import Dataset

NAMES = (
    "arxiv", "arxiv_titles", "cifar10", "cinic10", "covertype", "crop", "digits", "elec2", "employment", "eurosat",
    "fashion", "hapt", "mnist", "newsgroups", "occupancy", "reuters", "shl", "spam_assassin", "synthetic", "weather",
)  # fmt: skip


_IN_THE_PACKAGE = ("digits", "synthetic")  # baserate itself has these, for its examples


def module_of(name: str) -> ModuleType:
    """The module that loads a data set."""
    package = "baserate" if name in _IN_THE_PACKAGE else "baserate_lab"
    return import_module(f"{package}.datasets.{name}")


def names() -> list[str]:
    """Names of all data sets in alphabetical order.

    Examples
    --------
    >>> names()[:3]
    ['arxiv', 'arxiv_titles', 'cifar10']
    """
    return list(NAMES)


def load(name: str, **options: Any) -> Dataset:
    """Load a data set by its name.

    Parameters
    ----------
    name : str
        One of `names`.
    **options
        Passed to the data set's own ``load``, such as ``folder``; see the module of that name.

    Examples
    --------
    >>> load("digits").source_X.shape
    (1198, 64)
    """
    if name not in NAMES:
        raise ValueError(f"there is no data set {name!r}; there are: {', '.join(NAMES)}.")
    loader = module_of(name).load
    known = inspect.signature(loader).parameters
    for option in options:
        if option not in known:
            raise TypeError(f"the data set {name} has no option {option!r}; it has: {', '.join(known) or 'none'}.")
    return cast(Dataset, loader(**options))
