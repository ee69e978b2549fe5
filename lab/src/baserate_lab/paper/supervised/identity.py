"""Comparison of weighted ERM with training for the uniform mix and re-weighting; the difference depends on the model.

The appendix ("Connection of CT-RS to weighted ERM") calls them equivalent. It shows only that the weighted loss is a
weighted sum of the losses of the classes. Training for the uniform mix minimises another weighted sum of them.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from baserate.protocols import FloatArray, IntArray
from baserate_lab.paper.supervised.problems import N_CLASSES, PATHS, samples, skewed
from baserate_lab.paper.supervised.running import run_all

BATCH_SIZE = 50
LENGTHS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)  # rounds: from 200 samples to 51,200
N_SEEDS = 20
N_JUDGED = 5000
SCHEMES = ("the identity's", "class counts")
"""Weights of training for the uniform mix: the appendix's, and those that give all classes the same total weight."""

# p(x | y) of a saturated model's six values of x.
_VALUES = np.array([[6, 4, 3, 3, 2, 2], [2, 2, 6, 6, 2, 2], [1, 3, 3, 3, 5, 5]]) / 20


class ConditionalTable:
    """Saturated model: each value of x has its own class probabilities, the weighted shares of its samples.

    They minimise the weighted log loss. A value not seen in training gets the shares of all samples.

    Parameters
    ----------
    n_values : int
        x is a column of whole numbers from 0 to `n_values` - 1.

    Examples
    --------
    >>> model = ConditionalTable(2).fit([[0], [0], [1]], [0, 1, 1], sample_weight=[3.0, 1.0, 1.0])
    >>> model.predict_proba([[0], [1]])
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    def __init__(self, n_values: int) -> None:
        self.n_values = n_values

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, for scikit-learn's `clone`."""
        return {"n_values": self.n_values}

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> Self:
        """Sum the weights of each value and class."""
        values = np.asarray(X, dtype=np.int64)[:, 0]
        self.classes_, labels = np.unique(y, return_inverse=True)
        weights = np.zeros((self.n_values, len(self.classes_)))
        np.add.at(weights, (values, labels), sample_weight)
        weights[weights.sum(axis=1) == 0] = weights.sum(axis=0)
        self.table_ = weights / weights.sum(axis=1, keepdims=True)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of each value."""
        return np.asarray(self.table_[np.asarray(X, dtype=np.int64)[:, 0]])


_LOGISTIC = LogisticRegression(C=np.inf, tol=1e-9, max_iter=10_000)
MODELS: dict[str, Any] = {
    "saturated": ConditionalTable(_VALUES.shape[1]),
    "well specified": _LOGISTIC,
    "misspecified": _LOGISTIC,
}


def _draw(problem: str, y: IntArray, rng: np.random.Generator) -> FloatArray:
    if problem == "saturated":
        past = _VALUES.cumsum(axis=1)[y, :-1] < rng.random((len(y), 1))
        return np.asarray(past.sum(axis=1, keepdims=True), dtype=np.float64)
    return samples(problem, y, rng)


def uniform_weights(y: IntArray, expected: FloatArray, scheme: str) -> FloatArray:
    """Weights that make samples represent the uniform mix.

    Parameters
    ----------
    y : (n,) array of int
        Labels.
    expected : (n, k) array
        Expected class mix in the round of each sample.
    scheme : {"the identity's", "class counts"}
        Either 1 / (k * expected share of the label), or 1 / (number of samples of its class).
    """
    n, k = expected.shape
    if scheme == "class counts":
        return np.asarray(n / k / np.bincount(y, minlength=k)[y])
    return np.asarray(1.0 / (k * expected[np.arange(n), y]))


def direct(estimator: Any, X: FloatArray, y: IntArray, expected: FloatArray, mix: FloatArray, judged: Any) -> Any:
    """Class probabilities of the judged samples by weighted ERM for a mix."""
    weights = mix[y] / expected[np.arange(len(y)), y]
    return clone(estimator, safe=False).fit(X, y, sample_weight=weights).predict_proba(judged)


def by_way_of_uniform(
    estimator: Any, X: FloatArray, y: IntArray, weights: FloatArray, mix: FloatArray, judged: Any
) -> Any:
    """Class probabilities by training for the uniform mix with these weights and re-weighting to another mix."""
    proba = clone(estimator, safe=False).fit(X, y, sample_weight=weights).predict_proba(judged) * mix
    return proba / proba.sum(axis=1, keepdims=True)


class Disagreement(NamedTuple):
    """Differences between re-weighting and weighted ERM."""

    distance: float
    """Mean total variation between the class probabilities."""
    other_label: float
    """Share of samples with another most probable class."""
    extra_loss: float
    """Mean log loss minus that of weighted ERM."""


def disagreements(problem: str, n_rounds: int, seed: int) -> list[Disagreement]:
    """Disagreement for the skewed mix after `n_rounds` rounds on a path that goes back and forth, for each scheme.

    The expected mixes are the true ones, so that only the model matters.
    """
    rng = np.random.default_rng([seed, n_rounds, list(MODELS).index(problem)])
    path = PATHS["steps"](n_rounds, N_CLASSES)
    counts = rng.multinomial(BATCH_SIZE, path)
    y = np.repeat(np.tile(np.arange(N_CLASSES), n_rounds), counts.ravel())
    X, expected = _draw(problem, y, rng), np.repeat(path, BATCH_SIZE, axis=0)
    mix = skewed(N_CLASSES)
    judged_y = rng.choice(N_CLASSES, size=N_JUDGED, p=mix)
    judged = _draw(problem, judged_y, rng)
    by_weights = direct(MODELS[problem], X, y, expected, mix, judged)
    rows = np.arange(N_JUDGED), judged_y
    found = []
    for scheme in SCHEMES:
        weights = uniform_weights(y, expected, scheme)
        other = by_way_of_uniform(MODELS[problem], X, y, weights, mix, judged)
        distance = 0.5 * np.abs(other - by_weights).sum(axis=1).mean()
        labels = (other.argmax(axis=1) != by_weights.argmax(axis=1)).mean()
        differ = by_weights[rows] != other[rows]  # if both give 0, neither is better
        extra_loss = np.log(by_weights[rows][differ] / other[rows][differ]).sum() / N_JUDGED
        found.append(Disagreement(float(distance), float(labels), float(extra_loss)))
    return found


def run_identity(
    problems: Sequence[str] = tuple(MODELS),
    lengths: Sequence[int] = LENGTHS,
    n_seeds: int = N_SEEDS,
    *,
    n_jobs: int = 1,
) -> dict[str, FloatArray]:
    """Disagreements of every kind of model, arrays of shape (lengths, seeds, schemes, 3)."""
    cells = itertools.product(problems, lengths, range(n_seeds))
    found: dict[str, FloatArray] = {}
    for (problem, n_rounds, seed), values in run_all(disagreements, cells, "identity", n_jobs=n_jobs):
        array = found.setdefault(problem, np.empty((len(lengths), n_seeds, len(SCHEMES), 3)))
        array[lengths.index(n_rounds), seed] = values
    return found
