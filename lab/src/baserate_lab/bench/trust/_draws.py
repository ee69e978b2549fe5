"""Independent pairs of a holdout and a stream, drawn from a model's outputs as if these were the population."""

from typing import NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.protocols import FloatArray, IntArray, Shift, Tracker
from baserate.shifts import Bernoulli, Constant, Monotone, Sinusoidal, Square
from baserate_lab.models import outputs

MODELS = {
    "Synthetic": ("synthetic", "linear"),
    "MNIST": ("mnist", "mlp"),
    "CIFAR-10": ("cifar10", "resnet18-narrow"),
}


class World(NamedTuple):
    """Outputs of a model on all samples it was not trained on; holdouts and streams are drawn from them."""

    proba: FloatArray
    y: IntArray


class Draw(NamedTuple):
    """An adapter, the holdout it was fitted on (rows, calibrated outputs), and the world calibrated by the adapter."""

    adapter: RegressAndReweight
    rows: IntArray
    holdout: FloatArray
    y: IntArray
    world: FloatArray


def world_of(name: str) -> World:
    """The world of a set: holdout and target together."""
    both = outputs(*MODELS[name])
    return World(np.vstack([both.holdout_proba, both.target_proba]), np.concatenate([both.holdout_y, both.target_y]))


def shifts(world: World, moving: int) -> dict[str, Shift]:
    """Shifts of the tables: none (the mix of the world, as in the holdout), and shifts that move one class."""
    k = world.proba.shape[1]
    alone = np.eye(k)[moving]
    half = 0.5 * alone + 0.5 * (1.0 - alone) / (k - 1)
    return {
        "Source": Constant(np.bincount(world.y, minlength=k) / len(world.y)),
        "Constant": Constant(half),
        "Monotone": Monotone(second=alone),
        "Sinusoidal": Sinusoidal(second=alone),
        "Bernoulli": Bernoulli(second=alone),
        "Square": Square(second=alone),
    }


def draw_holdout(world: World, size: int, rng: np.random.Generator, tracker: Tracker | None = None) -> Draw:
    """Draw a holdout with replacement and fit an adapter on it.

    Holdout and stream thus have the class conditionals of the world. The adapter has its defaults, except for the
    tracker if one is given.
    """
    k = world.proba.shape[1]
    while True:
        rows = rng.integers(0, len(world.y), size)
        if np.bincount(world.y[rows], minlength=k).min() > 0:
            break
    adapter = RegressAndReweight(tracker).fit(world.proba[rows], world.y[rows])
    calibrated = adapter.calibrate(world.proba)
    return Draw(adapter, rows, calibrated[rows], world.y[rows], calibrated)


def draw_stream(
    world: World, path: FloatArray, batch_size: int, rng: np.random.Generator
) -> list[tuple[FloatArray, IntArray]]:
    """Class mix of each round, and rows of the world drawn with replacement."""
    n_rounds, k = path.shape
    shares = path.cumsum(axis=1) / path.sum(axis=1, keepdims=True)
    classes = (shares[:, np.newaxis, :-1] <= rng.random((n_rounds, batch_size, 1))).sum(axis=2)
    rows = np.empty((n_rounds, batch_size), dtype=np.int64)
    for c in range(k):
        rows[classes == c] = rng.choice(np.flatnonzero(world.y == c), (classes == c).sum())
    return list(zip(path, rows, strict=True))
