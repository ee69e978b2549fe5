"""Streams that are not label shift: images disturbed, a class the model has not seen, a class that has moved."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped]

from baserate.datasets import load
from baserate.models import outputs
from baserate.protocols import FloatArray, IntArray

_TRAIN, _POOL = 12_000, 30_000
_LEVELS = 12  # halvings in the search for a disturbance that costs so much accuracy
_MEASURED = 6000  # images to measure accuracy with


class Pool(NamedTuple):
    """Labelled images and a model that has seen others."""

    images: FloatArray
    y: IntArray
    predict: Callable[[FloatArray], FloatArray]


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


def pool(name: str, kind: str, without: int | None = None) -> Pool:
    """A small model of images and a pool it has not seen; nor has it the class `without`, which becomes the last."""
    data = load(name)
    images = np.concatenate([data.source_X, data.target_X]).astype(np.float64).reshape(-1, 28, 28)
    y = np.concatenate([data.source_y, data.target_y]).astype(np.int64)
    if without is not None:
        y = np.where(y == without, 9, y - (y > without))
    images = images / images.max()
    order = np.random.default_rng(0).permutation(len(y))
    train, rest = order[:_TRAIN], order[_TRAIN : _TRAIN + _POOL]
    if without is not None:
        train = train[y[train] < 9]
    model = (
        LogisticRegression(max_iter=60, C=0.1)
        if kind == "logistic"
        else MLPClassifier((64,), max_iter=12, batch_size=100, random_state=0, tol=0.0, n_iter_no_change=12)
    )
    model = _fit(model, images[train].reshape(len(train), -1), y[train])
    return Pool(images[rest], y[rest], lambda x: np.asarray(model.predict_proba(x.reshape(len(x), -1))))


def _fit(model: Any, x: FloatArray, y: IntArray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopping early is meant
        return model.fit(x, y)


def _disturb(images: FloatArray, how: str, level: float) -> FloatArray:
    """Noise of this standard deviation, or a blur of this many pixels."""
    if how == "blur":
        return np.asarray(gaussian_filter(images, (0, level, level)))
    return images + level * np.random.default_rng(1).standard_normal(images.shape)


def _level_for(found: Pool, how: str, points: float) -> float:
    """The level of a disturbance that costs so many points of accuracy."""
    images, y = found.images[:_MEASURED], found.y[:_MEASURED]
    wanted = (found.predict(images).argmax(axis=1) == y).mean() - points / 100.0
    low, high = 0.0, 4.0
    for _ in range(_LEVELS):
        middle = 0.5 * (low + high)
        good = (found.predict(_disturb(images, how, middle)).argmax(axis=1) == y).mean() > wanted
        low, high = (middle, high) if good else (low, middle)
    return 0.5 * (low + high)


def disturbed(found: Pool, how: str, points: tuple[float, ...]) -> Iterator[Violation]:
    """Noise or a blur of all images that costs so many points of accuracy; an even class mix."""
    before = found.predict(found.images)
    for lost in points:
        level = _level_for(found, how, lost)
        yield Violation(lost, before, found.predict(_disturb(found.images, how, level)), found.y, np.full(10, 0.1))


def unseen(found: Pool, shares: tuple[float, ...]) -> Iterator[Violation]:
    """A share of the stream, in percent, of the last class of a pool, which the model does not know."""
    proba = found.predict(found.images)
    for percent in shares:
        mix = np.full(10, (1.0 - percent / 100.0) / 9.0)
        mix[9] = percent / 100.0
        yield Violation(percent, proba, proba, found.y, mix)


def moved(sizes: tuple[float, ...], name: str = "synthetic", model: str = "linear") -> Iterator[Violation]:
    """Class 0's own logit lower by so many of its standard deviations within the class."""
    found = outputs(name, model)
    logits = np.concatenate([found.holdout_logits, found.target_logits]).astype(np.float64)
    y = np.concatenate([found.holdout_y, found.target_y]).astype(np.int64)
    k = logits.shape[1]
    for size in sizes:
        after = logits.copy()
        after[y == 0, 0] -= size * logits[y == 0, 0].std()
        yield Violation(size, _softmax(logits), _softmax(after), y, np.full(k, 1.0 / k))


def _softmax(logits: FloatArray) -> FloatArray:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
