"""Data sets, one module each: ``load()`` gives a `Dataset`."""

from typing import TYPE_CHECKING, Any

from baserate.datasets import Dataset
from baserate_lab.datasets._catalogue import NAMES, load, module_of, names
from baserate_lab.datasets._fetch import DataNotFoundError, WrongDataError

if TYPE_CHECKING:
    from baserate.datasets import digits, synthetic
    from baserate_lab.datasets import (
        arxiv,
        arxiv_titles,
        cifar10,
        cinic10,
        covertype,
        crop,
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
        weather,
    )

__all__ = [
    "DataNotFoundError", "Dataset", "WrongDataError", "arxiv", "arxiv_titles", "cifar10", "cinic10", "covertype",
    "crop", "digits", "elec2", "employment", "eurosat", "fashion", "hapt", "load", "mnist", "names", "newsgroups",
    "occupancy", "reuters", "shl", "spam_assassin", "synthetic", "weather",
]  # fmt: skip


# Imported on first use: one data set must not wait for what another needs.
def __getattr__(name: str) -> Any:
    if name in NAMES:
        return module_of(name)
    raise AttributeError(f"module 'baserate_lab.datasets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
