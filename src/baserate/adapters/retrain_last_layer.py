"""RetrainLastLayer: a fresh last layer every round, trained for the tracked class mix (the paper's RT-FLH-FTL)."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._last_layer import SAVED, LastLayerAdapter
from baserate.adapters.regress_and_reweight import RegressAndReweight
from baserate.protocols import FloatArray, IntArray, MarginalEstimator, Tracker
from baserate.state.declarations import Maybe, Number, Part, Whole, floats
from baserate.trackers import FLHFTL, FollowTheHistory
from baserate.trackers.given import saved_tracker
from baserate.validation import check_fitted, check_integer, check_real

_MOST_EPOCHS = 10_000


class RetrainLastLayer(LastLayerAdapter, saved_as="retrain_last_layer"):
    """Trains the last layer anew in every round, on the holdout re-weighted to the tracked class mix.

    `RegressAndReweight` corrects the model's probabilities; this trains for the mix that they will be used on, and the
    paper compares the two. Training is `epochs` full-batch steps of gradient descent from zero on a convex loss, always
    the same for the same mix. A round is O(epochs n k d) for a holdout of n samples.

    Parameters
    ----------
    coef : (k, d) array
        Weights of the last layer as trained; `baserate.integrations.last_layer` gets them, and the features, out of a
        model. They give the probabilities that the class mix is tracked by, and predict until there are samples.
    intercept : (k,) array, optional
        Its intercepts. Default: the layer has none, and gets none.
    tracker : Tracker, optional
        Follows the class mix. Default: `FLHFTL`. It is cloned, never moved itself.
    marginals : MarginalEstimator, optional
        Turns a batch into a sighting, from the probabilities of the model as trained. Default: `BBSE`.
    epochs : int
        Steps of gradient descent in a round, at most 10,000.
    step_size : float, optional
        Default: one over a bound of the loss's curvature, at which descent is safe whatever the features' scale.
    momentum : float, optional
        Of the gradient descent. Default: Nesterov's, which grows with the steps taken.

    Attributes
    ----------
    head_ : ((k, d) array, (k,) array)
        Weights and intercepts as they are now.
    prior_ : (k,) array
        The class mix as tracked now.
    tracker_
        The tracker that follows it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = rng.normal(2.0 * y - 1.0, 1.0)[:, np.newaxis]
    >>> adapter = RetrainLastLayer([[-1.0], [1.0]], [0.0, 0.0]).fit(X, y)
    >>> for _ in range(20):
    ...     adapter.update(rng.normal(1.0, 1.0, size=(10, 1)))
    >>> bool(adapter.predict_proba([[0.0]])[0, 1] > 0.8)
    True

    References
    ----------
    Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023.
    """

    _mix: RegressAndReweight
    _curvatures: FloatArray

    saves = SAVED.extended(
        {
            "tracker": saved_tracker(),
            "marginals": Maybe(Part(MarginalEstimator)),
            "epochs": Whole(1, _MOST_EPOCHS),
            "step_size": Maybe(Number(0.0, 1e9)),
            "momentum": Maybe(Number(0.0, 1.0)),
        },
        {
            "_mix": Part(RegressAndReweight, {"k": "k"}, fitted=True),
            "_curvatures": floats("k", low=0.0, high=1e20),
            "_trained": floats("k", "d", low=-1e15, high=1e15),
        },
    )

    def __init__(
        self,
        coef: ArrayLike,
        intercept: ArrayLike | None = None,
        tracker: Tracker | type[Tracker] | None = None,
        marginals: MarginalEstimator | None = None,
        *,
        epochs: int = 50,
        step_size: float | None = None,
        momentum: float | None = None,
    ) -> None:
        self.coef = coef
        self.intercept = intercept
        self.tracker = tracker
        self.marginals = marginals
        self.epochs = epochs
        self.step_size = step_size
        self.momentum = momentum

    def _check_parameters(self, head: FloatArray) -> None:
        check_real(check_integer(self.epochs, "epochs", 1), "epochs", 1, _MOST_EPOCHS)
        if self.step_size is not None:
            check_real(self.step_size, "step_size", 0.0, np.inf, closed=False)
        if self.momentum is not None:
            check_real(self.momentum, "momentum", 0.0, 1.0)

    def _learn(self, head: FloatArray, features: FloatArray, labels: IntArray, proba: FloatArray) -> dict[str, Any]:
        # The mix is followed just as when re-weighting; only what is done with it differs.
        # By default not one that weighs likelihoods: these probabilities are not calibrated.
        tracker = FLHFTL if self.tracker is None else self.tracker
        mix = RegressAndReweight(tracker, self.marginals, calibrator=None, gate=False, alpha=None).fit(proba, labels)
        return {
            "_mix": mix,
            "_curvatures": np.array([_curvature(features[labels == c]) for c in range(len(head))]),
        }

    @property
    def tracker_(self) -> Tracker:
        """The tracker that follows the class mix."""
        check_fitted(self, "source_head_")
        tracker: Tracker = self._mix.tracker_
        return tracker

    @property
    def marginals_(self) -> MarginalEstimator:
        """The estimator that turns a batch into a sighting."""
        check_fitted(self, "source_head_")
        marginals: MarginalEstimator = self._mix.marginals_
        return marginals

    def _restart(self) -> None:
        self.rounds_ = 0
        self._mix.reset()
        self._trained = self.source_head_

    def _current_prior(self) -> FloatArray:
        return self._mix.prior_

    def _head(self) -> FloatArray:
        return self._trained

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        self._mix.update(proba, labels)
        self._trained = self._train(self._mix.prior_)

    def _train(self, q: FloatArray) -> FloatArray:
        bound = float(q @ self._curvatures) or 1.0  # without features no step matters
        step_size = 1.0 / bound if self.step_size is None else float(self.step_size)
        head = before = np.zeros((1, *self.source_head_.shape))
        for epoch in range(self.epochs):
            if self.momentum is None:
                ahead = head + (epoch - 1) / (epoch + 2) * (head - before)
                head, before = ahead - step_size * self._risk_and_gradient(ahead, q)[1], head
            else:
                step = step_size * self._risk_and_gradient(head, q)[1]
                head, before = head - step + self.momentum * (head - before), head
        trained: FloatArray = head[0]
        return trained

    @classmethod
    def examples(cls) -> list[Self]:
        coef = [[2.0, 0.0, -1.0], [0.0, 2.0, 0.0], [-1.0, 0.0, 2.0]]
        return [
            cls(coef, [0.1, 0.0, -0.1], epochs=10),
            cls(coef, tracker=FollowTheHistory(3), epochs=10, step_size=0.5, momentum=0.5),
        ]


def _curvature(features: FloatArray) -> float:
    """A bound of the log loss's curvature on some samples: half of the largest eigenvalue of their second moment."""
    n, d = features.shape
    gram = features.T @ features if d <= n else features @ features.T
    largest: float = np.linalg.eigvalsh(gram)[-1]
    return float(max(largest, 0.0) / (2.0 * n))  # rounding may leave it below zero
