"""The accuracy of a re-weighted model over the parts of a window, by label shift: estimate and variance."""

from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray
from baserate.simplex import log_ratio, reweight
from baserate.trust._label_estimates import label_estimates

ALIKE = 0.02
"""Class mixes that differ by less in every class are treated as one."""
_GAP = 0.02  # standard deviation of confidence minus accuracy that is expected of a calibrated model


class AccuracyParts(NamedTuple):
    """Sums over the samples of each part of a window."""

    sizes: FloatArray
    confidence: FloatArray
    outputs: FloatArray
    priors: FloatArray


def accuracy_moments(
    proba: FloatArray, by_class: tuple[FloatArray, FloatArray], source_prior: FloatArray, parts: AccuracyParts
) -> tuple[float, float]:
    """Return the estimated accuracy over a window, and the variance of its error.

    Parameters
    ----------
    proba : (n, k) array
        Of the holdout.
    by_class : tuple
        Weights of its samples in each class, (n, k), and what the classes' samples count for, (k,).
    source_prior : (k,) array
        The class mix that the probabilities assume.
    parts : AccuracyParts
        The window.
    """
    (n, k), (class_weights, n_class) = proba.shape, by_class
    labels = label_estimates(proba, class_weights, source_prior, source_prior)
    # At the source prior, scores are probabilities divided by that prior: their sum over the stream is enough.
    to_labels = labels.inverse / source_prior[:, np.newaxis]
    n_window = parts.sizes.sum()
    correction = on_stream = hidden = 0.0
    on_holdout = np.zeros((n, k))
    for group in _alike(parts):
        size = parts.sizes[group].sum()
        prior = parts.priors[group].sum(axis=0) / size
        adapted = reweight(proba, log_ratio(prior, source_prior)[np.newaxis], np.array([0, n]))
        largest = adapted.max(axis=1)
        right = np.zeros((n, k))
        right[np.arange(n), adapted.argmax(axis=1)] = 1.0
        gap = (class_weights * (right - largest[:, np.newaxis])).sum(axis=0)
        q = parts.outputs[group].sum(axis=0) / size @ to_labels
        residual = right - (largest + labels.rows @ gap)[:, np.newaxis]
        correction += size / n_window * (q @ gap)
        on_stream += size / n_window * (np.maximum(q, 0.0) @ (class_weights * residual**2).sum(axis=0))
        on_holdout += size / n_window * q * residual
        if labels.blind.any():  # how their joint share is split is unknown
            share = float(np.clip(1.0 - q[~labels.blind].sum(), 0.0, 1.0))
            hidden += size / n_window * share * float(np.ptp(gap[labels.blind]))
    holdout = float((class_weights * on_holdout**2).sum(axis=0) @ (1.0 / n_class))
    expected = max(_GAP**2, correction**2 - holdout)
    trust = expected / (expected + holdout)
    confidence = parts.confidence.sum() / n_window
    return confidence + trust * correction, trust * holdout + on_stream / n_window + (0.5 * hidden) ** 2


def _alike(parts: AccuracyParts) -> list[list[int]]:
    """Group parts by the class mix they were predicted with."""
    groups: list[list[int]] = []
    mixes = parts.priors / parts.sizes[:, np.newaxis]
    for part, prior in enumerate(mixes):
        for group in groups:
            if np.abs(prior - mixes[group[0]]).max() < ALIKE:
                group.append(part)
                break
        else:
            groups.append([part])
    return groups
