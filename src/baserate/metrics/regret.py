"""Dynamic regret: the loss in excess of the best predictor of each round.

The loss of a round is computed on a whole labelled pool, re-weighted to the round's class mix: L_t(f) = sum_c q_t[c] *
(mean loss of f on the pool's samples of class c). On the few samples of a batch, noise would hide the differences. So a
method is described by its mean loss on each class in each round, a (T, k) array.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone  # type: ignore[import-untyped]

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.validation import (
    check_all_classes_present,
    check_labels,
    check_option,
    check_path,
    check_prior,
    check_proba,
)

LOSSES = ("zero_one", "log")


def dynamic_regret(losses: ArrayLike, best_losses: ArrayLike, path: ArrayLike) -> FloatArray:
    """Return the cumulative regret after each round, sum over s <= t of L_s(method) - L_s(best).

    For an adapter, ``evaluate(adapter, stream, pool=pool).dynamic_regret(best)`` measures what it plays.

    Parameters
    ----------
    losses : (T, k) array
        Mean loss of the method by class in each round.
    best_losses : (T, k) array
        The same for the comparator: the re-weighting to the true q_t (`reweighting_losses` of the path itself), or,
        for a learner, the best hypothesis of its class (`best_hypothesis_losses`).
    path : (T, k) array
        The true class mixes.

    Examples
    --------
    >>> dynamic_regret([[0.5, 0.0], [0.5, 0.0]], [[0.25, 0.0], [0.0, 0.5]], [[1.0, 0.0], [0.5, 0.5]])
    array([0.25, 0.25])
    """
    q = check_path(path)
    own, best = np.asarray(losses, dtype=np.float64), np.asarray(best_losses, dtype=np.float64)
    for name, array in (("losses", own), ("best_losses", best)):
        if array.shape != q.shape:
            raise ValueError(f"{name} has shape {array.shape}; expected {q.shape}, as path.")
        if np.isnan(array).any():
            raise ValueError(f"{name} holds NaN; give the mean loss of every class in every round.")
    # A class that is absent contributes nothing, even if its loss is infinite.
    present = q > 0
    lost = np.zeros_like(q)
    present &= own != best  # where both are infinite, the difference is zero
    lost[present] = q[present] * (own[present] - best[present])
    return np.cumsum(lost.sum(axis=1))


def class_losses(proba: ArrayLike, y: ArrayLike, *, loss: str = "zero_one") -> FloatArray:
    """Return the mean loss of predictions on the samples of each class, (k,).

    Parameters
    ----------
    proba, y : (m, k) array, (m,) array of int
        Predicted probabilities of a labelled pool, and its labels; every class at least once.
    loss : {"zero_one", "log"}
        As in `reweighting_losses`.

    Examples
    --------
    >>> class_losses([[0.75, 0.25], [0.5, 0.5]], [0, 1])
    array([0.25, 0.5 ])
    """
    predicted = check_proba(proba)
    labels = check_labels(y, *predicted.shape)
    check_all_classes_present(labels, predicted.shape[1])
    check_option(loss, "loss", LOSSES)
    losses: FloatArray = _class_losses(np.ones((1, predicted.shape[1])), predicted, labels, loss == "log")[0]
    return losses


def reweighting_losses(
    priors: ArrayLike, proba: ArrayLike, y: ArrayLike, source_prior: ArrayLike, *, loss: str = "zero_one"
) -> FloatArray:
    """Return the mean loss by class, on a labelled pool, of re-weighting to each of some class mixes.

    An adapter that calibrates, or holds its correction back, plays something else than a re-weighting to its `prior_`:
    what it does play is measured by ``baserate.evaluate(adapter, stream, pool=(proba, y)).class_losses``.

    Parameters
    ----------
    priors : (T, k) array
        The class mixes that the method used.
    proba, y : (m, k) array, (m,) array of int
        The model's probabilities on the pool, and its labels; every class at least once.
    source_prior : (k,) array
        The class mix those probabilities assume.
    loss : {"zero_one", "log"}
        ``"zero_one"``: the expected error of a label sampled from the re-weighted probabilities. ``"log"``: their log
        loss, which is infinite where a class that occurs was ruled out.

    Returns
    -------
    (T, k) array

    Examples
    --------
    >>> reweighting_losses([[0.5, 0.5], [0.8, 0.2]], [[0.75, 0.25], [0.5, 0.5]], [0, 1], [0.5, 0.5]).round(3)
    array([[0.25 , 0.5  ],
           [0.077, 0.8  ]])
    """
    pool = check_proba(proba)
    labels = check_labels(y, *pool.shape)
    check_all_classes_present(labels, pool.shape[1])
    mixes = check_path(priors, pool.shape[1], "priors")
    source = check_prior(source_prior, pool.shape[1], "source_prior", positive=True)
    check_option(loss, "loss", LOSSES)
    return _class_losses(mixes / source, pool, labels, loss == "log")


@compiled
def _class_losses(weights: FloatArray, pool: FloatArray, labels: IntArray, log: bool) -> FloatArray:
    m, k = pool.shape
    out = np.zeros((len(weights), k))
    counts = np.zeros(k)
    for i in range(m):
        counts[labels[i]] += 1.0
    for t in range(len(weights)):
        for i in range(m):
            total = 0.0
            for c in range(k):
                total += pool[i, c] * weights[t, c]
            y = labels[i]
            right = pool[i, y] * weights[t, y] / total if total > 0.0 else pool[i, y]
            if log:
                out[t, y] -= np.log(right) if right > 0.0 else -np.inf
            else:
                out[t, y] += 1.0 - right
        for c in range(k):
            out[t, c] /= counts[c]
    return out


def best_hypothesis_losses(
    estimator: Any, X: NDArray[Any], y: ArrayLike, path: ArrayLike, *, loss: str = "zero_one"
) -> FloatArray:
    """Return the mean loss by class of the best hypothesis f_t* of a class of models, for each round's class mix.

    The estimator is fitted anew, on the pool weighted to the class mix, for every distinct mix in the path.

    Parameters
    ----------
    estimator : scikit-learn classifier
        The class of hypotheses; its `fit` must take `sample_weight`.
    X, y : (m, d) array, (m,) array of int
        The labelled pool; every class at least once.
    path : (T, k) array
        The true class mixes.
    loss : {"zero_one", "log"}
        As in `reweighting_losses`; ``"zero_one"`` with the sampled label.

    Returns
    -------
    (T, k) array
    """
    q = check_path(path)
    k = q.shape[1]
    labels = check_labels(y, len(X), k)
    check_all_classes_present(labels, k)
    check_option(loss, "loss", LOSSES)
    share = np.bincount(labels, minlength=k) / len(labels)
    mixes, round_of = np.unique(q, axis=0, return_inverse=True)
    rows = []
    for mix in mixes:
        weight = (mix / share)[labels]
        proba = np.zeros((len(labels), k))
        if (mix > 0).sum() == 1:
            proba[:, mix.argmax()] = 1.0  # a single class needs no model
        else:
            fitted = clone(estimator).fit(X[weight > 0], labels[weight > 0], sample_weight=weight[weight > 0])
            proba[:, fitted.classes_] = fitted.predict_proba(X)
        rows.append(_class_losses(np.ones((1, k)), proba, labels, loss == "log")[0])
    return np.array(rows)[round_of.ravel()]
