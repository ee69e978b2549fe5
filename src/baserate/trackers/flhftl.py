"""FLH-FTL: follow the leading history over running averages (Algorithm "FLH-FTL" of the paper)."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.protocols import Evidence, FloatArray
from baserate.state.declarations import Either, Maybe, Number, Saved, Text, Whole, floats, vectors
from baserate.trackers._tracker import SAVED, BaseTracker
from baserate.validation import check_option, check_option_or_real, check_vector

_BLOCK = 128  # experts at a time: their sums stay in the fastest cache while they are judged and combined
_TINY = 1e-200  # a total weight below this has lost digits to underflow


@compiled
def _exp(x: FloatArray, out: FloatArray) -> None:
    """Compute ``out = exp(x)`` for x <= 0, to the last digit or two, in operations that the compiler vectorises.

    The C library's exponential takes one number at a time, and would take a third of the tracker's time. Here x = n log
    2 + r with |r| <= log(2) / 2; exp(r) is its Taylor series, and 2^n is made by writing n into the exponent bits of a
    float. Below -708, near the end of the range of floats, the result stays at exp(-708).
    """
    power = np.empty(len(x))
    bits = power.view(np.int64)
    for j in range(len(x)):
        bounded = max(x[j], -708.0)
        # Adding 1.5 * 2^52 rounds to a whole number, and leaves it in the lowest bits.
        power[j] = bounded * 1.4426950408889634 + 6755399441055744.0
        n = power[j] - 6755399441055744.0
        r = bounded - n * 6.93147180369123816490e-01 - n * 1.90821492927058770002e-10  # log 2 in two parts
        series = 1 / 3628800 + r * (1 / 39916800 + r * (1 / 479001600))
        series = 1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r * series))
        series = 1 / 24 + r * (1 / 120 + r * (1 / 720 + r * series))
        out[j] = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * series)))
    for j in range(len(x)):
        bits[j] = (bits[j] + 1023) << 52
    for j in range(len(x)):
        out[j] *= power[j]


@compiled
def _judge_and_combine(
    sums: FloatArray, log_weights: FloatArray, t: int, z: FloatArray, rate: float, by_window: bool
) -> tuple[float, FloatArray]:
    """Do lines 6 and 5 for the experts with data; return their total weight and the weighted sum of their predictions.

    ``sums[c, j]`` is the sum of class c over the first ``j`` estimates, so that expert ``j`` (the mean of all but the
    first ``j``) is ``(sums[:, t] - sums[:, j]) / (t - j)``. One pass is enough: once an expert has been judged on
    `z`, its next prediction, which includes `z`, is added to the sum.
    """
    k = len(z)
    # Sums over experts run in as many strands as a block is long, and the strands are added at the end: a single chain
    # of additions would wait for each one, and reordering by the compiler would make the last bits unpredictable.
    strands = np.zeros((k + 1, _BLOCK))
    weights, scale = np.empty(_BLOCK), np.empty(_BLOCK)
    shift = 1 if by_window else 0  # a window's weight stays with its length, so it moves on to the next start
    for start in range(0, t, _BLOCK):
        n = min(_BLOCK, t - start)
        logs = log_weights[start : start + n]
        for j in range(n):
            weights[j] = 0.0
            scale[j] = 1.0 / (t - start - j)
        for c in range(k):
            now, z_c, past = sums[c, t], z[c], sums[c, start : start + n]
            for j in range(n):
                miss = (now - past[j]) * scale[j] - z_c
                weights[j] += miss * miss
        if by_window and start == 0:
            weights[0] = 0.0  # the longest window is not judged
        for j in range(n):
            logs[j] -= rate * weights[j]
        _exp(logs, weights)
        strand = strands[k]
        for j in range(n):
            strand[j] += weights[j]
            weights[j] /= t + 1 - shift - start - j
        for c in range(k):
            later, past, strand = sums[c, t + 1], sums[c, start + shift : start + shift + n], strands[c]
            for j in range(n):
                strand[j] += weights[j] * (later - past[j])
    half = _BLOCK // 2
    while half > 0:
        for c in range(k + 1):
            for j in range(half):
                strands[c, j] += strands[c, j + half]
        half //= 2
    return strands[k, 0], strands[:k, 0].copy()


@compiled
def _round(
    sums: FloatArray, log_weights: FloatArray, t: int, z: FloatArray, birth: FloatArray, rate: float, by_window: bool
) -> FloatArray:
    """Update sums and weights with estimate number ``t + 1``, in place; return the next prediction.

    On entry there are the sums of 0..t estimates, and the logarithms of the experts' weights, which sum to at most one.
    """
    k = len(z)
    for c in range(k):
        sums[c, t + 1] = sums[c, t] + z[c]
    n = t  # number of experts
    if not by_window:
        # The expert born this round has no data, and predicted its birth value.
        loss = 0.0
        for c in range(k):
            loss += (birth[c] - z[c]) ** 2
        log_weights[t] -= rate * loss
        n = t + 1

    total, combined = _judge_and_combine(sums, log_weights, t, z, rate, by_window)
    if not by_window:
        total += np.exp(log_weights[t])
    if n > 0 and total < _TINY:
        # Every expert was far off: scale the weights up, and combine again without judging again.
        log_weights[:n] -= log_weights[:n].max()
        total, combined = _judge_and_combine(sums, log_weights, t, z, 0.0, by_window)
        if not by_window:
            total += np.exp(log_weights[t])
    if not by_window:
        for c in range(k):
            combined[c] += np.exp(log_weights[t]) * z[c]

    # Line 7: the newborn (without data, or the longest window) gets 1/(n + 1), the others share the rest.
    keep = n / (n + 1.0)
    log_keep = np.log(keep / total) if n > 0 else 0.0
    for j in range(n - 1, -1, -1):
        log_weights[j + 1 if by_window else j] = log_weights[j] + log_keep
    log_weights[0 if by_window else n] = np.log(1.0 - keep)
    for c in range(k):
        newborn = sums[c, t + 1] / (t + 1) if by_window else birth[c]
        combined[c] = (1.0 - keep) * newborn + (keep / total * combined[c] if n > 0 else 0.0)
    return combined


def _problem(saved: Saved) -> str:
    sums = saved.state["_sums"]
    if saved.sizes["used"] != saved.state["_t"] + 1:
        return "has other rounds than it counts"
    rounding = 1e-12 * np.abs(sums).max()
    if sums[:, 0].any() or (np.abs(np.diff(sums, axis=1)) > 1e9 + rounding).any():
        return "has sums that no estimates have"
    return ""


class FLHFTL(BaseTracker, saved_as="flhftl"):
    """Mean of running averages since every past round, weighted by how well each has predicted.

    Expert ``j`` is the mean of the estimates since round ``j``; experts are combined by exponential weights on their
    squared error. Without knowing how much the truth drifts, its total squared error is of the optimal order
    T^(1/3) V^(2/3). Exact: O(t k) time in round t, O(t k) memory.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2.
    experts : {"start", "window"}
        ``"start"`` is the algorithm of the paper: a weight belongs to a starting time, and each round's newborn expert
        predicts `prior`. ``"window"`` is the variant behind the paper's printed numbers: a weight belongs to a window
        length (the mean of the last i estimates), the longest window is not judged, and the newborn is the next longer
        one. It reacts faster, and has no proof.
    learning_rate : float or {"theory", "simplex"}, optional
        Default 1/k, the rate of the paper's experiments. ``"theory"`` is the rate of its theorem: sigma_min^2 / (8k)
        inside an unsupervised adapter, with sigma_min the smallest singular value of the confusion matrix; 1 / (8k)
        elsewhere. ``"simplex"`` is 1/4, for which the theorem holds when estimates stay on the simplex.
    prior : (k,) array, optional
        The prediction before the first update, and of each newborn expert. Default: the source prior inside an
        adapter, else uniform. (The paper's text has the zero vector, which is not a class mix: `restart` accepts it.)

    Examples
    --------
    >>> tracker = FLHFTL(2)
    >>> for z in 20 * [[1.0, 0.0]] + 20 * [[0.0, 1.0]]:
    ...     tracker.update(z)
    >>> tracker.predict().round(2)
    array([0.02, 0.98])

    References
    ----------
    Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023, Algorithm
    "FLH-FTL" of the appendix; Hazan and Seshadhri, "Adaptive Algorithms for Online Decision Problems", 2007.
    """

    saves = SAVED.extended(
        params={
            "experts": Text(("start", "window")),
            "learning_rate": Maybe(Either((Number(0.0, 1e9), Text(("theory", "simplex"))))),
        },
        state={
            "_t": Whole(),
            "_sums": vectors("k", "used", updates=2.0**53),
            "_log_weights": floats("used", low=-1e300, high=1e-6),
            "_birth": vectors("k"),
            "_played": vectors("k"),
        },
        check=_problem,
    )

    def __init__(
        self,
        n_classes: int,
        *,
        experts: Literal["start", "window"] = "start",
        learning_rate: float | Literal["theory", "simplex"] | None = None,
        prior: ArrayLike | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.experts = experts
        self.learning_rate = learning_rate
        self.prior = prior
        self._begin()

    def _begin(self) -> None:
        check_option(self.experts, "experts", ["start", "window"])
        if self.learning_rate is not None:
            check_option_or_real(self.learning_rate, "learning_rate", ["theory", "simplex"], 0.0, 1e9)
        super()._begin()

    @property
    def rate_(self) -> float:
        """The learning rate in use."""
        if self.learning_rate == "theory":  # Line 2
            return self._sigma_min**2 / (8 * self.n_classes)
        if self.learning_rate == "simplex":
            return 0.25
        return 1.0 / self.n_classes if self.learning_rate is None else float(self.learning_rate)

    def restart(self, birth: ArrayLike) -> None:
        """Forget everything, and predict `birth` until the next update."""
        self._birth = np.array(check_vector(birth, self.n_classes, "birth"))
        self._t = 0
        self._sums = np.zeros((self.n_classes, 16))
        self._log_weights = np.zeros(16)  # Line 3
        self._played = self._birth

    def predict(self) -> FloatArray:
        """Return the tracked vector, as of the last update."""
        return self._played.copy()

    def _observe(self, z: FloatArray, evidence: Evidence | None) -> None:
        if self._t + 2 > len(self._log_weights):
            self._resize(2 * (self._t + 2))
        by_window = self.experts == "window"
        self._played = _round(self._sums, self._log_weights, self._t, z, self._birth, self.rate_, by_window)
        self._t += 1

    def _resize(self, capacity: int) -> None:
        used = self._t + 1
        sums, log_weights = np.zeros((self.n_classes, capacity)), np.zeros(capacity)
        sums[:, :used], log_weights[:used] = self._sums[:, :used], self._log_weights[:used]
        self._sums, self._log_weights = sums, log_weights

    def get_state(self) -> dict[str, Any]:
        used = self._t + 1
        return {**super().get_state(), "_sums": self._sums[:, :used], "_log_weights": self._log_weights[:used]}

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        self._resize(2 * (self._t + 2))
        return self

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(n_classes=3), cls(n_classes=3, experts="window", learning_rate="simplex")]
