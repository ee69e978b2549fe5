"""Names, order and digits of methods, data sets and metrics, the same on every page."""

import math
import re
from collections.abc import Iterable

import numpy as np

METHODS = ("Base", "OFC", "Oracle", "FTH", "FTFWH", "ROGD", "UOGD", "ATLAS", "FLH-FTL")
"""Methods that come first, in this order; all others follow as they appear."""
SHIFTS = ("mon", "squ", "sin", "ber", "real")
_DATASETS = {
    "synthetic": "Synthetic",
    "mnist": "MNIST",
    "fashion": "Fashion-MNIST",
    "cifar10": "CIFAR-10",
    "cinic10": "CINIC-10",
    "eurosat": "EuroSAT",
    "arxiv": "arXiv",
    "arxiv-random": "arXiv (random split)",
    "arxiv_titles": "arXiv titles, other categories",
    "shl": "SHL",
    "hapt": "HAPT",
    "crop": "Crop",
    "own": "Own outputs",
}
_METRICS = {
    "error": "Error %",
    "mse": "MSE to batch labels",
    "mse_true": "MSE to true mix",
    "end_error": "Error % in the last quarter",
    "minutes": "Minutes",
    "steps": "Gradient steps",
    "calls": "Trainings from scratch",
    "seconds": "Seconds",
    "bytes": "Bytes",
}
_DIGITS = {
    "error": 2,
    "end_error": 2,
    "mse": 3,
    "mse_true": 3,
    "minutes": 1,
    "seconds": 2,
    "bytes": 0,
    "steps": 0,
    "calls": 1,
}
_AXES = {
    "holdout": "labelled samples in the holdout",
    "batch": "samples in a round",
    "train": "share of the source that the model is trained on",
    "round": "round",
}


def is_reference(method: str) -> bool:
    """True for methods that do not adapt or are given the truth; they are never marked as the best."""
    return method in ("OFC", "w-ERM") or method.startswith(("Base", "Oracle"))


def in_order(methods: Iterable[str]) -> list[str]:
    """Methods without repetitions, in the order of the paper.

    Examples
    --------
    >>> in_order(["Arrows", "FLH-FTL", "Base", "Arrows"])
    ['Base', 'FLH-FTL', 'Arrows']
    """
    names = list(dict.fromkeys(methods))
    return sorted(names, key=lambda name: METHODS.index(name) if name in METHODS else len(METHODS))


def dataset(name: str) -> str:
    """Printed name of a data set."""
    return _DATASETS.get(name, name)


def problem(name: str) -> str:
    """Printed name of a data set and its model, given as ``mnist mlp``.

    Examples
    --------
    >>> problem("mnist mlp")
    'MNIST (mlp)'
    """
    of, _, model = name.partition(" ")
    return f"{dataset(of)} ({model})" if model else dataset(of)


def metric(name: str) -> str:
    """A metric in words."""
    return _METRICS.get(name, name)


def axis(name: str) -> str:
    """Label of a horizontal axis, for a field or for the part of a variant before its ``=``."""
    return _AXES.get(name, name)


def number_of(variant: str) -> float | None:
    """The number in a variant, if there is one.

    Examples
    --------
    >>> number_of("batch=50"), number_of("train=0.5"), number_of("marginal=MLLS")
    (50.0, 0.5, None)
    """
    found = re.search(r"=\s*(\d+(?:\.\d+)?)\s*$", variant)
    return float(found[1]) if found else None


def ours(mean: float, metric: str) -> str:
    """One of our numbers, with the digits of its metric."""
    return f"{mean:,.{_DIGITS.get(metric, 3)}f}" if math.isfinite(mean) else "diverged"


def printed(value: float, digits: int | None = None) -> str:
    """A number of the paper, with `digits` decimals, or with as many as it needs.

    Nothing is rounded away, because some standard deviations are printed with more digits than their means.

    Examples
    --------
    >>> printed(16.0), printed(0.075), printed(8.0, 1), printed(3.7, 0)
    ('16', '0.075', '8.0', '3.7')
    """
    said = "" if digits is None else f"{value:.{digits}f}"
    return said if said and float(said) == value else np.format_float_positional(value, trim="-")


def took(seconds: float, in_methods: float) -> str:
    """Duration of a run, and of all the methods it shows.

    Examples
    --------
    >>> took(4.2, 7380.0)
    '4 s (the methods shown took 2 h 3 min of one core)'
    """
    return f"{duration(seconds)} (the methods shown took {duration(in_methods)} of one core)"


def duration(seconds: float) -> str:
    """Duration in words, with suitable units.

    Examples
    --------
    >>> duration(4.2), duration(125), duration(7380)
    ('4 s', '2 min 5 s', '2 h 3 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
