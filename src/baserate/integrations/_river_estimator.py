"""RiverEstimator: a scikit-learn compatible wrapper of river classifiers, for learners."""

import copy
import inspect
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]

from baserate.protocols import FloatArray
from baserate.validation import as_float_array, check_fitted, check_rng


class RiverEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A river classifier with `fit`, `partial_fit`, `predict` and `predict_proba`, for the learners of this library.

    Samples are passed to the classifier one at a time, in order; features are named by their column number. River's own
    `River2SKLClassifier` does the same, but without sample weights, which `TrainByWeights` and `LazyTrainByWeights`
    need.

    Parameters
    ----------
    classifier : river.base.Classifier
        Any classifier or pipeline with probabilities. It is copied, and never trained itself.
    random_state : int or numpy.random.Generator, optional
        Seed for weights, with a classifier that does not take them.

    Attributes
    ----------
    classifier_ : river.base.Classifier
        The trained classifier.
    classes_ : (k,) array
        The labels, in the order of the columns of `predict_proba`.

    Notes
    -----
    Weights are divided by their mean, and passed on as `w` if the classifier's `learn_one` has such an argument.
    Otherwise, and in pipelines, a sample is learned as many times as its weight, rounded up or down at random, so that
    the expectation is right.

    Examples
    --------
    >>> import numpy as np
    >>> from river import naive_bayes
    >>> from baserate.learners import ContinualTraining
    >>> rng = np.random.default_rng(0)
    >>> learner = ContinualTraining(2, RiverEstimator(naive_bayes.GaussianNB()), rng=0)
    >>> for _ in range(3):
    ...     y = rng.integers(2, size=20)
    ...     learner.update(rng.normal(2.0 * y - 1.0, 0.5)[:, np.newaxis], y)
    >>> learner.predict_proba([[-1.0], [1.0]]).argmax(axis=1)
    array([0, 1])
    """

    def __init__(self, classifier: Any, random_state: int | np.random.Generator | None = None) -> None:
        self.classifier = classifier
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train from scratch, in one pass.

        Parameters
        ----------
        X : (n, d) array
            Samples, as rows of numbers.
        y : (n,) array
            Their labels.
        sample_weight : (n,) array, optional
            Weight of each sample.
        """
        begun = self._begun(y, None)
        begun._learn(X, y, sample_weight)
        self.__dict__.update(vars(begun))
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Continue training, in one pass over some samples.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : (k,) array, optional
            All labels that will ever come, for the first call. Default: those of `y`.
        """
        then = copy.deepcopy(self) if hasattr(self, "classifier_") else self._begun(y, classes)
        then._learn(X, y, sample_weight)  # on a copy, so that a failed call changes nothing
        self.__dict__.update(vars(then))
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities of some samples, (n, k); uniform where the classifier gives none."""
        check_fitted(self, "classifier_")
        k = len(self.classes_)
        proba = np.empty((len(rows := self._rows(X)), k))
        for i, x in enumerate(rows):
            said = self.classifier_.predict_proba_one(x)
            proba[i] = [said.get(label, 0.0) for label in self._labels]
            total = proba[i].sum()
            proba[i] = proba[i] / total if 0.0 < total < np.inf else 1.0 / k
        return proba

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable label of some samples."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _begun(self, y: ArrayLike, classes: ArrayLike | None) -> Self:
        """Return an untrained copy."""
        if isinstance(self.classifier, type) or not hasattr(self.classifier, "predict_proba_one"):
            raise TypeError(f"classifier is {self.classifier!r}; expected a classifier of river, with probabilities.")
        begun = type(self)(**self.get_params(deep=False))
        begun.classes_ = np.unique(np.asarray(y if classes is None else classes))
        many = bool(self.classifier._multiclass)
        if len(begun.classes_) != 2 and not many:
            raise ValueError(
                f"there are {len(begun.classes_)} classes, and {type(self.classifier).__name__} knows two, no more and "
                "no fewer. Put it into river.multiclass.OneVsRestClassifier, or give `classes`."
            )
        # river's binary classifiers only know True and False
        begun._labels = begun.classes_.tolist() if many else [False, True]
        begun.classifier_ = self.classifier.clone()
        begun._rng = copy.deepcopy(check_rng(self.random_state, "random_state"))
        return begun

    def _learn(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        rows, labels = self._rows(X), np.asarray(y)
        if labels.shape != (len(rows),):
            raise ValueError(f"y has shape {labels.shape}; expected ({len(rows)},), one label per sample.")
        unknown = ~np.isin(labels, self.classes_)
        if unknown.any():
            raise ValueError(f"y holds {labels[unknown].tolist()[0]!r}; the classes are {self.classes_.tolist()}.")
        weights = _check_weights(sample_weight, len(rows))
        named = [self._labels[column] for column in np.searchsorted(self.classes_, labels)]
        if weights is None:
            for x, label in zip(rows, named, strict=True):
                self.classifier_.learn_one(x, label)
        elif _takes_weights(self.classifier_):
            for x, label, weight in zip(rows, named, weights.tolist(), strict=True):
                self.classifier_.learn_one(x, label, w=weight)
        else:
            times = np.floor(weights + self._rng.random(len(weights))).astype(np.int64)
            for x, label, n in zip(rows, named, times.tolist(), strict=True):
                for _ in range(n):
                    self.classifier_.learn_one(x, label)

    @staticmethod
    def _rows(X: ArrayLike) -> list[dict[int, float]]:
        rows = as_float_array(X, "X", 2, "samples, features")
        return [dict(enumerate(row)) for row in rows.tolist()]


def _check_weights(weights: ArrayLike | None, n_samples: int) -> FloatArray | None:
    """Return weights with a mean of one."""
    if weights is None or n_samples == 0:
        return None
    array = as_float_array(weights, "sample_weight", 1)
    if len(array) != n_samples:
        raise ValueError(f"sample_weight has {len(array)} weights; expected {n_samples}, one per sample.")
    mean = float(array.mean())
    if not (np.isfinite(array).all() and array.min() >= 0 and mean > 0):
        raise ValueError(
            "sample_weight holds a negative or infinite number, or zeros only; give weights of at least 0."
        )
    return array / mean


def _takes_weights(classifier: Any) -> bool:
    """Return whether `learn_one` has an argument `w`; a pipeline has none, and may not pass one on."""
    return "w" in inspect.signature(classifier.learn_one).parameters
