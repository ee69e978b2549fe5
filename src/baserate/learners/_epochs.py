"""Training by epochs of mini-batches until the validation accuracy stops rising."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from baserate.learners._pool import Pool
from baserate.models.perceptron import ctrl_c_gets_through
from baserate.protocols import FloatArray, IntArray
from baserate.validation import check_integer

_LEAST = 10
"""Mini-batches in an epoch, at least: a net that has just begun is not to be judged after a step or two."""


def check_epochs(max_epochs: object, patience: object, batch_size: object) -> None:
    """Check the parameters of `train_in_epochs`."""
    check_integer(max_epochs, "max_epochs", 1)
    check_integer(patience, "patience", 1)
    check_integer(batch_size, "batch_size", 1)


def train_in_epochs(
    model: Any,
    pool: Pool,
    n_classes: int,
    weights: FloatArray,
    *,
    max_epochs: int,
    patience: int,
    batch_size: int,
    rng: np.random.Generator,
) -> int:
    """Train a model with `partial_fit`, in place; gives the number of mini-batches, each one gradient step of a net.

    Mini-batches are drawn from the samples that are not kept for validation. After an epoch, training stops if the best
    of the last `patience` validation accuracies is the oldest of them. The weights that samples are drawn with weigh
    the validation samples, too: what is trained for is what is judged. Before there are any validation samples, an
    update is `patience` epochs.

    Parameters
    ----------
    weights : (n,) array
        A positive weight for each sample of the pool.
    """
    train, held = np.flatnonzero(~pool.held), np.flatnonzero(pool.held)
    accuracies: list[float] = []
    steps = 0
    for epoch in range(1, max_epochs + 1):
        with warnings.catch_warnings():
            # The first rounds have fewer samples than a batch; scikit-learn's nets would say so every time.
            warnings.filterwarnings("ignore", message="Got `batch_size` less than 1 or larger than")
            with ctrl_c_gets_through():
                for rows in batches(train, weights, batch_size, rng):
                    model.partial_fit(pool.X[rows], pool.y[rows], classes=np.arange(n_classes))
                    steps += 1
        if len(held) == 0:
            if epoch == patience:
                break
            continue
        accuracies.append(float(np.average(model.predict(pool.X[held]) == pool.y[held], weights=weights[held])))
        if stopped_rising(accuracies, patience):
            break
    return steps


def batches(rows: IntArray, weights: FloatArray, batch_size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """The mini-batches of one epoch: as many as it takes to hand out as many samples as there are, ten at least.

    Each is drawn anew, with replacement. Not only because of the weights: in the first rounds a batch would otherwise
    be the same few samples over and over, and large steps without any noise are the end of many a net.
    """
    share = np.cumsum(weights[rows])
    size = min(batch_size, len(rows))
    for _ in range(max(-(-len(rows) // batch_size), _LEAST)):
        places = np.searchsorted(share, share[-1] * rng.random(size), side="right")
        yield rows[places.clip(max=len(rows) - 1)]  # a product may round up to the whole


def stopped_rising(accuracies: list[float], patience: int) -> bool:
    """Whether the best of the last `patience` accuracies is the oldest of them."""
    return len(accuracies) >= patience and int(np.argmax(accuracies[-patience:])) == 0
