"""A cell of the grid, and what came out of it."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from baserate_lab.paper.runs.problems import Problem

REAL = "real"
"""The shift of a target that is replayed in its own order."""


class Cell(NamedTuple):
    """One run: everything that decides its result.

    Attributes
    ----------
    dataset, model : str
        A pair of `baserate_lab.models.RECIPES`.
    shift : str
        ``mon``, ``squ``, ``sin``, ``ber``, or ``real`` for the target in its own order.
    holdout : int
        Labelled samples that the method is given, at most as many as there are.
    method : str
        Its label, as in the paper.
    seed : int
        Of the stream and of the choice of the holdout.
    model_seed : int
        Of the base model.
    marginal : str
        ``BBSE``, ``MLLS`` or ``RLLS``.
    batch_size, n_rounds : int
        Shape of the stream.
    train_share : float
        The part of the source that the base model is trained on; the rest is the holdout.
    """

    dataset: str
    model: str
    shift: str
    holdout: int
    method: str
    seed: int
    model_seed: int = 0
    marginal: str = "BBSE"
    batch_size: int = 10
    n_rounds: int = 1000
    train_share: float = 0.8


class Result(NamedTuple):
    """What came out of a cell; what a method has not is None.

    Attributes
    ----------
    error : float or None
        Percent.
    mse : float or None
        Mean squared distance of the tracked mix to the label frequencies of each batch, as the paper has it.
    mse_true : float or None
        The same to the true mix.
    seconds : float
        Spent in the method.
    bytes : int or None
        Size of the state at the end, where it is asked for.
    block_errors, block_mses : list of float or None
        Error and squared distance in blocks of rounds, for streams that are shown over time.
    end_error : float or None
        Percent, in the last quarter of the rounds: what a learner has come to.
    steps, calls : int or None
        Gradient steps of a learner, and how often it trained a model from scratch.
    """

    error: float | None
    mse: float | None
    mse_true: float | None
    seconds: float
    bytes: int | None = None
    block_errors: list[float] | None = None
    block_mses: list[float] | None = None
    end_error: float | None = None
    steps: int | None = None
    calls: int | None = None


def grid(problem: Problem, shifts: Iterable[str], methods: Iterable[str], seeds: int, **fixed: Any) -> Iterator[Cell]:
    """All cells of a problem; a base model of its own for each seed where that is cheap.

    Parameters
    ----------
    problem : Problem
        Data set and base model.
    shifts, methods : iterables of str
        Labels.
    seeds : int
        How many, or as many as the problem has at most.
    **fixed
        Other fields of the cells; `holdout` is the problem's small one if not given.
    """
    fixed = {"holdout": problem.small, **fixed}
    for seed in range(min(seeds, problem.most_seeds)):
        model_seed = seed if problem.cheap else 0
        for shift in shifts:
            for method in methods:
                named: dict[str, Any] = {"shift": shift, "method": method, "seed": seed, "model_seed": model_seed}
                yield Cell(problem.dataset, problem.model, **named, **fixed)
