"""Training in epochs of mini-batches until the validation accuracy stops rising."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from baserate.learners._estimators import being_trained
from baserate.learners._pool import Pool
from baserate.protocols import FloatArray, IntArray
from baserate.validation import check_integer

_LEAST = 10
"""Least number of mini-batches in an epoch, so that a new model is not judged after a step or two."""


def check_epochs(max_epochs: object, patience: object, batch_size: object, epoch_steps: object) -> None:
    """Check the parameters of `train_in_epochs`."""
    check_integer(max_epochs, "max_epochs", 1)
    check_integer(patience, "patience", 1)
    check_integer(batch_size, "batch_size", 1)
    if epoch_steps is not None:
        check_integer(epoch_steps, "epoch_steps", 1)


def train_in_epochs(
    model: Any,
    pool: Pool,
    n_classes: int,
    weights: FloatArray,
    *,
    max_epochs: int,
    patience: int,
    batch_size: int,
    epoch_steps: int | None,
    rng: np.random.Generator,
) -> int:
    """Train a model with `partial_fit`, in place; return the number of mini-batches (gradient steps of a network).

    Mini-batches are drawn from the samples that are not kept for validation. After an epoch, training stops if the best
    of the last `patience` validation accuracies is the oldest of them. The same weights are used for drawing
    training samples and for the validation accuracy. Without validation samples, training takes `patience` epochs.

    Parameters
    ----------
    weights : (n,) array
        A positive weight for each sample of the pool.
    epoch_steps : int, optional
        Mini-batches in an epoch. Default: enough for as many samples as there are, at least ten.
    """
    train = np.flatnonzero(~pool.held)
    accuracies: list[float] = []
    per_epoch = epoch_steps or max(-(-len(train) // batch_size), _LEAST)
    steps = 0
    for epoch in range(1, max_epochs + 1):
        with being_trained():
            for rows in batches(train, weights, min(batch_size, len(train)), per_epoch, rng):
                model.partial_fit(pool.X[rows], pool.y[rows], classes=np.arange(n_classes))
                steps += 1
        if len(train) == len(pool.y):
            if epoch == patience:
                break
            continue
        accuracies.append(validation_accuracy(model, pool, weights))
        if stopped_rising(accuracies, patience):
            break
    return steps


def validation_accuracy(model: Any, pool: Pool, weights: FloatArray) -> float:
    """Return the weighted accuracy of a model on the validation samples."""
    held = pool.held
    return float(np.average(model.predict(pool.X[held]) == pool.y[held], weights=weights[held]))


def best_constant_accuracy(pool: Pool, weights: FloatArray) -> float:
    """Return the weighted validation accuracy of the best constant prediction."""
    of_class = np.bincount(pool.y[pool.held], weights[pool.held])
    return float(of_class.max() / of_class.sum())


def batches(
    rows: IntArray, weights: FloatArray, size: int, n_batches: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Yield mini-batches of rows, drawn with replacement in proportion to their weights.

    Replacement also matters in the first rounds: otherwise every batch would be the same few samples, and large steps
    without noise ruin many networks.
    """
    share = np.cumsum(weights[rows])
    for _ in range(n_batches):
        places = np.searchsorted(share, share[-1] * rng.random(size), side="right")
        yield rows[places.clip(max=len(rows) - 1)]  # a product may round up to the whole


def stopped_rising(accuracies: list[float], patience: int) -> bool:
    """Return whether the best of the last `patience` accuracies is the oldest of them."""
    return len(accuracies) >= patience and int(np.argmax(accuracies[-patience:])) == 0
