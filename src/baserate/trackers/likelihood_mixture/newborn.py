"""The run that begins with a batch: the likeliest mix of the batch, and what the batch says for it (compiled).

What a new run predicts of its first samples says little about how well it will do. So a large first batch is judged as
a whole: by its likelihood averaged over all mixes, each as probable as it is under the Dirichlet prior that the run is
born with. Laplace's approximation of this average, in the logarithms of the shares, needs the likeliest mix and the
products of class probabilities there.
"""

import math

import numpy as np

from baserate.compiled import compiled_part
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trackers.likelihood_mixture.experts import BIRTH, JUDGED
from baserate.trackers.likelihood_mixture.scoring import (
    CAUTION,
    LOG,
    PRIOR,
    ROWS,
    THINNED,
    learn_resolution,
    make_scratch,
    move,
    take_sums,
)

_MOST_STEPS = 50
_STILL = 1e-5  # largest change of a share after which no further step is taken
_MAY_GAIN = 0.5  # nats for each class by which the first estimate may be too low: in trials, a tenth is usual
_BLOCK = 10  # likelihoods multiplied before a logarithm is taken


@compiled_part
def solve(
    mixes: FloatArray,
    overlaps: FloatArray,
    run: int,
    least: float,
    shown: float,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    per_class: FloatArray,
) -> float:
    """Repeat the step of a run that began with this batch until it plays the likeliest mix of the batch.

    Returns the batch's log-likelihood averaged over mixes; minus infinity, and the run as it was, if that could hardly
    exceed `least`. `shown` is the log-likelihood that the run gave the batch part by part.
    """
    k, n, products = len(mixes), float(end - first), len(overlaps)
    prior, best, best_score, best_overlap = np.empty(k), np.empty(k), np.empty(k), np.empty(products)
    # The density of the prior's shares, in their logarithms, is the product of their powers times this.
    scale = math.lgamma(PRIOR * k) + 0.5 * (k - 1.0) * np.log(2.0 * np.pi)
    for c in range(k):
        prior[c] = PRIOR * k * (0.5 * per_class[BIRTH, c] + 0.5 / k)
        scale -= math.lgamma(prior[c])
        best[c] = mixes[c, run]
    for j in range(products):
        best_overlap[j] = overlaps[j, run]
    # Nearly always the parts of the batch have brought the run so near that this tells whether to go on. Where the last
    # step went too far, the run plays a mix that is less likely than those before it.
    found = _log_likelihood(best, proba, inverse, labels, first, end)
    astray = found < shown
    for c in range(k):
        found += prior[c] * np.log(best[c])
    if not astray and found + scale - 0.5 * _log_curvature(best_overlap, prior, n) < least - _MAY_GAIN * k:
        return -np.inf
    mix, overlap, size, s = np.empty((k, 2)), np.empty((products, 2)), np.empty(2), make_scratch(k, 2)
    for c in range(k):
        mix[c, 0], mix[c, 1] = best[c], per_class[JUDGED, c]
    score, step = ROWS + k, 1 + (end - first - 1) // (THINNED + 8 * k)
    taken = 1 + (end - first - 1) // step
    highest, caution, farthest = -np.inf, CAUTION, np.inf
    for _ in range(_MOST_STEPS):
        take_sums(mix, proba, inverse, labels, first, end, step, s)
        found = 0.0
        for c in range(k):
            found += prior[c] * np.log(mix[c, 0])
        found += s[LOG, 0]
        if found >= highest:
            farthest = 0.0 if highest > -np.inf else np.inf
            for c in range(k):
                farthest = max(farthest, abs(mix[c, 0] - best[c]))
            highest, caution = found, 0.25 * caution
            for e in range(2):
                size[e] = 0.0
                for j in range(products):
                    overlap[j, e] = 0.0
            learn_resolution(overlap, size, n, taken, k, s)
            for c in range(k):
                best[c], best_score[c] = mix[c, 0], s[score + c, 0] + prior[c]
            for j in range(products):
                best_overlap[j] = overlap[j, 0]
        else:
            # A step of scoring can go too far; with more caution it becomes one of expectation-maximisation.
            caution = max(8.0 * caution, 0.05 * n)
        if farthest < _STILL:
            break
        for c in range(k):
            mix[c, 0], s[score + c, 0] = best[c], best_score[c]
        for j in range(products):
            overlap[j, 0] = best_overlap[j]
        for e in range(2):
            size[e] = 0.0
        move(mix, overlap, size, n + PRIOR * k, n, caution, per_class, s)
    for c in range(k):
        mixes[c, run] = best[c]
    for j in range(products):
        overlaps[j, run] = best_overlap[j]
    return float(highest + scale - 0.5 * _log_curvature(best_overlap, prior, n))


@compiled_part
def _log_likelihood(
    mix: FloatArray, proba: FloatArray, inverse: FloatArray, labels: IntArray, first: int, end: int
) -> float:
    """Return the log-likelihood of the samples `first` to `end` under one mix."""
    k, total, product = len(mix), 0.0, 1.0
    ratio = mix * inverse
    for i in range(first, end):
        label = labels[i] if len(labels) > 0 else UNLABELLED
        if label != UNLABELLED:
            product *= mix[label]
        else:
            likelihood = 0.0
            for c in range(k):
                likelihood += ratio[c] * proba[i, c]
            product *= likelihood
        if (i - first) % _BLOCK == _BLOCK - 1 or i == end - 1:
            total += np.log(product)
            product = 1.0
    return float(total)


@compiled_part
def _log_curvature(overlap: FloatArray, prior: FloatArray, n: float) -> float:
    """Return the log-determinant of the log-posterior's curvature in the logarithms of all shares but one.

    Where the log-posterior is largest the curvature is M - N q q', with M the sum of r r' plus the diagonal of the
    prior, and N q its row sums; so its determinant without one row and column, whichever, is that of M divided by N.
    """
    k = len(prior)
    factor, total, row = np.empty(len(overlap)), -np.log(n + prior.sum()), 0
    for c in range(k):
        other = 0
        for d in range(c + 1):
            x = n * overlap[row + d]
            if c == d:
                x += prior[c]
            for b in range(d):
                x -= factor[row + b] * factor[other + b]
            factor[row + d] = np.sqrt(x) if c == d else x / factor[other + d]
            other += d + 1
        total += 2.0 * np.log(factor[row + c])
        row += c + 1
    return float(total)
