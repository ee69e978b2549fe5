"""Diagnosis of a holdout: problems that make adapting unreliable, and what to do about them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtri

from baserate.protocols import FloatArray, IntArray
from baserate.validation import check_labels, check_prior, check_proba, check_real, check_vector

SMALL, MISSING, CONFUSED, CALIBRATION = "small", "missing", "confused", "calibration"
FEW = 10
"""Number of samples of a class below which its share can be far off."""
BLIND = 0.1
"""Largest total variation distance between class mixes that may go undetected without a warning."""
LEAST_SINGULAR = 0.05
"""Least singular value of the confusion matrix; below it, noise is amplified more than twenty times."""
_SIGNIFICANT = 0.001  # probability of a warning about the calibration of a healthy holdout
_POINTS = 0.02  # largest acceptable difference of confidence and accuracy
_RELATIVE = 0.25  # largest acceptable difference of a class's share from its mean probability, relative
_BINS, _PER_BIN = 10, 20
_TOGETHER = 0.3  # of the largest entry of the singular vector, from which on a class counts as confused
_LARGEST = 300  # classes up to which confused ones are named
_SHOWN = 8


class HoldoutWarning(UserWarning):
    """Warning that a holdout is not good enough to rely on, raised when an adapter is fitted."""


class Problem(NamedTuple):
    """A problem with a holdout.

    Attributes
    ----------
    kind : str
        ``"missing"``, ``"small"``, ``"confused"`` or ``"calibration"``.
    message : str
        The problem, and what to do about it.
    classes : tuple of int
        The classes it is about; empty for all. Classes that are confused can be merged by `merge_classes`.
    """

    kind: str
    message: str
    classes: tuple[int, ...]

    def __str__(self) -> str:
        return self.message


class Merged(NamedTuple):
    """Probabilities of fewer classes.

    Attributes
    ----------
    proba : (n, j) array
        One column for each group, in the place of its first class, and one for each other class.
    mapping : (k,) array of int
        The new number of each class: ``mapping[y]`` are the labels that go with `proba`.
    """

    proba: FloatArray
    mapping: IntArray


def health(
    proba: ArrayLike,
    y: ArrayLike,
    calibrated: ArrayLike | None = None,
    sigma_min: float | None = None,
    slack: ArrayLike | None = None,
    source_prior: ArrayLike | None = None,
) -> list[Problem]:
    """Return the problems of a holdout that would make adapting unreliable; an empty list if there are none.

    Parameters
    ----------
    proba : (n, k) array
        The model's probabilities on the holdout.
    y : (n,) array of int
        Labels.
    calibrated : (n, k) array, optional
        The probabilities after calibration. Default: `proba`. A calibrator that was fitted on this holdout looks better
        here than it is.
    sigma_min : float, optional
        The smallest singular value of the confusion matrix, if it is known. Default: computed from mean probabilities.
    slack : (k,) array, optional
        The change of each class's share that errors of the holdout alone could cause, if it is known.
    source_prior : (k,) array, optional
        The class mix that the probabilities assume, if it is not the holdout's; calibration is then judged there.

    Examples
    --------
    >>> for problem in health([[0.5, 0.5], [0.6, 0.4], [0.4, 0.6]] * 20, [0, 1, 1] * 20):
    ...     print(problem.kind, problem.classes)
    confused (0, 1)
    calibration ()
    """
    rows = check_proba(proba)
    n, k = rows.shape
    labels = check_labels(y, n, k)
    calibrated_rows = rows if calibrated is None else check_proba(calibrated, k, "calibrated")
    if len(calibrated_rows) != n:
        raise ValueError(f"calibrated has {len(calibrated_rows)} rows; expected {n}, one for each of proba.")
    counts = np.bincount(labels, minlength=k)
    found = _numbers(counts, None if slack is None else check_vector(slack, k, "slack"))
    if n == 0 or counts.min() == 0:
        return found  # neither confusion nor calibration can be judged
    if sigma_min is not None:
        check_real(sigma_min, "sigma_min", 0.0, np.inf)
    found += _confusion(calibrated_rows, labels, counts, sigma_min)
    weights = np.ones(n)
    if source_prior is not None:
        weights = (check_prior(source_prior, k, "source_prior", positive=True) * n / counts)[labels]
    return found + _calibration(calibrated_rows, labels, weights)


def merge_classes(proba: ArrayLike, groups: Sequence[Sequence[int]]) -> Merged:
    """Merge each group of classes into one, by adding their probabilities.

    Parameters
    ----------
    proba : (n, k) array
        Probabilities.
    groups : sequence of sequences of int
        Classes to merge; no class in two groups.

    Examples
    --------
    >>> merged = merge_classes([[0.1, 0.2, 0.3, 0.4]], [(1, 3)])
    >>> merged.proba.round(1), merged.mapping
    (array([[0.1, 0.6, 0.3]]), array([0, 1, 2, 1]))
    """
    rows = check_proba(proba)
    k = rows.shape[1]
    leader = np.arange(k)
    seen: set[int] = set()
    for group in groups:
        classes = check_labels(np.asarray(group), len(group), k, "groups")
        if len(classes) < 2:
            raise ValueError(f"groups holds {tuple(group)!r}; give at least two classes to make one of.")
        if len(set(classes.tolist())) < len(classes) or seen & set(classes.tolist()):
            raise ValueError(f"groups names a class of {tuple(group)!r} twice; give each class once.")
        seen |= set(classes.tolist())
        leader[classes] = classes.min()
    mapping = np.unique(leader, return_inverse=True)[1].astype(np.int64)
    merged = np.zeros((len(rows), int(mapping.max()) + 1))
    for c in range(k):
        merged[:, mapping[c]] += rows[:, c]
    return Merged(merged, mapping)


def _named(classes: IntArray) -> str:
    return ", ".join(map(str, classes[:_SHOWN])) + (", ..." if len(classes) > _SHOWN else "")


def _numbers(counts: IntArray, slack: FloatArray | None) -> list[Problem]:
    found = []
    missing = np.flatnonzero(counts == 0)
    if len(missing):
        found.append(
            Problem(
                MISSING,
                f"the holdout has no sample of class {_named(missing)}; what the model makes of it is unknown, and its "
                "samples will be booked to other classes. Label some, or drop the column.",
                tuple(missing.tolist()),
            )
        )
    few = np.flatnonzero((counts > 0) & (counts < FEW))
    if len(few):
        found.append(
            Problem(
                SMALL,
                f"the holdout has fewer than {FEW} samples of class {_named(few)}; its share can be far off. Label "
                "more of it, or merge it with a class like it (baserate.trust.merge_classes).",
                tuple(few.tolist()),
            )
        )
    if slack is not None and 0.5 * float(np.abs(slack).sum()) > BLIND:
        found.append(
            Problem(
                SMALL,
                f"with {counts.sum()} samples the holdout cannot tell a shift of {50 * np.abs(slack).sum():.0f} % of "
                "all samples from faults of the model, and smaller shifts are left alone. Label more samples, or "
                "calibrate the model on other data and say calibrator=None.",
                (),
            )
        )
    return found


def _confusion(proba: FloatArray, labels: IntArray, counts: IntArray, sigma_min: float | None) -> list[Problem]:
    k = proba.shape[1]
    classes: tuple[int, ...] = ()
    who = "some classes"
    if k > _LARGEST:
        if sigma_min is None or sigma_min >= LEAST_SINGULAR:
            return []
    else:
        means = np.zeros((k, k))
        np.add.at(means, labels, proba)
        _, values, right = np.linalg.svd((means / counts[:, np.newaxis]).T)
        sigma_min = float(values[-1]) if sigma_min is None else sigma_min
        if sigma_min >= LEAST_SINGULAR:
            return []
        size = np.abs(right[-1])
        alike = np.flatnonzero(size >= _TOGETHER * size.max())
        classes, who = tuple(alike.tolist()), f"classes {_named(alike)}"
    merging = f"; or make one class of them: baserate.trust.merge_classes(proba, [{classes}])" if classes else ""
    return [
        Problem(
            CONFUSED,
            f"the model hardly tells {who} apart (sigma_min = {sigma_min:.2g}): noise in their shares is amplified up "
            f"to {1 / max(sigma_min, 1e-12):.0f} times. Use a larger holdout, or a better model{merging}.",
            classes,
        )
    ]


def _calibration(proba: FloatArray, labels: IntArray, weights: FloatArray) -> list[Problem]:
    n, k = proba.shape
    found = []
    # Classes: their mean probability must be their share.
    told = np.eye(k)[labels]
    gaps = (weights[:, np.newaxis] * (proba - told)).mean(axis=0)
    errors = np.sqrt((weights[:, np.newaxis] ** 2 * proba * (1.0 - proba)).sum(axis=0)) / n
    shares = (weights[:, np.newaxis] * told).mean(axis=0)
    off = np.flatnonzero((np.abs(gaps) > -ndtri(_SIGNIFICANT / (2 * k)) * errors) & (np.abs(gaps) > _RELATIVE * shares))
    if len(off):
        worst = int(off[np.abs(gaps[off]).argmax()])
        found.append(
            Problem(
                CALIBRATION,
                f"the model thinks of class {worst} in {100 * (shares + gaps)[worst]:.1f} % of cases where the holdout "
                f"has it in {100 * shares[worst]:.1f} %, which would be tracked as a shift (classes {_named(off)}). "
                "Use a calibrator with biases (BCTS), or give the source_prior that the model was trained on.",
                tuple(off.tolist()),
            )
        )
    # Confidence: it must be the accuracy, over its whole range.
    confidence, right = proba.max(axis=1), proba.argmax(axis=1) == labels
    bins = min(_BINS, n // _PER_BIN)
    if bins < 2:
        return found
    statistic, gap, noise = 0.0, 0.0, 0.0
    for rows in np.array_split(np.argsort(confidence, kind="stable"), bins):
        w = weights[rows]
        difference = float((w * (confidence[rows] - right[rows])).sum())
        variance = float((w**2 * np.maximum(confidence[rows] * (1.0 - confidence[rows]), 1e-4)).sum())
        statistic += difference**2 / variance
        gap += abs(difference) / n
        noise += np.sqrt(2.0 / np.pi * variance) / n
    if chdtrc(bins, statistic) < _SIGNIFICANT and gap - noise > _POINTS:
        word = "too sure" if float((weights * (confidence - right)).sum()) > 0.0 else "not sure enough"
        found.append(
            Problem(
                CALIBRATION,
                f"the probabilities are not honest: the model is {word} of itself, its confidence differs from its "
                f"accuracy by {100 * gap:.1f} points on average over the range. Tracking believes them; use a "
                "calibrator (calibrator='auto'), a more flexible one, or a larger holdout.",
                (),
            )
        )
    return found
