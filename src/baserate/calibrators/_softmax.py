"""The map ``softmax(scales * log p + biases)`` of all calibrators, and its derivatives (compiled)."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray

_ROUNDING = 1e-13  # a row whose sum differs from one by less is not changed


@compiled
def apply_map(proba: FloatArray, scales: FloatArray, biases: FloatArray, floor: float) -> FloatArray:
    """Return the rows ``softmax(scales * log(max(p, floor)) + biases)``.

    Examples
    --------
    >>> import numpy as np
    >>> apply_map(np.array([[0.2, 0.8]]), np.full(2, 2.0), np.log([4.0, 1.0]), 1e-12).round(12)
    array([[0.2, 0.8]])
    """
    n, k = proba.shape
    out = np.empty((n, k))
    for i in range(n):
        top = -np.inf
        for c in range(k):
            out[i, c] = scales[c] * np.log(max(proba[i, c], floor)) + biases[c]
            top = max(top, out[i, c])
        total = 0.0
        for c in range(k):
            out[i, c] = np.exp(out[i, c] - top)
            total += out[i, c]
        for c in range(k):
            out[i, c] /= total
    return out


@compiled
def normalise_rows(proba: FloatArray) -> FloatArray:
    """Scale rows to sum to one, which is the identity map; rows that do so already keep every bit.

    Examples
    --------
    >>> import numpy as np
    >>> normalise_rows(np.array([[0.25, 0.75], [0.0, 0.9995]]))
    array([[0.25, 0.75],
           [0.  , 1.  ]])
    """
    n, k = proba.shape
    out = np.empty((n, k))
    for i in range(n):
        total = 0.0
        for c in range(k):
            total += proba[i, c]
        if abs(total - 1.0) <= _ROUNDING:
            total = 1.0
        for c in range(k):
            out[i, c] = proba[i, c] / total
    return out


@compiled
def take_sums(
    logs: FloatArray,
    labels: IntArray,
    scales: FloatArray,
    biases: FloatArray,
    sums: FloatArray,
    weights: FloatArray,
) -> tuple[float, float]:
    """Compute a holdout's log-likelihood and the sums for its first two derivatives, in one pass.

    With q the mapped probabilities and l the logs of a sample, this adds to the rows of `sums` (8, k): the gradient in
    the scales, that in the biases, and the sums over samples of q, q l, q l^2, q^2, q^2 l and q^2 l^2. The rows of
    `weights`, one per sample, are set to ``(q l, q)`` if they have 2 k entries, and to ``(sum(q l), q)`` if they have
    k + 1. Returns the log-likelihood and the sum of ``sum(q l)**2``.
    """
    n, k = logs.shape
    p = weights.shape[1]
    q, first = np.empty(k), np.empty(k)
    value, squared_means = 0.0, 0.0
    for i in range(n):
        top = -np.inf
        for c in range(k):
            q[c] = scales[c] * logs[i, c] + biases[c]
            top = max(top, q[c])
        y = labels[i]
        value += q[y] - top
        sums[0, y] += logs[i, y]
        sums[1, y] += 1.0
        total = 0.0
        for c in range(k):
            q[c] = np.exp(q[c] - top)
            total += q[c]
        value -= np.log(total)
        scale = 1.0 / total
        mean = 0.0
        for c in range(k):
            q[c] *= scale
            first[c] = q[c] * logs[i, c]
            mean += first[c]
        squared_means += mean * mean
        for c in range(k):
            sums[0, c] -= first[c]
            sums[1, c] -= q[c]
            sums[2, c] += q[c]
            sums[3, c] += first[c]
            sums[4, c] += first[c] * logs[i, c]
            sums[5, c] += q[c] * q[c]
            sums[6, c] += q[c] * first[c]
            sums[7, c] += first[c] * first[c]
        if p == 2 * k:
            for c in range(k):
                weights[i, c], weights[i, k + c] = first[c], q[c]
        elif p == k + 1:
            weights[i, 0] = mean
            for c in range(k):
                weights[i, 1 + c] = q[c]
    return value, squared_means
