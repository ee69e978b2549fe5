"""Diagnosis of a holdout: problems that make adapting unreliable, and what to do about them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtri

from baserate.class_labels import called
from baserate.protocols import FloatArray, IntArray
from baserate.validation import check_held_proba, check_labels, check_prior, check_proba, check_real, check_vector

SMALL, MISSING, CONFUSED, CALIBRATION = "small", "missing", "confused", "calibration"
FEW = 10
"""Number of samples of a class below which its share can be far off."""
BLIND = 0.1
"""Largest total variation distance between class mixes that may go undetected without a warning."""
LEAST_SINGULAR = 0.05
"""Least singular value of the confusion matrix; below it, noise is amplified more than twenty times, or, by likelihood,
more than twenty times as many samples are needed as with labels."""
_SIGNIFICANT = 0.001  # probability of a warning about the calibration of a healthy holdout
_POINTS = 0.02  # largest acceptable difference of confidence and accuracy
_RELATIVE = 0.25  # largest acceptable difference of a class's share from its mean probability, relative
_BINS, _PER_BIN = 10, 20
_TOGETHER = 0.3  # of the largest entry of the singular vector, from which on a class counts as confused
_LARGEST = 300  # classes up to which confused ones are named
_SHOWN = 8
_LEAST_SHOWN = 1e-3  # singular value below which the amplification is not given as a number


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
    names: Sequence[Any] | None = None,
    *,
    likelihood: bool = False,
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
    names : sequence, optional
        What to call the classes in messages. Default: their numbers.
    likelihood : bool
        True if the class mix is followed by the likelihood of single samples, as by the default tracker, and not by
        estimates that invert a confusion matrix. How well classes can be told apart is then judged with all of them
        equally common: that the mean probabilities of a rare class are small in any case does no harm.

    Examples
    --------
    >>> for problem in health([[0.5, 0.5], [0.6, 0.4], [0.4, 0.6]] * 20, [0, 1, 1] * 20):
    ...     print(problem.kind, problem.classes)
    confused (0, 1)
    calibration ()
    """
    rows = check_held_proba(proba, y)
    n, k = rows.shape
    labels = check_labels(y, n, k)
    calibrated_rows = rows if calibrated is None else check_proba(calibrated, k, "calibrated")
    if len(calibrated_rows) != n:
        raise ValueError(f"calibrated has {len(calibrated_rows)} rows; expected {n}, one for each of proba.")
    counts = np.bincount(labels, minlength=k)
    as_it_came = calibrated is None or bool(np.array_equal(calibrated_rows, rows))
    found = _numbers(counts, None if slack is None else check_vector(slack, k, "slack"), names, as_it_came=as_it_came)
    if n == 0 or counts.min() == 0:
        return found  # neither confusion nor calibration can be judged
    if sigma_min is not None:
        check_real(sigma_min, "sigma_min", 0.0, np.inf)
    weights, assumed = np.ones(n), counts / n
    if source_prior is not None:
        assumed = check_prior(source_prior, k, "source_prior", positive=True)
        weights = (assumed * n / counts)[labels]
    at_even = None
    if likelihood:
        # The mean of these by class is the Fisher information on the class mix, at an even mix, for each sample.
        at_even = calibrated_rows / assumed
        at_even /= at_even.sum(axis=1, keepdims=True)
    found += _confusion(
        calibrated_rows if at_even is None else at_even, labels, sigma_min, names, likelihood=likelihood
    )
    return found + _calibration(calibrated_rows, labels, weights, names)


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


def _named(classes: IntArray, names: Sequence[Any] | None) -> str:
    shown = ", ".join(called(c, names) for c in classes[:_SHOWN].tolist())
    return shown + (", ..." if len(classes) > _SHOWN else "")


def _numbers(
    counts: IntArray, slack: FloatArray | None, names: Sequence[Any] | None, *, as_it_came: bool
) -> list[Problem]:
    found = []
    more = len(counts) > 2  # of two classes, none can be dropped or merged
    merging = ", or merge it with a class like it (baserate.trust.merge_classes)" if more else ""
    missing = np.flatnonzero(counts == 0)
    if len(missing):
        found.append(
            Problem(
                MISSING,
                f"the holdout has no sample of class {_named(missing, names)}; how it looks "
                f"to the model is unknown, and its rows will be counted as other classes. "
                f"Label some{', or drop the column' if more else ''}.",
                tuple(missing.tolist()),
            )
        )
    few = np.flatnonzero((counts > 0) & (counts < FEW))
    if len(few):
        found.append(
            Problem(
                SMALL,
                f"the holdout has fewer than {FEW} samples of class {_named(few, names)}; its share can be far off. "
                f"Label more of it{merging}.",
                tuple(few.tolist()),
            )
        )
    blind = 0.0 if slack is None else 0.5 * float(np.abs(slack).sum())  # above 1, no class mix is far enough
    if blind > BLIND:
        which = (
            "changes of the class mix" if blind >= 1.0 else f"shifts smaller than {100 * blind:.0f} percentage points"
        )
        other = "use a calibrator (calibrator='auto')"
        if not as_it_came:
            other = "calibrate the model on other data and pass calibrator=None"
        found.append(
            Problem(
                SMALL,
                f"with {counts.sum()} holdout rows, {which} cannot be told from calibration error and are not "
                f"corrected. Label more rows, or {other}.",
                (),
            )
        )
    return found


def _confusion(
    proba: FloatArray, labels: IntArray, sigma_min: float | None, names: Sequence[Any] | None, *, likelihood: bool
) -> list[Problem]:
    k = proba.shape[1]
    classes: tuple[int, ...] = ()
    who = "some classes"
    if k > _LARGEST:
        if sigma_min is None or sigma_min >= LEAST_SINGULAR:
            return []
    else:
        means = np.zeros((k, k))
        np.add.at(means, labels, proba)
        _, values, right = np.linalg.svd((means / np.bincount(labels)[:, np.newaxis]).T)
        sigma_min = float(values[-1]) if sigma_min is None else sigma_min
        if sigma_min >= LEAST_SINGULAR:
            return []
        size = np.abs(right[-1])
        alike = np.flatnonzero(size >= _TOGETHER * size.max())
        classes, who = tuple(alike.tolist()), f"classes {_named(alike, names)}"
    times = f"up to {1 / sigma_min:.0f}" if sigma_min > _LEAST_SHOWN else f"more than {1 / _LEAST_SHOWN:,.0f}"
    # Two classes cannot be merged: there would be nothing left to follow.
    merging = (
        f"; or make one class of them: baserate.trust.merge_classes(proba, [{classes}])" if classes and k > 2 else ""
    )
    if likelihood:
        message = (
            f"the model hardly tells {who} apart: even if {'both' if k == 2 else 'all classes'} were equally common, "
            f"following their shares would take {times} times as many rows as with labels (sigma_min = "
            f"{sigma_min:.2g}). Use a better model, or label some rows of the stream{merging}."
        )
    elif k == 2:
        message = (
            f"the model's mean probabilities hardly tell {who} apart (sigma_min = {sigma_min:.2g}): noise in estimates "
            f"of their shares is amplified {times} times. Use larger batches, a larger holdout, a better model, "
            "or the default tracker, which does not need these estimates."
        )
    else:
        message = (
            f"the model hardly tells {who} apart (sigma_min = {sigma_min:.2g}): noise in their shares is amplified "
            f"{times} times. Use a larger holdout, or a better model{merging}."
        )
    message += " If it is better than that, labels and probabilities may not be those of the same rows."
    return [Problem(CONFUSED, message, classes)]


def _calibration(
    proba: FloatArray, labels: IntArray, weights: FloatArray, names: Sequence[Any] | None
) -> list[Problem]:
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
                f"the model gives class {called(worst, names)} a mean probability of "
                f"{100 * (shares + gaps)[worst]:.1f} %, but its share of the holdout is {100 * shares[worst]:.1f} %; "
                f"that would be tracked as a shift (classes {_named(off, names)}). Use a calibrator with biases "
                "(BCTS), or give the source_prior that the model was trained on.",
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
                f"the probabilities are not calibrated: the model is {word}, its confidence differs from its accuracy "
                f"by {100 * gap:.1f} points on average. Tracking relies on calibrated probabilities. Use a calibrator "
                "(calibrator='auto'), a more flexible one, or a larger holdout.",
                (),
            )
        )
    return found
