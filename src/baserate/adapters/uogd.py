"""UOGD: gradient descent on the last layer, on an unbiased estimate of the risk (Bai et al. 2022)."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._ball import ball_radius, check_ball, gradient_bound, into_ball
from baserate.adapters._horizon import horizon_at
from baserate.adapters._last_layer import SAVED, LastLayerAdapter
from baserate.adapters._sightings import fit_marginals, new_marginals, sighting
from baserate.marginals import BBSE
from baserate.protocols import FloatArray, IntArray, MarginalEstimator
from baserate.state.declarations import Maybe, Number, Part, Whole, floats
from baserate.validation import check_real


class UOGD(LastLayerAdapter, saved_as="uogd"):
    """Moves a model's last layer down the gradient of its estimated risk under the class mix of the round.

    The risk is re-weighted from the holdout by class, so that no labels of the stream are needed. With the default step
    size the regret against any fixed layer is of the order sqrt(T); one that is tuned to the drift V would give a
    dynamic regret of the order V^(1/3) T^(2/3), which `ATLAS` reaches without knowing V. A round is O(n k d) for a
    holdout of n samples.

    Parameters
    ----------
    coef : (k, d) array
        Weights of the last layer as trained; `baserate.integrations.last_layer` gets them, and the features, out of a
        model.
    intercept : (k,) array, optional
        Its intercepts, which are moved, too. Default: the layer has none, and gets none.
    marginals : MarginalEstimator, optional
        Turns a batch into a sighting, from the probabilities of the model as trained. Default: `BBSE`. Its estimate is
        clipped to class mixes; ``BBSE(clip=False)`` keeps the risk exactly unbiased.
    step_size : float, optional
        Default: D / (G sqrt(T)), with D the diameter of the ball that the layer is kept in, and G a bound of the
        gradient: sqrt(2) times the largest mean length of a class's features.
    radius : float, optional
        The layer is projected back into the ball of this radius around zero when it leaves it. Default: the length of
        the layer as trained, all its weights and intercepts taken as one vector.
    horizon : int, optional
        T, the number of rounds to come. Default: guessed as 128, and four times as much whenever that is reached.

    Attributes
    ----------
    head_ : ((k, d) array, (k,) array)
        Weights and intercepts as they are now.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = rng.normal(2.0 * y - 1.0, 1.0)[:, np.newaxis]
    >>> adapter = UOGD([[-1.0], [1.0]], [0.0, 0.0]).fit(X, y)
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

    saves = SAVED.extended(
        {
            "marginals": Maybe(Part(MarginalEstimator)),
            "step_size": Maybe(Number(0.0, 1e9)),
            "radius": Maybe(Number(0.0)),
            "horizon": Maybe(Whole(1)),
        },
        {
            "marginals_": Part(MarginalEstimator, {"k": "k"}, fitted=True),
            "_radius": Number(0.0, 1e15),
            "_gradient_bound": Number(1e-15, 1e15),
            "_heads": floats(1, "k", "d", low=-1e15, high=1e15),
        },
    )

    def __init__(
        self,
        coef: ArrayLike,
        intercept: ArrayLike | None = None,
        marginals: MarginalEstimator | None = None,
        *,
        step_size: float | None = None,
        radius: float | None = None,
        horizon: int | None = None,
    ) -> None:
        self.coef = coef
        self.intercept = intercept
        self.marginals = marginals
        self.step_size = step_size
        self.radius = radius
        self.horizon = horizon

    def _check_parameters(self, head: FloatArray) -> None:
        if self.step_size is not None:
            check_real(self.step_size, "step_size", 0.0, np.inf, closed=False)
        check_ball(head, self.radius, self.horizon)

    def _learn(self, head: FloatArray, features: FloatArray, labels: IntArray, proba: FloatArray) -> dict[str, Any]:
        shares = np.bincount(labels) / len(labels)
        return {
            "marginals_": fit_marginals(new_marginals(self.marginals), shares, proba, labels),
            "_radius": ball_radius(head, self.radius),
            "_gradient_bound": gradient_bound(features, labels),
        }

    def _restart(self) -> None:
        self.rounds_ = 0
        self._heads = self.source_head_[np.newaxis].copy()

    def _current_prior(self) -> FloatArray:
        return np.full(len(self.source_head_), np.nan)

    def _head(self) -> FloatArray:
        head: FloatArray = self._heads[0]
        return head

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        _, gradients = self._risk_and_gradient(self._heads, sighting(self.marginals_, proba, labels))
        self._heads = self._projected(self._heads - self._step_sizes()[:, np.newaxis, np.newaxis] * gradients)

    def _step_sizes(self) -> FloatArray:
        """(1,) the step size of the round to come."""
        if self.step_size is not None:
            return np.array([float(self.step_size)])
        horizon = horizon_at(self.rounds_, self.horizon)
        return np.array([2.0 * self._radius / (self._gradient_bound * np.sqrt(horizon))])

    def _projected(self, heads: FloatArray) -> FloatArray:
        return into_ball(heads, self._radius)

    @classmethod
    def examples(cls) -> list[Self]:
        coef = [[2.0, 0.0, -1.0], [0.0, 2.0, 0.0], [-1.0, 0.0, 2.0]]
        return [
            cls(coef, [0.1, 0.0, -0.1]),
            cls(coef, marginals=BBSE(clip=False), step_size=0.5, radius=20.0),
            cls(coef, horizon=100),
        ]
