"""RLLS, regularised learning under label shift: BBSE with a penalty on the shift (Azizzadenesheli et al. 2019)."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.marginals._batch_estimator import BatchEstimator, sums_by_class
from baserate.marginals.active_set import minimise_quadratic
from baserate.protocols import FloatArray, IntArray
from baserate.state.declarations import SHARE, Maybe, Number, Saved, Saves, Text, floats, priors
from baserate.validation import LEAST_PRIOR, check_holdout, check_option, check_real

_LEAST = 1e-13  # least penalty on squares, relative to the trace of C'C; stands for no penalty
_SAFE = 1e-9  # penalty that keeps rounding errors out of the null space of C
_TURNS = 5
_EXACT = 1e-12  # relative tolerance for the penalty on squares
_STEPS = 100


@compiled
def _mixes(
    proba: FloatArray,
    starts: IntArray,
    joint: FloatArray,
    gram: FloatArray,
    offset: FloatArray,
    prior: FloatArray,
    rho: float,
) -> FloatArray:
    """Return one class mix per batch: the holdout's times the weights, normalised."""
    k = proba.shape[1]
    out = np.zeros((len(starts) - 1, k))
    b = np.empty(k)
    for group in range(len(starts) - 1):
        b[:] = 0.0
        for i in range(starts[group], starts[group + 1]):
            for c in range(k):
                b[c] += proba[i, c]
        for c in range(k):
            b[c] = b[c] / (starts[group + 1] - starts[group]) - offset[c]
        weights = _weights(joint, gram, b, rho)
        total = 0.0
        for c in range(k):
            out[group, c] = weights[c] * prior[c]
            total += out[group, c]
        for c in range(k):
            out[group, c] = out[group, c] / total if total > 0.0 else prior[c]
    return out


@compiled
def _weights(joint: FloatArray, gram: FloatArray, b: FloatArray, rho: float) -> FloatArray:
    """Minimise ``|C theta - b| + rho |theta|`` over ``w = 1 + theta >= 0``.

    Where neither norm is zero, the minimum is that of ``|C theta - b|^2 + mu |theta|^2`` for the one mu at which
    ``mu |theta| / |C theta - b|``, the slope of the least residual as a function of the norm, is rho. The slope rises
    with mu, because that function is convex; mu is found between two bounds by secants in logarithms.
    """
    k = len(b)
    pull = np.zeros(k)
    linear = np.zeros(k)
    for j in range(k):
        for c in range(k):
            pull[c] += joint[j, c] * b[j]
            linear[c] += gram[j, c]
    for c in range(k):
        linear[c] += pull[c]
    w = np.ones(k)
    if _norm(pull) <= rho * _norm(b):
        return w  # even at mu = infinity, where theta is zero, the slope is not above rho
    trace = 0.0
    for c in range(k):
        trace += gram[c, c]
    low = np.log(_LEAST * trace)
    w[:] = 0.0  # with many classes and few samples, few weights are positive
    low_gap = _solve_at(low, joint, gram, linear, b, rho, w)
    if low_gap >= 0.0:  # a residual of (nearly) zero is possible, and optimal
        exact = _exact_weights(_SAFE * trace, joint, gram, linear, b)
        return exact if _loss(joint, b, rho, exact) <= _loss(joint, b, rho, w) else w
    high, high_gap = low, low_gap
    for _ in range(_STEPS):
        if high_gap >= 0.0:
            break
        low, low_gap = high, high_gap
        high += 5.0  # 150 times as large
        high_gap = _solve_at(high, joint, gram, linear, b, rho, w)
    kept = 0  # number of times in a row that the same bound was kept
    for _ in range(_STEPS):
        if high_gap < 0.0 or high - low <= _EXACT:
            break
        share = low_gap / (low_gap - high_gap) if high_gap < np.inf else 0.5
        middle = low + (high - low) * share
        gap = _solve_at(middle, joint, gram, linear, b, rho, w)
        if abs(gap) <= _EXACT:
            break
        # Halving the gap at a bound that stays (the Illinois rule) draws the next secant to its side.
        if gap < 0.0:
            low, low_gap = middle, gap
            kept = max(kept, 0) + 1
            if kept > 1:
                high_gap *= 0.5
        else:
            high, high_gap = middle, gap
            kept = min(kept, 0) - 1
            if kept < -1:
                low_gap *= 0.5
    return w


@compiled
def _solve_at(
    log_mu: float, joint: FloatArray, gram: FloatArray, linear: FloatArray, b: FloatArray, rho: float, w: FloatArray
) -> float:
    """Write the weights for one mu to `w`, starting from its values; return the logarithm of slope over rho."""
    _minimise_squares(np.exp(log_mu), gram, linear, w)
    size, miss = _norm(w - 1.0), _norm(_residual(joint, b, w))
    if miss == 0.0 or size == 0.0 or rho == 0.0:
        return np.inf
    return float(log_mu + np.log(size) - np.log(miss) - np.log(rho))


@compiled
def _exact_weights(mu: float, joint: FloatArray, gram: FloatArray, linear: FloatArray, b: FloatArray) -> FloatArray:
    """Return the theta of least norm that solves ``C theta = b``, if there is one: the limit of mu to zero.

    With mu = 0, rounding would determine the null space of C. With mu > 0 there is a residual, which is added to b for
    the next turn (the method of multipliers), and shrinks by mu over the square of a singular value each time.
    """
    linear = linear.copy()
    w = np.zeros(len(b))
    for _ in range(_TURNS):
        _minimise_squares(mu, gram, linear, w)
        residual = _residual(joint, b, w)
        for j in range(len(b)):
            for c in range(len(b)):
                linear[c] += joint[j, c] * residual[j]
    return w


@compiled
def _minimise_squares(mu: float, gram: FloatArray, linear: FloatArray, w: FloatArray) -> None:
    """Minimise ``|C theta - b|^2 + mu |theta|^2`` over ``w = 1 + theta >= 0``, starting from `w`, in place."""
    matrix = gram.copy()
    for c in range(len(w)):
        matrix[c, c] += mu
    minimise_quadratic(matrix, linear + mu, w)


@compiled
def _residual(joint: FloatArray, b: FloatArray, w: FloatArray) -> FloatArray:
    residual = b.copy()
    for j in range(len(b)):
        for c in range(len(b)):
            residual[j] -= joint[j, c] * (w[c] - 1.0)
    return residual


@compiled
def _loss(joint: FloatArray, b: FloatArray, rho: float, w: FloatArray) -> float:
    return _norm(_residual(joint, b, w)) + rho * _norm(w - 1.0)


@compiled
def _norm(v: FloatArray) -> float:
    total = 0.0
    for c in range(len(v)):
        total += v[c] * v[c]
    return float(np.sqrt(total))


def _fits_together(saved: Saved) -> str:
    joint, rho = saved.state["joint_"], saved.state["rho_"]
    if not abs(joint.sum() - 1.0) <= 1e-2 or not rho >= 0.0:
        return "has no joint confusion matrix, or a penalty that is no number"
    if not np.allclose(saved.state["_gram"], joint.T @ joint, rtol=1e-6, atol=1e-12):
        return "has another matrix than its confusion gives"
    return ""


class RLLS(BatchEstimator, saved_as="rlls"):
    """Estimates the class mix by regressing the mean output on the holdout's confusion matrix, with a penalty.

    The weights ``w = q / p`` are one plus the minimiser of ``|C theta - b| + rho |theta|`` over ``theta >= -1``, with
    C the joint confusion matrix. These are norms, not squares: a rho above all singular values of C gives theta = 0 for
    every batch, one below all of them gives the exact solution of ``C theta = b`` if that is at least -1. The estimate
    is ``w * p``, normalised; p if all weights are zero. Unlike `BBSE`, it works with a matrix that is singular, or
    nearly so: where the outputs do not distinguish classes, it is the mix with the least shift.

    A batch takes O(n k + k^2) time if its theta is zero, and otherwise about ten non-negative least-squares problems of
    O(k^2 s) each, where s weights are positive. O(k^2) memory.

    Parameters
    ----------
    alpha : float
        Strength of the penalty: ``rho = alpha * 3 (2 l / (3 n) + sqrt(2 l / n))``, where ``l = log(2 k / delta)`` and n
        is the size of the holdout. With alpha = 1 that bounds the error of C with probability 1 - delta.
    delta : float
        See `alpha`.
    rho : float, optional
        The penalty itself, instead of the formula.
    offset : {"outputs", "prior"}
        The vector that is subtracted from the batch's mean output to give b. ``"outputs"`` (default): the holdout's
        mean output C 1, so that a batch with the mean output of the holdout gives theta = 0. ``"prior"``: the holdout's
        label frequencies p, as in the published runs; for a calibrated model the same up to noise, otherwise
        inconsistent.

    Attributes
    ----------
    joint_ : (k, k) array
        ``joint_[i, j]``: the mean, over the whole holdout, of the output for class i at samples of class j and 0 at
        others.
    source_prior_ : (k,) array
        Label frequencies p of the holdout.
    rho_ : float
        The penalty.

    Examples
    --------
    >>> import numpy as np
    >>> holdout = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.2, 0.8]])
    >>> rlls = RLLS().fit(holdout, [0, 0, 1, 1])
    >>> rlls.estimate([[0.8, 0.2], [0.5, 0.5]]).round(3)
    array([0.75, 0.25])
    >>> RLLS(rho=0.5).fit(holdout, [0, 0, 1, 1]).estimate([[0.8, 0.2], [0.5, 0.5]])
    array([0.5, 0.5])

    References
    ----------
    Azizzadenesheli, Liu, Yang, Anandkumar, "Regularized Learning for Domain Adaptation under Label Shifts", ICLR 2019.
    """

    needs_labels = True
    _by_class = "joint_"

    saves = Saves(
        params={
            "alpha": Number(0.0, finite=False),
            "delta": SHARE,
            "rho": Maybe(Number(0.0, finite=False)),
            "offset": Text(("outputs", "prior")),
        },
        state={
            "joint_": floats("k", "k", low=0.0, high=1.01),
            "source_prior_": priors("k", low=LEAST_PRIOR, within=1e-9),
            "rho_": Number(0.0, finite=False),
            "_gram": floats("k", "k", low=0.0, high=1.1),
            "_offset": priors("k"),
        },
        may_be_empty=True,
        check=_fits_together,
    )

    def __init__(
        self, *, alpha: float = 0.01, delta: float = 0.05, rho: float | None = None, offset: str = "outputs"
    ) -> None:
        self.alpha = alpha
        self.delta = delta
        self.rho = rho
        self.offset = offset

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Learn the confusion matrix from the holdout.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, every class at least once.
        """
        check_option(self.offset, "offset", ["outputs", "prior"])
        proba, labels = check_holdout(proba, y, every_class=True)
        n, k = proba.shape
        rho = self._penalty(n, k)
        joint = sums_by_class(proba, labels).T / n
        self.joint_ = np.ascontiguousarray(joint)
        self.source_prior_ = np.bincount(labels, minlength=k) / n
        self.rho_ = rho
        self._gram = joint.T @ joint
        self._offset = joint.sum(axis=1) if self.offset == "outputs" else self.source_prior_.copy()
        return self

    def _penalty(self, n: int, k: int) -> float:
        if self.rho is not None:
            return check_real(self.rho, "rho", 0.0, np.inf)
        alpha = check_real(self.alpha, "alpha", 0.0, np.inf)
        log = np.log(2 * k / check_real(self.delta, "delta", 0.0, 1.0, closed=False))
        return float(alpha * 3 * (2 * log / (3 * n) + np.sqrt(2 * log / n)))

    def _estimates(self, proba: FloatArray, starts: IntArray) -> FloatArray:
        return _mixes(proba, starts, self.joint_, self._gram, self._offset, self.source_prior_, self.rho_)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(offset="prior"), cls(rho=0.1)]
