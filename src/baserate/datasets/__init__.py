"""Data sets, one module each: ``load()`` gives a `Dataset`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from baserate.datasets._catalogue import NAMES, load, names
from baserate.datasets._dataset import Dataset
from baserate.datasets._fetch import DataNotFoundError, WrongDataError

if TYPE_CHECKING:
    from baserate.datasets import (
        arxiv,
        cifar10,
        cinic10,
        covertype,
        crop,
        digits,
        elec2,
        employment,
        eurosat,
        fashion,
        hapt,
        mnist,
        newsgroups,
        occupancy,
        reuters,
        shl,
        spam_assassin,
        synthetic,
        weather,
    )

__all__ = [
    "DataNotFoundError", "Dataset", "WrongDataError", "arxiv", "cifar10", "cinic10", "covertype", "crop", "digits",
    "elec2", "employment", "eurosat", "fashion", "hapt", "load", "mnist", "names", "newsgroups", "occupancy", "reuters",
    "shl", "spam_assassin", "synthetic", "weather",
]  # fmt: skip


# Imported on first use: one data set must not wait for what another needs.
def __getattr__(name: str) -> Any:
    if name in NAMES:
        return import_module(f"baserate.datasets.{name}")
    raise AttributeError(f"module 'baserate.datasets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
