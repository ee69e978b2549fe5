"""Streams that violate label shift: disturbed images, a class unknown to the model, class means that moved."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped]

from baserate.protocols import FloatArray, IntArray
from baserate_lab.datasets import load

_TRAIN, _POOL = 12_000, 30_000
_LEVELS = 12  # bisection steps in the search for a change of a given cost
_MOST = 4.0  # the largest change searched
_MEASURED = 6000  # samples to measure accuracy with


class SamplePool(NamedTuple):
    """Labelled samples in random order, and a model trained on other samples."""

    x: FloatArray
    y: IntArray
    predict: Callable[[FloatArray], FloatArray]


Change = Callable[[SamplePool, float], FloatArray]
"""Function from a level to the samples of a pool, changed by that much."""


class Violation(NamedTuple):
    """Outputs for the same samples before and after a violation, and the class mix of the stream.

    Attributes
    ----------
    size : float
        Size of the violation, in units of its kind.
    before, after : (n, k) arrays
        Probabilities.
    y : (n,) array of int
        Labels; k is a class unknown to the model.
    mix : (k,) or (k + 1,) array
        The class mix of the stream.
    """

    size: float
    before: FloatArray
    after: FloatArray
    y: IntArray
    mix: FloatArray


def image_pool(name: str, kind: str, without: int | None = None) -> SamplePool:
    """A small image model and its pool. The model is not trained on class `without`, which becomes the last class."""
    data = load(name)
    images = np.concatenate([data.source_X, data.target_X]).astype(np.float64).reshape(-1, 28, 28)
    y = np.concatenate([data.source_y, data.target_y]).astype(np.int64)
    if without is not None:
        y = np.where(y == without, 9, y - (y > without))
    model = (
        LogisticRegression(max_iter=60, C=0.1)
        if kind == "logistic"
        else MLPClassifier((64,), max_iter=12, batch_size=100, random_state=0, tol=0.0, n_iter_no_change=12)
    )
    return _trained(images / images.max(), y, model, 10 if without is None else 9)


def gaussian_pool() -> SamplePool:
    """A linear model on the Gaussian classes of the paper's synthetic data, and its pool."""
    data = load("synthetic")
    x, y = np.concatenate([data.source_X, data.target_X]), np.concatenate([data.source_y, data.target_y])
    return _trained(x, y.astype(np.int64), LogisticRegression(), 3)


def _trained(x: FloatArray, y: IntArray, model: Any, n_known: int) -> SamplePool:
    """Train a model on some samples of the known classes; the other samples are the pool."""
    order = np.random.default_rng(0).permutation(len(y))
    train, rest = order[:_TRAIN], order[_TRAIN : _TRAIN + _POOL]
    train = train[y[train] < n_known]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # training stops early on purpose
        model.fit(x[train].reshape(len(train), -1), y[train])
    return SamplePool(
        x[rest], y[rest], lambda samples: np.asarray(model.predict_proba(samples.reshape(len(samples), -1)))
    )


def noise(found: SamplePool, level: float) -> FloatArray:
    """Samples with Gaussian noise of this standard deviation."""
    return found.x + level * np.random.default_rng(1).standard_normal(found.x.shape)


def blur(found: SamplePool, level: float) -> FloatArray:
    """Samples blurred by this many pixels."""
    return np.asarray(gaussian_filter(found.x, (0, level, level)))


def all_moved(found: SamplePool, seed: int) -> Change:
    """A change that moves all class means by one vector in a random direction; the level is its length."""
    vector = np.random.default_rng(seed).standard_normal(found.x.shape[1])
    direction = vector / np.linalg.norm(vector)
    return lambda part, level: part.x + level * direction


def one_moved(found: SamplePool, label: int, towards: int) -> Change:
    """A change that moves the mean of one class towards that of another; the level is the share of the way."""
    way = found.x[found.y == towards].mean(axis=0) - found.x[found.y == label].mean(axis=0)
    return lambda part, level: part.x + np.where(part.y == label, level, 0.0)[:, np.newaxis] * way


def _accuracy(found: SamplePool, x: FloatArray) -> float:
    return float((found.predict(x).argmax(axis=1) == found.y).mean())


def _level_for(found: SamplePool, change: Change, points: float) -> float:
    """The level of a change that costs this many points of accuracy."""
    part = found._replace(x=found.x[:_MEASURED], y=found.y[:_MEASURED])
    wanted = _accuracy(part, part.x) - points / 100.0
    low, high = 0.0, _MOST
    for _ in range(_LEVELS):
        middle = 0.5 * (low + high)
        good = _accuracy(part, change(part, middle)) > wanted
        low, high = (middle, high) if good else (low, middle)
    return 0.5 * (low + high)


def costing(found: SamplePool, change: Change, points: Sequence[float]) -> Iterator[Violation]:
    """Violations that cost these many points of accuracy, with an even class mix."""
    before = found.predict(found.x)
    k = before.shape[1]
    for lost in points:
        after = found.predict(change(found, _level_for(found, change, lost)))
        yield Violation(lost, before, after, found.y, np.full(k, 1.0 / k))


def onto(found: SamplePool, label: int, towards: int) -> Violation:
    """A class moves all the way onto another, which in the outputs looks like a change of the class mix."""
    before = found.predict(found.x)
    moved = one_moved(found, label, towards)(found, 1.0)
    lost = 100.0 * (_accuracy(found, found.x) - _accuracy(found, moved))
    k = before.shape[1]
    return Violation(round(lost, 1), before, found.predict(moved), found.y, np.full(k, 1.0 / k))


def unseen(found: SamplePool, shares: Sequence[float]) -> Iterator[Violation]:
    """Violations in which these percentages of the stream are of the pool's last class, unknown to the model."""
    proba = found.predict(found.x)
    for percent in shares:
        mix = np.full(10, (1.0 - percent / 100.0) / 9.0)
        mix[9] = percent / 100.0
        yield Violation(percent, proba, proba, found.y, mix)
