"""Sets of the benchmark: a trained model's outputs on a holdout, and on a pool that streams are drawn from."""

import functools
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

from baserate.calibrators import AutoCalibrator
from baserate.datasets import digits
from baserate.protocols import Calibrator, FloatArray, IntArray
from baserate_lab.models import outputs

UNSEEN = 20261116
"""Part of every seed, so that no stream was used while the methods were designed."""

RECIPES = {
    "synthetic": ("synthetic", "linear"),
    "mnist": ("mnist", "mlp"),
    "forest": ("mnist", "forest"),
    "fashion": ("fashion", "mlp"),
    "cifar10": ("cifar10", "resnet18-narrow"),
}
"""Data set and model by name of the set."""

SETS = (*RECIPES, "digits")

WEAK_RECIPES = {"newsgroups": ("newsgroups", "tfidf"), "arxiv words": ("arxiv-random", "tfidf")}
"""The same for weaker models of many classes, which are in no table of this benchmark."""

DISTORTIONS: dict[str, tuple[float, bool]] = {
    "too sure": (0.4, False),
    "too unsure": (2.5, False),
    "biased": (1.0, True),
    "too unsure and biased": (2.5, True),
}
"""Temperature that divides the logits, and whether a random bias is then added to each class's logit."""


class SetLogits(NamedTuple):
    """Logits and labels of holdout and pool."""

    holdout_logits: FloatArray
    holdout_y: IntArray
    logits: FloatArray
    y: IntArray

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.logits.shape[1])

    @property
    def source_prior(self) -> FloatArray:
        """The class mix of the whole holdout."""
        return np.asarray(np.bincount(self.holdout_y, minlength=self.n_classes) / len(self.holdout_y))


class Fitted:
    """A calibrator that is already fitted, because all methods on one holdout share the same calibration."""

    def __init__(self, calibrator: Calibrator) -> None:
        self.calibrator = calibrator

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Return the calibrator unchanged."""
        return self

    def transform(self, proba: ArrayLike) -> FloatArray:
        """Calibrate probabilities."""
        return self.calibrator.transform(proba)


class CalibratedHoldout(NamedTuple):
    """Data that methods are fitted on, and the calibrator fitted on it."""

    proba: FloatArray
    y: IntArray
    calibrator: Fitted


@functools.cache
def load(name: str) -> SetLogits:
    """Load a set by its name."""
    if name == "digits":
        return _digits()
    found = outputs(*{**RECIPES, **WEAK_RECIPES}[name], progress=False)
    return SetLogits(
        found.holdout_logits.astype(np.float64),
        found.holdout_y,
        found.target_logits.astype(np.float64),
        found.target_y,
    )


def _digits() -> SetLogits:
    """Logistic regression on 200 digits, as in `baserate.demo.experiment`.

    The split differs, because rounds of 100 samples of one class need a pool with 100 samples of each class.
    """
    data = digits.load()
    X, y = np.concatenate([data.source_X, data.target_X]), np.concatenate([data.source_y, data.target_y])
    rest_X, pool_X, rest_y, pool_y = train_test_split(X, y, test_size=0.6, stratify=y, random_state=0)
    split: Any = train_test_split(rest_X, rest_y, train_size=200, stratify=rest_y, random_state=0)
    train_X, holdout_X, train_y, holdout_y = split
    model = make_pipeline(StandardScaler(), LogisticRegression(C=3.0, max_iter=1000)).fit(train_X, train_y)
    return SetLogits(model.predict_log_proba(holdout_X), holdout_y, model.predict_log_proba(pool_X), pool_y)


def distorted(logits: FloatArray, distortion: str, seed: int) -> FloatArray:
    """Probabilities of a model that is miscalibrated in a named way; unchanged if `distortion` is empty."""
    if distortion:
        temperature, biased = DISTORTIONS[distortion]
        bias = np.random.default_rng([UNSEEN, seed, 1]).standard_normal(logits.shape[1]) if biased else 0.0
        logits = logits / temperature + bias
    return np.asarray(softmax(logits, axis=1))


def holdout(name: str, size: int, distortion: str, seed: int) -> CalibratedHoldout:
    """A random part of a set's holdout, or all of it if `size` is 0, and the default calibrator fitted on it."""
    # The whole holdout without distortion does not depend on the seed: it is computed once.
    return _holdout(name, size, distortion, seed if size or distortion else 0)


@functools.lru_cache(maxsize=16)
def _holdout(name: str, size: int, distortion: str, seed: int) -> CalibratedHoldout:
    pool = load(name)
    every = np.arange(len(pool.holdout_y))
    rows = np.random.default_rng([UNSEEN, seed, 2]).choice(every, size, replace=False) if size else every
    proba, y = distorted(pool.holdout_logits[rows], distortion, seed), pool.holdout_y[rows]
    return CalibratedHoldout(proba, y, Fitted(AutoCalibrator().fit(proba, y)))
