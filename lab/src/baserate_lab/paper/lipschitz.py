"""The Lipschitz lemmas of the paper, against the longest gradients that a search finds.

``python -m baserate_lab.paper.lipschitz`` prints the table (a minute on one core).

L(p) is an expectation over x, so that its gradient is longest where all x are alike: the search is over the outputs of
the base model f_0 for one x, its true class probabilities, the source prior q_0, and the point p of the lemma's domain.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize
from scipy.special import expit, softmax

from baserate.protocols import FloatArray

CLASSES = (2, 3, 5, 10)
_STARTS = 40
_RANGE = 30.0  # of what goes into softmax and expit: far enough to reach the corners of the domain


class Found(NamedTuple):
    """Longest gradient found, the bound of the lemma, and the bound that a closer look gives."""

    longest: float
    bound: float
    exact: float | None


def gradient_of_log_loss(p: FloatArray, w: FloatArray, q: FloatArray) -> FloatArray:
    """Gradient of the cross entropy in p, for one x: w = f_0 / q_0 there, q its true class probabilities."""
    return np.asarray(w / (w @ p) - q / p)


def gradient_of_zero_one(p: FloatArray, w: FloatArray, q: FloatArray) -> FloatArray:
    """Gradient in p of the probability that a label sampled from the re-weighted outputs is wrong, for one x."""
    total = w @ p
    return np.asarray(-(w / total) * (q - q @ (w * p) / total))


def _climb(length: Callable[[FloatArray], float], n: int, rng: np.random.Generator) -> float:
    """The largest value of a function over a box of `n` numbers, from many random starts."""

    def descended(z: FloatArray) -> float:
        return -float(np.log(max(length(z), 1e-300)))

    best = 0.0
    for _ in range(_STARTS):
        start = rng.uniform(-_RANGE, _RANGE, n) * rng.choice([0.1, 0.3, 1.0])
        found = minimize(descended, start, bounds=[(-_RANGE, _RANGE)] * n)
        best = max(best, length(found.x))
    return best


def cross_entropy(k: int, mu: float, rng: np.random.Generator) -> Found:
    """Lemma on the cross entropy: 2 sqrt(K) / mu on the box from mu to 1. The longest there is has sqrt(2) / mu.

    The two parts of the gradient have lengths of at most 1 / mu each, and both are vectors of numbers that are not
    negative, so that their difference is no longer than sqrt(2) / mu; two classes at mu reach it.
    """

    def length(z: FloatArray) -> float:
        p = mu + (1 - mu) * expit(z[:k])
        return float(np.linalg.norm(gradient_of_log_loss(p, softmax(z[k : 2 * k]), softmax(z[2 * k :]))))

    return Found(_climb(length, 3 * k, rng), 2 * np.sqrt(k) / mu, np.sqrt(2) / mu)


def zero_one(k: int, alpha: float, tau: float, rng: np.random.Generator) -> Found:
    """Lemma on the 0-1 loss: 2 K^(3/2) / (alpha tau) where sum_i p(i) f_0(i | x) >= tau, if q_0 >= alpha."""

    def length(z: FloatArray) -> float:
        f0, q = softmax(z[:k]), softmax(z[k : 2 * k])
        q0 = alpha + (1 - k * alpha) * softmax(z[2 * k : 3 * k])
        p = expit(z[3 * k :])
        inside = p @ f0
        # Moved towards 1 until it is in the domain: at 1 itself the sum is 1.
        p = p if inside >= tau else p + (tau - inside) / (1 - inside) * (1 - p)
        return float(np.linalg.norm(gradient_of_zero_one(p, f0 / q0, q)))

    return Found(_climb(length, 4 * k, rng), 2 * k**1.5 / (alpha * tau), None)


def search(seed: int = 0) -> dict[tuple[str, int], Found]:
    """The longest gradients by lemma and number of classes; mu and tau are 0.1 / K, alpha is 0.5 / K."""
    found = {}
    for k in CLASSES:
        rng = np.random.default_rng([seed, k])
        found["cross entropy", k] = cross_entropy(k, 0.1 / k, rng)
        found["0-1", k] = zero_one(k, 0.5 / k, 0.1 / k, rng)
    return found


def table(found: dict[tuple[str, int], Found]) -> Table:
    """The longest gradient beside the bound."""
    shown = Table("lemma", "K", "longest found", "bound", "share of the bound", title="Lipschitz lemmas")
    for (lemma, k), (longest, bound, _) in sorted(found.items()):
        shown.add_row(lemma, str(k), f"{longest:.1f}", f"{bound:.1f}", f"{100 * longest / bound:.0f} %")
    return shown


def main() -> None:
    """Print the table."""
    Console(width=100, highlight=False).print(table(search()))


if __name__ == "__main__":
    main()
