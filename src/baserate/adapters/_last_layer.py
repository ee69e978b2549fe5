"""LastLayerAdapter: the shared part of adapters that move a model's last linear layer.

Their loss of a round is the estimated risk of a head under the round's class mix q (Bai et al. 2022): sum_c q[c] *
(mean log loss of the head on the holdout's samples of class c). It is unbiased where q is, and it and its gradient
are one pass over the holdout, for many heads at once.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from baserate.protocols import FloatArray, IntArray, Step
from baserate.state import Component
from baserate.state.declarations import Maybe, Plain, Saved, Saves, Whole, floats, ints, labels
from baserate.validation import (
    as_float_array,
    check_all_classes_present,
    check_features,
    check_fitted,
    check_labels,
    check_vector,
)

_LONGEST = 1e9  # a feature, or a weight, that a file may hold


def check_layer(saved: Saved) -> str:
    """Return what does not fit together in a saved layer and its holdout, if anything."""
    state, k, d = saved.state, saved.sizes["k"], saved.sizes["d"]
    if state["_n_features"] != (d if saved.params["intercept"] is None else d - 1):
        return "has a layer of other features than it says"
    if not np.array_equal(np.bincount(state["_labels"], minlength=k), state["_sizes"]):
        return "has other samples than its classes have"
    return ""


SAVED = Saves(
    params={"coef": Plain(), "intercept": Maybe(Plain())},
    state={
        "source_head_": floats("k", "d", low=-_LONGEST, high=_LONGEST),
        "_n_features": Whole(),
        "_sizes": ints("k", low=1),
        "_features": floats("n", "d", low=-_LONGEST, high=_LONGEST),
        "_labels": labels("n", "k"),
        "rounds_": Whole(),
    },
    may_be_empty=True,
    check=check_layer,
)
"""The declaration of what every adapter saves that moves a last layer."""


def check_head(coef: ArrayLike, intercept: ArrayLike | None) -> FloatArray:
    """Check the weights (k, d) of a last linear layer; its intercepts, if there are any, become one more column."""
    if hasattr(coef, "coef"):
        raise TypeError("coef is a whole layer; give its parts, weights first: (layer.coef, layer.intercept, ...).")
    if hasattr(coef, "fit") or hasattr(coef, "predict_proba"):
        raise TypeError(
            f"coef is {type(coef).__name__}; give the weights of a model's last linear layer, which "
            "baserate.integrations.last_layer(model) gets. A model that has no such layer (a forest, say) works with "
            "the methods that re-weight its probabilities, such as RegressAndReweight."
        )
    weights = as_float_array(coef, "coef", 2, "classes, features")
    k, d = weights.shape
    if k < 2 or d < 1:
        raise ValueError(
            f"coef has shape {weights.shape}; expected one row for each of at least 2 classes, and at least 1 feature. "
            "For a binary model give both rows."
        )
    check_features(weights, d, "coef")
    if intercept is None:
        return weights.copy()
    return np.column_stack([weights, check_vector(intercept, k, "intercept")])


class LastLayerAdapter(Component):
    """An adapter whose samples are features, and whose predictions are those of a linear head that moves.

    A subclass checks its parameters (`_check_parameters`), learns from the holdout (`_learn`), and says how a stream
    begins (`_restart`), which head predicts (`_head`), which class prior it tracks (`_current_prior`) and what a round
    does (`_observe`). A head is a (k, d) array; an intercept is the weight of a feature that is always one.

    Attributes
    ----------
    rounds_ : int
        Rounds taken in.
    """

    input_kind = "features"

    coef: ArrayLike
    intercept: ArrayLike | None
    rounds_: int

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from the holdout.

        Parameters
        ----------
        X : (n, d) array
            Features of labelled samples that the model was not trained on: what its last layer sees.
        y : (n,) array of int
            Their labels, as row numbers of `coef`.
        """
        head = check_head(self.coef, self.intercept)
        self._check_parameters(head)
        d = np.shape(self.coef)[1]
        features = _with_ones(check_features(X, d).copy(), head.shape[1] > d)
        labels = check_labels(y, len(features), len(head))
        check_all_classes_present(labels, len(head))
        learned = self._learn(head, features, labels, head_proba(features, head))
        self.source_head_, self._n_features = head, d
        self._features, self._labels, self._sizes = features, labels, np.bincount(labels)
        self.__dict__.update(learned)
        self._restart()
        return self

    def _check_parameters(self, head: FloatArray) -> None:
        """Check what the constructor was given, once the head is known."""
        raise NotImplementedError

    def _learn(self, head: FloatArray, features: FloatArray, labels: IntArray, proba: FloatArray) -> dict[str, Any]:
        """Return what else the method learns from the holdout, as attributes to set; may refuse."""
        raise NotImplementedError

    def _restart(self) -> None:
        """Begin a new stream."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget the stream, as if just fitted."""
        check_fitted(self, "source_head_")
        self._restart()

    @property
    def prior_(self) -> FloatArray:
        """(k,) the class mix as tracked now; NaN for a method that tracks none."""
        check_fitted(self, "source_head_")
        return self._current_prior()

    @property
    def head_(self) -> tuple[FloatArray, FloatArray]:
        """The weights (k, d) and intercepts (k,) that predict now."""
        check_fitted(self, "source_head_")
        head, d = self._head(), self._n_features
        return head[:, :d].copy(), head[:, d].copy() if head.shape[1] > d else np.zeros(len(head))

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of a batch under the head as it is now; changes nothing."""
        return self._predict(self._check_batch(X))

    def update(self, X: ArrayLike, y: ArrayLike | None = None) -> None:
        """Take in one round.

        Parameters
        ----------
        X : (n, d) array
            Features. An empty batch is a round without evidence.
        y : (n,) array of int, optional
            Labels where they are known, -1 or NaN where not.
        """
        features = self._check_batch(X)
        self._advance(features, self._check_batch_labels(y, features))

    def step(self, X: ArrayLike, y: ArrayLike | None = None) -> Step:
        """Predict a batch, then take it in; return what was used."""
        features = self._check_batch(X)
        labels = self._check_batch_labels(y, features)
        step = Step(self._predict(features), self._current_prior(), {})
        self._advance(features, labels)
        return step

    def _check_batch(self, X: ArrayLike) -> FloatArray:
        check_fitted(self, "source_head_")
        return _with_ones(check_features(X, self._n_features), self.source_head_.shape[1] > self._n_features)

    def _check_batch_labels(self, y: ArrayLike | None, features: FloatArray) -> IntArray | None:
        return None if y is None else check_labels(y, len(features), len(self.source_head_), missing=True)

    def _advance(self, features: FloatArray, labels: IntArray | None) -> None:
        if len(features) > 0:
            # What the model itself says is what the marginal estimator knows.
            self._observe(head_proba(features, self.source_head_), labels)
        self.rounds_ += 1

    def _predict(self, features: FloatArray) -> FloatArray:
        return head_proba(features, self._head())

    def _risk_and_gradient(self, heads: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        return risk_and_gradient(heads, q, self._features, self._labels, self._sizes)

    def _current_prior(self) -> FloatArray:
        """The class prior as tracked now; NaN for a method that tracks none."""
        raise NotImplementedError

    def _head(self) -> FloatArray:
        raise NotImplementedError

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        raise NotImplementedError


def _with_ones(features: FloatArray, intercept: bool) -> FloatArray:
    return np.column_stack([features, np.ones(len(features))]) if intercept else features


def head_proba(features: FloatArray, head: FloatArray) -> FloatArray:
    """Probabilities (n, k) of a head."""
    return np.asarray(softmax(features @ head.T, axis=1))


def risk_and_gradient(
    heads: FloatArray, q: FloatArray, features: FloatArray, labels: IntArray, sizes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Estimated risks (m,) of m heads under a class mix, and their gradients (m, k, d).

    Parameters
    ----------
    heads : (m, k, d) array
    q : (k,) array
        The class mix; not necessarily on the simplex.
    features, labels
        The holdout, (n, d) and (n,).
    sizes : (k,) array of int
        How many samples of the holdout each class has.
    """
    m, k, d = heads.shape
    n = len(features)
    weights = (q / sizes)[labels]
    samples = np.arange(n)
    # Samples last: every reduction over classes then runs along contiguous memory.
    logits = (heads.reshape(m * k, d) @ features.T).reshape(m, k, n)
    logits -= logits.max(axis=1, keepdims=True)
    own = logits[:, labels, samples]
    proba = np.exp(logits, out=logits)
    total = proba.sum(axis=1)
    risks = (np.log(total) - own) @ weights
    proba *= (weights / total)[:, np.newaxis, :]
    proba[:, labels, samples] -= weights
    return risks, (proba.reshape(m * k, n) @ features).reshape(m, k, d)
