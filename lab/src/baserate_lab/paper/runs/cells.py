"""Cells of the grid, and their results."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from baserate_lab.paper.runs.problems import PaperProblem

REAL = "real"
"""Shift of a target that is replayed in its own order."""


class PaperCell(NamedTuple):
    """Everything that decides the result of one run.

    Attributes
    ----------
    dataset, model : str
        A pair of `baserate_lab.models.RECIPES`.
    shift : str
        ``mon``, ``squ``, ``sin``, ``ber``, or ``real`` for the target in its own order.
    holdout : int
        Labelled samples that the method is given; all of them if there are fewer.
    method : str
        Label of the method, as in the paper.
    seed : int
        Seed of the stream and of the choice of the holdout.
    model_seed : int
        Seed of the base model.
    marginal : str
        ``BBSE``, ``MLLS`` or ``RLLS``.
    batch_size, n_rounds : int
        Shape of the stream.
    train_share : float
        Share of the source that the base model is trained on; the rest is the holdout.
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


class PaperResult(NamedTuple):
    """Result of a cell; None for values that a method does not have.

    Attributes
    ----------
    error : float or None
        Error rate in percent.
    mse : float or None
        Mean squared distance of the tracked mix to the label frequencies of each batch, as in the paper.
    mse_true : float or None
        Mean squared distance of the tracked mix to the true mix.
    seconds : float
        Time spent in the method.
    bytes : int or None
        Size of the state at the end, if measured.
    block_errors, block_mses : list of float or None
        Error and squared distance in blocks of rounds, for streams that are shown over time.
    end_error : float or None
        Error rate of a learner in the last quarter of the rounds, in percent.
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


def grid(
    problem: PaperProblem, shifts: Iterable[str], methods: Iterable[str], seeds: int, **fixed: Any
) -> Iterator[PaperCell]:
    """All cells of a problem; each seed has its own base model if training is cheap; if not, they take turns.

    Parameters
    ----------
    problem : PaperProblem
        Data set and base model.
    shifts, methods : iterables of str
        Labels.
    seeds : int
        Number of seeds; at most `most_seeds` of the problem.
    **fixed
        Other fields of the cells; `holdout` is the problem's small one by default.
    """
    fixed = {"holdout": problem.small, **fixed}
    for seed in range(min(seeds, problem.most_seeds)):
        model_seed = problem.network(seed)
        for shift in shifts:
            for method in methods:
                named: dict[str, Any] = {"shift": shift, "method": method, "seed": seed, "model_seed": model_seed}
                yield PaperCell(problem.dataset, problem.model, **named, **fixed)
