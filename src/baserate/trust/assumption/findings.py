"""Findings: deviations of a stream from label shift, as numbers and in words."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from baserate.protocols import FloatArray
from baserate.state.declarations import Flag, Maybe, Number, Text, Whole
from baserate.trust.assumption.directions import Directions
from baserate.trust.assumption.regions import EVERY, GRADED, Regions
from baserate.trust.assumption.two_samples import Residuals, class_ratios

SCORES = ("doubt", "strangeness")
NUMBERS = 8
"""Number of numbers that a finding is stored as."""
_KEPT = 3  # findings that are kept
_OF_HULL = {"confidence": -1.0, "outputs": -2.0}
_SPREAD = -3.0  # of class 0; of the next one, a whole number less
_LARGEST_LOG = 700.0


class Finding(NamedTuple):
    """A region of the model's outputs with more or fewer samples than label shift can explain.

    Attributes
    ----------
    predicted : int or None
        The predicted class of the region; None for all.
    score : str
        ``"doubt"``, one minus the largest probability; ``"strangeness"``, the distance of the log-probabilities to the
        nearest reference row of the holdout; ``"log-probability of class j"``, the one that deviates most in the past
        of the stream, if the evidence comes from a direction learned from it, or from means; ``"squared deviation of
        the log-probability of class j"``, in variances of the holdout; ``"confidence"``, the largest probability
        among those of the same predicted class in the holdout; or ``"outputs"``, the place among all outputs.
    above : float or None
        The region has scores above this; None stands for the mean score, scaled to 0 to 1. For ``"confidence"`` it is
        a share of the holdout, for ``"outputs"`` the largest probability in the middle of the region.
    too_many : bool
        True if there are too many samples, False if there are too few.
    share, expected, error : float
        The share of the stream in the region, or the mean of the log-probability among these predictions; its value
        under label shift, given the predictions; and the standard error of the difference, including the holdout's.
    evidence : float
        This region's contribution to `AssumptionCheck.evidence_`.
    """

    predicted: int | None
    score: str
    above: float | None
    too_many: bool
    share: float
    expected: float
    error: float
    evidence: float

    def __str__(self) -> str:
        who = "" if self.predicted is None else f" among predictions of class {self.predicted}"
        if self.above is None:
            word = "too high" if self.too_many else "too low"
            return (
                f"the mean {self.score}{who} is {word}: {self.share:.4g}, label shift would give {self.expected:.4g} "
                f"+- {self.error:.2g}"
            )
        many = "too many" if self.too_many else "too few"
        kind, has = {
            "doubt": ("uncertain", f"have no probability above {1.0 - self.above:.9g}"),
            "strangeness": ("unusual", f"are at least {self.above:.3g} away from all of the holdout"),
            "confidence": ("confident", f"are surer than {100 * self.above:.0f} % of the holdout's of the same class"),
            "outputs": ("such", f"have a probability of about {self.above:.2g}"),
        }[self.score]
        return (
            f"{many} {kind} predictions{who}: {100 * self.share:.3g} % {has}, label shift would give "
            f"{100 * min(max(self.expected, 0.0), 1.0):.3g} % +- {100 * self.error:.2g}"
        )


_REAL = Number(finite=False)
FINDING = (Maybe(Whole()), Text(), Maybe(Number()), Flag(), _REAL, _REAL, _REAL, Number(0.0))
"""The declaration of a finding in a file."""


def is_finding(values: Sequence[Any], n_classes: int) -> bool:
    """Return whether a finding out of a file is about a class that there is, and a score."""
    of_classes = (name for c in range(n_classes) for name in (_of_class(c), _spread_of(c)))
    named = (*SCORES, *_OF_HULL, *of_classes)
    return (values[0] is None or values[0] < n_classes) and values[1] in named


def _of_class(c: int) -> str:
    return f"log-probability of class {c}"


def _spread_of(c: int) -> str:
    return f"squared deviation of the {_of_class(c)}"


class ScoreTest(NamedTuple):
    """The test functions of one score, with their residuals on the holdout."""

    regions: Regions
    residuals: Residuals
    log_weights: FloatArray


def strongest_regions(streams: FloatArray, tests: list[ScoreTest], logs: list[FloatArray | None]) -> FloatArray:
    """Return the strongest regions of a look, one per predicted class and score, as rows of numbers."""
    order = sorted(
        (
            (float(log[g, side]), score, int(g), int(side))
            for score, log in enumerate(logs)
            if log is not None
            for g, side in np.argwhere(log > -np.inf)
        ),
        key=lambda entry: -entry[0],
    )
    found: list[list[float]] = []
    for value, score, g, side in order:
        stream, test = streams[score], tests[score]
        key = [float(test.regions.classes[g]), float(score)]
        if len(found) == _KEPT:
            break
        if key in [entry[:2] for entry in found]:
            continue
        n = stream.sum()
        residual = test.residuals.values[g]
        ratio = class_ratios(stream, test.residuals)
        error = np.sqrt((stream + ratio**2 @ test.residuals.holdout) @ residual**2) / n
        share = stream @ test.regions.values[g] / n
        expected = share - stream @ residual / n
        found.append([*key, float(test.regions.edges[g]), float(side), share, expected, error, _exp(value)])
    return np.array(found).reshape(-1, NUMBERS)


def direction_finding(directions: Directions, value: float) -> FloatArray:
    """Return the largest deviation in the past that a direction was learned from, as a row of numbers."""
    mean = directions.furthest_mean()
    score = float(len(SCORES) + mean.column)
    low = float(mean.mean < mean.expected)
    return np.array([[mean.predicted, score, GRADED, low, mean.mean, mean.expected, mean.error, _exp(value)]])


def confidence_finding(kept: float, share: float, expected: float, error: float, evidence: float) -> FloatArray:
    """Return as a row of numbers that too many or too few predictions are surer than so many of the holdout's."""
    side = float(share < expected)
    return np.array([[EVERY, _OF_HULL["confidence"], kept, side, share, expected, error, evidence]])


def neighbourhood_finding(
    predicted: int, about: float, share: float, expected: float, error: float, evidence: float
) -> FloatArray:
    """Return as a row of numbers that too many or too few outputs are near a place."""
    side = float(share < expected)
    return np.array([[predicted, _OF_HULL["outputs"], about, side, share, expected, error, evidence]])


def moment_finding(c: int, spread: bool, mean: float, expected: float, error: float, evidence: float) -> FloatArray:
    """Return as a row of numbers that the mean log-probability of a class has moved, or its spread."""
    score = _SPREAD - c if spread else float(len(SCORES) + c)
    return np.array([[EVERY, score, GRADED, float(mean < expected), mean, expected, error, evidence]])


def are_moment_findings(numbers: FloatArray, n_classes: int) -> bool:
    """Return whether rows of numbers, out of a file, stand for findings of `MomentTest`."""
    predicted, score, about, side = numbers.T[:4]
    classes = np.arange(n_classes)
    whole = (predicted == EVERY) & (about == GRADED) & np.isin(side, [0.0, 1.0]) & (numbers[:, -1] >= 0.0)
    return bool((whole & np.isin(score, np.append(len(SCORES) + classes, _SPREAD - classes))).all())


def are_findings(numbers: FloatArray, n_classes: int, n_edges: int) -> bool:
    """Return whether rows of numbers, out of a file, stand for findings."""
    predicted, score, edge, side, _, _, _, evidence = numbers.T
    whole = np.isin(predicted, np.arange(EVERY, n_classes)) & np.isin(score, np.arange(len(SCORES) + n_classes))
    graded = (edge == GRADED) | (np.isin(edge, np.arange(n_edges)) & (score < len(SCORES)))
    told = np.isin(side, [0.0, 1.0]) & (evidence >= 0.0) & np.isfinite(evidence)
    return len(numbers) <= _KEPT and bool((whole & graded & told).all())


def are_hull_findings(numbers: FloatArray, n_classes: int) -> bool:
    """Return whether rows of numbers, out of a file, stand for findings of `HullTest`."""
    predicted, score, about, side = numbers.T[:4]
    whole = np.isin(predicted, np.arange(EVERY, n_classes)) & np.isin(score, list(_OF_HULL.values()))
    return bool((whole & (about >= 0.0) & (about <= 1.0) & np.isin(side, [0.0, 1.0]) & (numbers[:, -1] >= 0.0)).all())


def to_findings(numbers: FloatArray, edges: FloatArray) -> list[Finding]:
    """Turn rows of numbers into findings."""
    found = []
    for predicted, score, edge, side, share, expected, error, evidence in numbers.tolist():
        if score <= _SPREAD:
            found.append(
                Finding(None, _spread_of(int(_SPREAD - score)), None, side == 0, share, expected, error, evidence)
            )
            continue
        if score < 0.0:
            named = next(name for name, code in _OF_HULL.items() if code == score)
            place = None if predicted == EVERY else int(predicted)
            found.append(Finding(place, named, edge, side == 0, share, expected, error, evidence))
            continue
        kind = int(score)
        name = SCORES[kind] if kind < len(SCORES) else _of_class(kind - len(SCORES))
        above = None if edge == GRADED else float(edges[kind][int(edge)])
        who = None if predicted == EVERY else int(predicted)
        found.append(Finding(who, name, above, side == 0, share, expected, error, evidence))
    return found


def _exp(log: float) -> float:
    return float(np.exp(min(log, _LARGEST_LOG)))
