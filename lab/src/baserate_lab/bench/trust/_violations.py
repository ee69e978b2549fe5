"""Streams that are not label shift: images disturbed, a class the model has not seen, classes that have moved."""

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
_LEVELS = 12  # halvings in the search for a change that costs so much accuracy
_MOST = 4.0  # the largest change searched
_MEASURED = 6000  # samples to measure accuracy with


class Pool(NamedTuple):
    """Labelled samples in no order, and a model that has seen others."""

    x: FloatArray
    y: IntArray
    predict: Callable[[FloatArray], FloatArray]


Change = Callable[[Pool, float], FloatArray]
"""The samples of a pool, changed by so much."""


class Violation(NamedTuple):
    """Outputs before and after, for the same samples; and with which class mix the stream comes.

    Attributes
    ----------
    size : float
        How much of a violation it is, in units of its kind.
    before, after : (n, k) arrays
        Probabilities.
    y : (n,) array of int
        Labels; k for a class that the model does not know.
    mix : (k,) or (k + 1,) array
        The class mix of the stream.
    """

    size: float
    before: FloatArray
    after: FloatArray
    y: IntArray
    mix: FloatArray


def image_pool(name: str, kind: str, without: int | None = None) -> Pool:
    """A small model of images and a pool it has not seen; nor has it the class `without`, which becomes the last."""
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


def gaussian_pool() -> Pool:
    """A linear model of the Gaussian classes of the paper's synthetic data."""
    data = load("synthetic")
    x, y = np.concatenate([data.source_X, data.target_X]), np.concatenate([data.source_y, data.target_y])
    return _trained(x, y.astype(np.int64), LogisticRegression(), 3)


def _trained(x: FloatArray, y: IntArray, model: Any, n_known: int) -> Pool:
    """A model trained on some of the samples, of the classes it is to know; and others as a pool."""
    order = np.random.default_rng(0).permutation(len(y))
    train, rest = order[:_TRAIN], order[_TRAIN : _TRAIN + _POOL]
    train = train[y[train] < n_known]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopping early is meant
        model.fit(x[train].reshape(len(train), -1), y[train])
    return Pool(x[rest], y[rest], lambda samples: np.asarray(model.predict_proba(samples.reshape(len(samples), -1))))


def noise(found: Pool, level: float) -> FloatArray:
    """Noise of this standard deviation."""
    return found.x + level * np.random.default_rng(1).standard_normal(found.x.shape)


def blur(found: Pool, level: float) -> FloatArray:
    """A blur of this many pixels."""
    return np.asarray(gaussian_filter(found.x, (0, level, level)))


def all_moved(found: Pool, seed: int) -> Change:
    """The means of all classes move by one vector, of a direction drawn with this seed and of so much length."""
    vector = np.random.default_rng(seed).standard_normal(found.x.shape[1])
    direction = vector / np.linalg.norm(vector)
    return lambda part, level: part.x + level * direction


def one_moved(found: Pool, label: int, towards: int) -> Change:
    """The mean of one class moves by so much of the way to another's."""
    way = found.x[found.y == towards].mean(axis=0) - found.x[found.y == label].mean(axis=0)
    return lambda part, level: part.x + np.where(part.y == label, level, 0.0)[:, np.newaxis] * way


def _accuracy(found: Pool, x: FloatArray) -> float:
    return float((found.predict(x).argmax(axis=1) == found.y).mean())


def _level_for(found: Pool, change: Change, points: float) -> float:
    """How much of a change costs so many points of accuracy."""
    part = found._replace(x=found.x[:_MEASURED], y=found.y[:_MEASURED])
    wanted = _accuracy(part, part.x) - points / 100.0
    low, high = 0.0, _MOST
    for _ in range(_LEVELS):
        middle = 0.5 * (low + high)
        good = _accuracy(part, change(part, middle)) > wanted
        low, high = (middle, high) if good else (low, middle)
    return 0.5 * (low + high)


def costing(found: Pool, change: Change, points: Sequence[float]) -> Iterator[Violation]:
    """A change that costs so many points of accuracy; an even class mix."""
    before = found.predict(found.x)
    k = before.shape[1]
    for lost in points:
        after = found.predict(change(found, _level_for(found, change, lost)))
        yield Violation(lost, before, after, found.y, np.full(k, 1.0 / k))


def onto(found: Pool, label: int, towards: int) -> Violation:
    """A class moves all the way onto another: to those who see outputs alone, a change of the class mix."""
    before = found.predict(found.x)
    moved = one_moved(found, label, towards)(found, 1.0)
    lost = 100.0 * (_accuracy(found, found.x) - _accuracy(found, moved))
    k = before.shape[1]
    return Violation(round(lost, 1), before, found.predict(moved), found.y, np.full(k, 1.0 / k))


def unseen(found: Pool, shares: Sequence[float]) -> Iterator[Violation]:
    """A share of the stream, in percent, of the last class of a pool, which the model does not know."""
    proba = found.predict(found.x)
    for percent in shares:
        mix = np.full(10, (1.0 - percent / 100.0) / 9.0)
        mix[9] = percent / 100.0
        yield Violation(percent, proba, proba, found.y, mix)
