"""Command-line options and main loop shared by the benchmarks on draws of a holdout and a stream."""

import argparse
import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

from baserate_lab.bench.trust._draws import MODELS

Row = TypeVar("Row")
HOLDOUTS = (200, 1000, 10_000)


def parser(
    about: str | None, *, draws: int, models: Sequence[str] = tuple(MODELS), holdouts: Sequence[int] = HOLDOUTS
) -> argparse.ArgumentParser:
    """A parser with options for models, holdout sizes, number of draws and seed, with these defaults."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--models", nargs="+", default=list(models), choices=list(MODELS))
    made.add_argument("--holdouts", nargs="+", type=int, default=list(holdouts))
    made.add_argument("--draws", type=int, default=draws)
    made.add_argument("--seed", type=int, default=0)
    return made


def for_all(asked: argparse.Namespace, measure: Callable[[str, int], list[Row]]) -> list[Row]:
    """Rows of every model and holdout size that was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # small holdouts are tested on purpose
        return [row for model in asked.models for size in asked.holdouts for row in measure(model, size)]
