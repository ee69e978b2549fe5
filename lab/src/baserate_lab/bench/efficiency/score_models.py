"""Models whose outputs are exactly calibrated: classes are normal in a space of scores, and the posterior is known."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from scipy.special import softmax

from baserate.protocols import FloatArray, IntArray

APART = 0.6
"""Least distance of two of many classes."""


class ScoreModel(NamedTuple):
    """Classes with unit normal scores around centres (k, d), and the class mix (k,) that the outputs assume."""

    centres: FloatArray
    source: FloatArray

    def outputs(self, y: IntArray, rng: np.random.Generator) -> FloatArray:
        """Draw scores of samples of these classes; returns the exact posteriors under the source mix."""
        scores = self.centres[y] + rng.standard_normal((len(y), self.centres.shape[1]))
        logits = scores @ self.centres.T - 0.5 * (self.centres**2).sum(axis=1) + np.log(self.source)
        return np.asarray(softmax(logits, axis=1))

    def draw(self, mix: FloatArray, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Outputs and labels of n samples of a class mix."""
        y = rng.choice(len(mix), size=n, p=mix)
        return self.outputs(y, rng), y


class Setting(NamedTuple):
    """A model, and the class mix after the change."""

    model: ScoreModel
    mix: FloatArray


def two_classes(distance: float, before: float, after: float) -> Callable[[np.random.Generator], Setting]:
    """One score, its two classes a distance apart; the shares are those of the second class."""

    def setting(_: np.random.Generator) -> Setting:
        model = ScoreModel(np.array([[0.0], [distance]]), np.array([1 - before, before]))
        return Setting(model, np.array([1 - after, after]))

    return setting


def many_classes(source: FloatArray, dimensions: int, scale: float) -> Callable[[np.random.Generator], Setting]:
    """Random centres with this standard deviation, and a new mix of which all are equally likely."""
    k = len(source)

    def setting(rng: np.random.Generator) -> Setting:
        centres = np.zeros((k, dimensions))
        # Nobody could tell the shares of two classes that are nearly the same, which would then be all that counts.
        while pdist(centres).min() < APART:
            centres = scale * rng.standard_normal((k, dimensions))
        return Setting(ScoreModel(centres, source), rng.dirichlet(np.ones(k)))

    return setting


_UNEVEN = np.linspace(1.0, 2.0, 10) / np.linspace(1.0, 2.0, 10).sum()

CASES: dict[str, Callable[[np.random.Generator], Setting]] = {
    "1 % to 8 %, distance 1.8": two_classes(1.8, 0.01, 0.08),
    "5 % to 40 %, distance 1.2": two_classes(1.2, 0.05, 0.40),
    "50 % to 80 %, distance 1.2": two_classes(1.2, 0.50, 0.80),
    # Accuracies of the best classifier under an even mix, on average: 55 %, 75 % and 95 %.
    "five classes, overlapping": many_classes(np.full(5, 0.2), 4, 0.7),
    "ten classes, medium": many_classes(_UNEVEN, 4, 1.65),
    "ten classes, well separated": many_classes(np.full(10, 0.1), 8, 1.6),
}
"""Settings by name; a setting with more than two classes is drawn."""
