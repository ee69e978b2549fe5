"""BBSE, black-box shift estimation: the class mix of a batch from the confusion matrix (Lipton et al. 2018)."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.marginals._batch_estimator import ON_OR_OFF, BatchEstimator, sums_by_class
from baserate.protocols import FloatArray, IntArray
from baserate.state.declarations import Number, Saves, floats
from baserate.validation import check_holdout, warn_user

_SINGULAR = 1e-8
_NEARLY_SINGULAR = 0.05
_DENSE = 300  # classes up to which a full SVD is faster than an iterative search for the smallest singular value
_RIDGE = 1e-8


@compiled
def _estimates(proba: FloatArray, starts: IntArray, inverse_t: FloatArray, hard: bool, clip: bool) -> FloatArray:
    """Return one estimate per batch: the inverse times the mean output, optionally clipped at zero and normalised."""
    k = proba.shape[1]
    out = np.zeros((len(starts) - 1, k))
    mean = np.empty(k)
    for b in range(len(starts) - 1):
        mean[:] = 0.0
        for i in range(starts[b], starts[b + 1]):
            if hard:
                mean[np.argmax(proba[i])] += 1.0
            else:
                for c in range(k):
                    mean[c] += proba[i, c]
        n = starts[b + 1] - starts[b]
        for j in range(k):
            share = mean[j] / n
            for c in range(k):
                out[b, c] += inverse_t[j, c] * share
        if clip:
            total = 0.0
            for c in range(k):
                out[b, c] = max(out[b, c], 0.0)
                total += out[b, c]
            for c in range(k):
                out[b, c] = out[b, c] / total if total > 0.0 else mean[c] / n
    return out


class BBSE(BatchEstimator, saved_as="bbse"):
    """Estimates the class mix q by solving ``C q = mean output``, with C the holdout's confusion matrix.

    Without clipping the estimate is unbiased for a known C, and its variance is at most ``1 / sigma_min_**2`` for a
    batch of one sample. O(n k + k^2) time a batch, O(k^2) memory.

    Parameters
    ----------
    soft : bool
        Average the model's probabilities (default), or its decisions.
    clip : bool
        Clip negative entries to zero and normalise (default): on the simplex, slightly biased, far less noisy on a
        small holdout. ``False`` is the estimate of the paper's text, which may leave the simplex.
    joint : bool
        ``False`` (default) inverts the conditional matrix of the paper's text. ``True`` solves for the weights
        q / q_0 with the joint matrix and a ridge of 1e-8, as in the paper's experiments; the two differ where the
        matrix is close to singular, and (the joint matrix being smaller) from about a thousand classes on.

    Attributes
    ----------
    confusion_ : (k, k) array
        ``confusion_[i, j]``: the mean output for class i over holdout samples of class j.
    sigma_min_ : float
        Its smallest singular value. The noise of an estimate is amplified by up to ``1 / sigma_min_``.

    Examples
    --------
    >>> import numpy as np
    >>> holdout = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.2, 0.8]])
    >>> bbse = BBSE().fit(holdout, [0, 0, 1, 1])
    >>> bbse.estimate([[0.8, 0.2], [0.5, 0.5]]).round(3)
    array([0.75, 0.25])

    References
    ----------
    Lipton, Wang, Smola, "Detecting and Correcting for Label Shift with Black Box Predictors", ICML 2018; Lemma
    "unbias" of the paper.
    """

    needs_labels = True
    _by_class = "confusion_"

    saves = Saves(
        params={"soft": ON_OR_OFF, "clip": ON_OR_OFF, "joint": ON_OR_OFF},
        state={
            "confusion_": floats("k", "k", low=0.0, high=1.01),
            "sigma_min_": Number(_SINGULAR, 1e6),
            "_inverse_t": floats("k", "k", low=-2.0 / _SINGULAR, high=2.0 / _SINGULAR),
        },
        may_be_empty=True,
    )

    def __init__(self, *, soft: bool = True, clip: bool = True, joint: bool = False) -> None:
        self.soft = soft
        self.clip = clip
        self.joint = joint

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Learn the confusion matrix from the holdout.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, every class at least once.
        """
        proba, labels = check_holdout(proba, y, every_class=True)
        n, k = proba.shape
        outputs = proba if self.soft else np.eye(k)[proba.argmax(axis=1)]
        counts = np.bincount(labels, minlength=k)
        confusion = (sums_by_class(outputs, labels) / counts[:, np.newaxis]).T
        sigma_min, direction = _smallest_singular(confusion)
        self._report_confusion(sigma_min, direction)
        if self.joint:
            joint = confusion * (counts / n)
            ridge = _RIDGE * np.eye(k)
            inverse = (counts / n)[:, np.newaxis] * np.linalg.solve(joint.T @ joint + ridge, joint.T)
        else:
            inverse = np.linalg.inv(confusion)
        self.confusion_ = np.ascontiguousarray(confusion)
        self.sigma_min_ = sigma_min
        self._inverse_t = np.ascontiguousarray(inverse.T)
        return self

    def _estimates(self, proba: FloatArray, starts: IntArray) -> FloatArray:
        return _estimates(proba, starts, self._inverse_t, not self.soft, self.clip)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(soft=False, clip=False), cls(joint=True)]

    def _report_confusion(self, sigma_min: float, direction: FloatArray) -> None:
        if sigma_min >= _NEARLY_SINGULAR:
            return
        size = np.abs(direction)
        confused = ", ".join(map(str, np.flatnonzero(size >= 0.3 * size.max())[:8]))
        merging = "merge these classes (baserate.trust.merge_classes), " if len(direction) > 2 else ""
        softer = "" if self.soft else "soft=True, "
        advice = f"Use a larger holdout, {merging}use RLLS, {softer}or a better model."
        if sigma_min < _SINGULAR:
            raise ValueError(
                "the confusion matrix of this holdout is singular: the model's outputs do not tell classes "
                f"{confused} apart. {advice}"
            )
        warn_user(
            f"the confusion matrix is nearly singular (sigma_min = {sigma_min:.2g}): classes {confused} are "
            "confused, and "
            f"noise in their estimated share is amplified up to {1 / sigma_min:.0f} times. {advice}",
        )


def _smallest_singular(matrix: FloatArray) -> tuple[float, FloatArray]:
    """Return the smallest singular value and its right singular vector."""
    k = len(matrix)
    if k <= _DENSE:
        _, values, right = np.linalg.svd(matrix)
        return float(values[-1]), right[-1]
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        _, values, right = np.linalg.svd(matrix)
        return float(values[-1]), right[-1]
    from scipy.sparse.linalg import LinearOperator, eigsh  # slow to import, and seldom needed

    # The largest eigenvalue of (C'C)^-1, by Lanczos iteration from a fixed start.
    operator = LinearOperator((k, k), matvec=lambda v: inverse @ (inverse.T @ v), dtype=np.float64)
    values, vectors = eigsh(operator, k=1, which="LM", v0=np.linspace(1.0, 2.0, k))
    return float(1.0 / np.sqrt(values[0])), vectors[:, 0]
