"""ATLAS: UOGD at many step sizes at once, and a meta-learner that finds out which one fits (Bai et al. 2022)."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._ball import ball_radius, check_ball, gradient_bound, into_ball
from baserate.adapters._horizon import horizon_at
from baserate.adapters._last_layer import SAVED, LastLayerAdapter, check_layer
from baserate.adapters._sightings import fit_marginals, new_marginals, sighting, sigma_min
from baserate.marginals import BBSE
from baserate.protocols import FloatArray, IntArray, MarginalEstimator
from baserate.state.declarations import Maybe, Number, Part, Plain, Saved, Whole, floats
from baserate.validation import check_fitted, check_real


def _check_copies(saved: Saved) -> str:
    params, state = saved.params, saved.state
    if params["step_sizes"] is None:
        most = copies_at(horizon_at(state["rounds_"], params["horizon"]))
    else:
        try:
            sizes = np.asarray(params["step_sizes"], dtype=np.float64)
        except (TypeError, ValueError):
            return "has step sizes that are no numbers"
        if sizes.ndim != 1 or not ((sizes > 0.0) & (sizes < 1e9)).all():
            return "has step sizes that are not positive numbers"
        most = len(sizes)
    if not 0 < saved.sizes["copies"] <= most:  # one may be about to join
        return "has other copies than its step sizes"
    if not np.isfinite(state["_log_weights"].max()):
        return "gives no copy any weight"
    return check_layer(saved)


class ATLAS(LastLayerAdapter, saved_as="atlas"):
    """Moves copies of a model's last layer at step sizes that double, and plays their weighted mean.

    The best step size depends on how much the mix will drift, which nobody knows. The copies are weighted by
    exponential weights on their estimated risks, so that the dynamic regret is of the order V^(1/3) T^(2/3) without
    knowing V. All copies are moved by one array operation; a round is O(n k d log T) for a holdout of n samples.

    Parameters
    ----------
    coef, intercept, marginals, radius
        As in `UOGD`.
    step_sizes : (m,) array, optional
        Default: 1 + ceil(log2(1 + 2 T) / 2) of them, each twice the one before, from
        D sigma / (2 G sqrt(k T)), with D and G as in `UOGD` and sigma the least singular value of the confusion matrix
        (1 for an estimator that has none): an estimated class mix is up to sqrt(k) / sigma long.
    meta_rate : float, optional
        Rate of the exponential weights. Default: 2 sqrt(log(m) / T).
    horizon : int, optional
        T, the number of rounds to come. Default: guessed as 128, and four times as much whenever that is reached: one
        more copy then joins, at half the smallest step size. It starts from the mean, with an even share of the weight.

    Attributes
    ----------
    head_ : ((k, d) array, (k,) array)
        Weights and intercepts as they are now: the weighted mean of the copies.
    weights_ : (m,) array
        The share of each copy, smallest step size first.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = rng.normal(2.0 * y - 1.0, 1.0)[:, np.newaxis]
    >>> adapter = ATLAS([[-1.0], [1.0]], [0.0, 0.0], horizon=50).fit(X, y)
    >>> for _ in range(50):
    ...     adapter.update(rng.normal(1.0, 1.0, size=(10, 1)))
    >>> bool(adapter.predict_proba([[0.0]])[0, 1] > 0.6)
    True

    References
    ----------
    Bai et al., "Adapting to Online Label Shift with Provable Guarantees", NeurIPS 2022.
    """

    marginals_: MarginalEstimator
    _radius: float
    _gradient_bound: float
    _sigma: float

    saves = SAVED.extended(
        {
            "marginals": Maybe(Part(MarginalEstimator)),
            "step_sizes": Maybe(Plain()),
            "meta_rate": Maybe(Number(0.0, 1e9)),
            "radius": Maybe(Number(0.0)),
            "horizon": Maybe(Whole(1)),
        },
        {
            "marginals_": Part(MarginalEstimator, {"k": "k"}, fitted=True),
            "_radius": Number(0.0, 1e15),
            "_gradient_bound": Number(1e-15, 1e15),
            "_sigma": Number(0.0, 1e9),
            "_heads": floats("copies", "k", "d", low=-1e15, high=1e15),
            "_log_weights": floats("copies", high=1e9, finite=False),
        },
        check=_check_copies,
    )

    def __init__(
        self,
        coef: ArrayLike,
        intercept: ArrayLike | None = None,
        marginals: MarginalEstimator | None = None,
        *,
        step_sizes: ArrayLike | None = None,
        meta_rate: float | None = None,
        radius: float | None = None,
        horizon: int | None = None,
    ) -> None:
        self.coef = coef
        self.intercept = intercept
        self.marginals = marginals
        self.step_sizes = step_sizes
        self.meta_rate = meta_rate
        self.radius = radius
        self.horizon = horizon

    def _check_parameters(self, head: FloatArray) -> None:
        check_ball(head, self.radius, self.horizon)
        if self.meta_rate is not None:
            check_real(self.meta_rate, "meta_rate", 0.0, 1e9)
        if self.step_sizes is not None:
            if np.ndim(self.step_sizes) != 1 or np.size(self.step_sizes) == 0:
                raise ValueError("step_sizes is not a list of at least one number; give one step size per copy.")
            sizes = np.asarray(self.step_sizes, dtype=np.float64)
            if not (np.isfinite(sizes) & (sizes > 0)).all():
                raise ValueError(f"step_sizes is {self.step_sizes!r}; give positive, finite numbers.")

    def _learn(self, head: FloatArray, features: FloatArray, labels: IntArray, proba: FloatArray) -> dict[str, Any]:
        shares = np.bincount(labels) / len(labels)
        marginals = fit_marginals(new_marginals(self.marginals), shares, proba, labels)
        sigma = sigma_min(marginals)
        return {
            "marginals_": marginals,
            "_radius": ball_radius(head, self.radius),
            "_gradient_bound": gradient_bound(features, labels),
            "_sigma": 1.0 if sigma is None else float(sigma),
        }

    def _restart(self) -> None:
        self.rounds_ = 0
        self._heads = np.repeat(self.source_head_[np.newaxis], len(self._step_sizes()), axis=0)
        self._log_weights = np.full(len(self._heads), -np.log(len(self._heads)))

    def _current_prior(self) -> FloatArray:
        return np.full(len(self.source_head_), np.nan)

    def _horizon(self) -> int:
        return horizon_at(self.rounds_, self.horizon)

    def _step_sizes(self) -> FloatArray:
        """The step size of each copy in the round to come."""
        if self.step_sizes is not None:
            return np.asarray(self.step_sizes, dtype=np.float64)
        horizon, k = self._horizon(), len(self.source_head_)
        return doubling_steps(2.0 * self._radius * self._sigma / (2.0 * self._gradient_bound), k, horizon)

    @property
    def weights_(self) -> FloatArray:
        """(m,) the share of each copy."""
        check_fitted(self, "source_head_")
        weights: FloatArray = np.exp(self._log_weights - self._log_weights.max())
        weights /= weights.sum()
        return weights

    def _head(self) -> FloatArray:
        return np.asarray(np.tensordot(self.weights_, self._heads, axes=1))

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        self._welcome(len(self._step_sizes()) - len(self._heads))
        risks, gradients = self._risk_and_gradient(self._heads, sighting(self.marginals_, proba, labels))
        self._heads = self._projected(self._heads - self._step_sizes()[:, np.newaxis, np.newaxis] * gradients)
        rate = self.meta_rate
        if rate is None:
            rate = 2.0 * np.sqrt(np.log(len(self._heads)) / self._horizon())
        self._log_weights = self._log_weights - rate * risks
        self._log_weights -= self._log_weights.max()

    def _projected(self, heads: FloatArray) -> FloatArray:
        return into_ball(heads, self._radius)

    def _welcome(self, newcomers: int) -> None:
        """Copies with smaller step sizes join when the stream outlives the guess of its length."""
        for _ in range(newcomers):
            m = len(self._heads)
            mean, weights = self._head(), self.weights_
            self._heads = np.concatenate([mean[np.newaxis], self._heads])
            with np.errstate(divide="ignore"):  # a copy that has lost all of its weight stays lost
                self._log_weights = np.log(np.concatenate([[1.0], m * weights]) / (m + 1))

    @classmethod
    def examples(cls) -> list[Self]:
        coef = [[2.0, 0.0, -1.0], [0.0, 2.0, 0.0], [-1.0, 0.0, 2.0]]
        return [
            cls(coef, [0.1, 0.0, -0.1]),
            cls(coef, marginals=BBSE(clip=False), step_sizes=[0.1, 0.5], meta_rate=1.0, radius=20.0),
        ]


def doubling_steps(scale: float, n_classes: int, horizon: int) -> FloatArray:
    """ATLAS's step sizes: 1 + ceil(log2(1 + 2 T) / 2) of them, each twice the one before, from scale / sqrt(k T)."""
    return np.asarray(scale / np.sqrt(n_classes * horizon) * 2.0 ** np.arange(copies_at(horizon)))


def copies_at(horizon: int) -> int:
    """The number of ATLAS's step sizes for a horizon T: 1 + ceil(log2(1 + 2 T) / 2)."""
    return 1 + int(np.ceil(0.5 * np.log2(1 + 2 * horizon)))
