"""Independent pairs of a holdout and a stream, drawn from a model's outputs as if those were the whole world."""

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
    """All outputs of a model on samples it was not trained on."""

    proba: FloatArray
    y: IntArray


class Draw(NamedTuple):
    """An adapter as fitted on a holdout, its rows of the world, and as calibrated; the whole world calibrated alike."""

    adapter: RegressAndReweight
    rows: IntArray
    holdout: FloatArray
    y: IntArray
    world: FloatArray


def world_of(name: str) -> World:
    """Holdout and target together."""
    both = outputs(*MODELS[name])
    return World(np.vstack([both.holdout_proba, both.target_proba]), np.concatenate([both.holdout_y, both.target_y]))


def shifts(world: World, moving: int) -> dict[str, Shift]:
    """The paths of the tables: none (the world's own mix, of which a holdout is a sample), and one class moves."""
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
    """Draw with replacement, so that the world's class conditionals are the truth for holdout and stream alike.

    What is measured is what users get: an adapter with its defaults, but for the tracker, if one is given.
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
    """Per round its class mix, and rows of the world drawn with replacement."""
    n_rounds, k = path.shape
    shares = path.cumsum(axis=1) / path.sum(axis=1, keepdims=True)
    classes = (shares[:, np.newaxis, :-1] <= rng.random((n_rounds, batch_size, 1))).sum(axis=2)
    rows = np.empty((n_rounds, batch_size), dtype=np.int64)
    for c in range(k):
        rows[classes == c] = rng.choice(np.flatnonzero(world.y == c), (classes == c).sum())
    return list(zip(path, rows, strict=True))
