"""What the commands that measure on draws of a holdout and a stream ask for, and how they go through it all."""

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
    """A parser that knows which models, holdouts, how many draws and which seed; with these defaults."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--models", nargs="+", default=list(models), choices=list(MODELS))
    made.add_argument("--holdouts", nargs="+", type=int, default=list(holdouts))
    made.add_argument("--draws", type=int, default=draws)
    made.add_argument("--seed", type=int, default=0)
    return made


def for_all(asked: argparse.Namespace, run: Callable[[str, int], list[Row]]) -> list[Row]:
    """The rows of each model and holdout that was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of small holdouts; that is the point
        return [row for model in asked.models for size in asked.holdouts for row in run(model, size)]
