"""TrainByWeights: weighted empirical risk minimisation from scratch in every round (Algorithm 2 of the paper)."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.learners._estimators import (
    being_trained,
    check_classes,
    check_estimator,
    class_probabilities,
    fresh,
    iterations,
    weight_argument,
)
from baserate.learners._examples import ClassMeans
from baserate.learners._tracking import SAVED_TRACKING, TrackingLearner, tracking_problem
from baserate.protocols import FloatArray, Tracker
from baserate.state.declarations import Maybe, Number, Plain, Saved, Text, Whole
from baserate.trackers import FollowTheHistory
from baserate.validation import check_option, check_real

SAVED_BY_WEIGHTS = SAVED_TRACKING.extended(
    params={"by": Text(("weights", "sampling")), "floor": Maybe(Number(1e-100, 1.0))},
    state={"erm_calls_": Whole()},
)
"""The declaration of what learners save that weigh samples by the class mix; see `weights_problem`."""


def weights_problem(saved: Saved) -> str:
    """Say what does not fit together; weights divide by what was expected of each sample's class."""
    params, propensity = saved.params, saved.state["_pool"]["propensity"]
    floor = _least_share(params["floor"], params.get("priors") is not None, params["n_classes"])
    if len(propensity) and propensity.min() < floor * (1.0 - 1e-6):
        return "has samples that were expected less than its floor allows"
    return tracking_problem(saved, floor)


def _least_share(floor: float | None, told: bool, n_classes: int) -> float:
    return floor if floor is not None else (0.001 if told else 0.1) / n_classes


class TrainByWeights(TrackingLearner, saved_as="train_by_weights"):
    """Trains a new model in every round, on all samples so far, weighted to the expected class mix.

    The weight of a sample of class y is the expected share of y now, divided by its expected share in the sample's own
    round. Under label shift the weighted loss of past rounds is, in expectation, the loss of the next round. With
    `FLHFTL` the dynamic regret is of the optimal order T^(2/3) V^(1/3) + sqrt(T log|H|), V the total variation of the
    mix (theorem of the supervised setting; `floor` is its mu). Every round costs a full training; a cheaper method is
    `ContinualTrainingResampled`.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2; labels are 0..k-1.
    estimator : classifier
        Any scikit-learn compatible classifier with `predict_proba`. It is cloned, and never trained itself. If its
        `random_state` is None, it gets a seed from `rng`.
    tracker : Tracker, optional
        Tracker of the class mix, updated with the label frequencies of each round. Default: `FLHFTL`. It is cloned.
    priors : (T, k) array, optional
        The true class mix of each round, instead of a tracker: the weighted-ERM oracle of the paper's table.
    by : {"weights", "sampling"}
        The way in which weights are passed to the estimator. ``"weights"``: as `sample_weight` of its `fit` (in a
        pipeline, of the last step), which decides itself how long to train. ``"sampling"``, for networks that do not
        take weights: mini-batches for `partial_fit` are drawn with the weights, until the weighted accuracy on a
        validation set, one sample in five, stops rising.
    floor : float, optional
        Least share of any class in the expected mix; the weights lie between `floor` and 1 / `floor`. Default: 0.1 / k
        with a tracker, 0.001 / k with `priors`. (The paper's experiments had none. But a tracker may give 0 to a class
        that comes next, and its samples would then dominate all others for ever.)
    max_epochs, patience, batch_size
        For ``by="sampling"``: training stops when the best of the last `patience` accuracies is the oldest of them. A
        model that is trained from scratch needs more patience than one whose training continues: 3 is too little.
    max_pool : int, optional
        Largest number of samples to keep, at least 5 k. Samples beyond it are dropped at random from the largest
        classes, and the remaining ones get larger weights, so that every weighted sum is right in expectation.
        Default: all are kept, and memory grows with the stream.
    rng : int or numpy.random.Generator, optional
        Seed of all random numbers. A generator is copied.

    Attributes
    ----------
    prior_ : (k,) array
        The class mix that the next round is predicted with.
    model_ : classifier or None
        The model that the next round is predicted with; None until two classes have been seen (``"weights"``), or one.
    erm_calls_ : int
        Number of models trained so far.
    gradient_steps_ : int
        Number of mini-batches trained on so far; for ``by="weights"``, of iterations that the estimator reports
        (`n_iter_`).
    rounds_ : int
        Number of rounds so far.

    Notes
    -----
    Before the first round the prediction of every sample is `prior_`. A class that the model has no output for gets its
    share of `prior_`, and the model's probabilities are scaled to the rest (networks have an output for every class
    from the start, and their output for a class that was never seen is used as it is). The model is not saved, but
    trained again on loading: ``load(path, estimator=estimator)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> learner = TrainByWeights(2, LogisticRegression())
    >>> for t in range(20):
    ...     y = (rng.random(20) < (0.5 if t < 10 else 0.9)).astype(int)
    ...     learner.update(rng.normal(2.0 * y - 1.0, 1.0)[:, np.newaxis], y)
    >>> learner.predict_proba([[0.0]]).round(1), learner.prior_.round(1)
    (array([[0.1, 0.9]]), array([0.2, 0.8]))

    References
    ----------
    Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023, Algorithm 2.
    """

    saves = SAVED_BY_WEIGHTS.extended(params={"priors": Maybe(Plain())}, check=weights_problem)

    def __init__(
        self,
        n_classes: int,
        estimator: Any,
        tracker: Tracker | type[Tracker] | None = None,
        *,
        priors: ArrayLike | None = None,
        by: Literal["weights", "sampling"] = "weights",
        floor: float | None = None,
        max_epochs: int = 100,
        patience: int = 10,
        batch_size: int = 200,
        max_pool: int | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.estimator = estimator
        self.tracker = tracker
        self.priors = priors
        self.by = by
        self.floor = floor
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.max_pool = max_pool
        self.rng = rng
        self._begin()

    def _begin(self) -> None:
        super()._begin()
        self.erm_calls_ = 0

    def _check_parameters(self) -> None:
        check_option(self.by, "by", ["weights", "sampling"])
        check_estimator(self.estimator, "fit" if self.by == "weights" else "partial_fit")
        if self.by == "weights" and weight_argument(self.estimator) is None:
            raise TypeError(
                f"estimator is {self.estimator!r}, whose fit takes no sample_weight; give one whose fit does, or, if "
                "it has partial_fit, choose by='sampling'."
            )

    def _floor(self) -> float:
        if self.floor is None:
            return _least_share(None, self.priors is not None, self.n_classes)
        floor = check_real(self.floor, "floor", 0.0, 1.0 / self.n_classes)
        if floor == 0.0:
            raise ValueError("floor is 0; give a positive number: weights divide by the expected mix.")
        return floor

    def _weights(self) -> FloatArray:
        """Return the weight of each sample for the next round."""
        weights: FloatArray = self.prior_[self._pool.y] / self._pool.propensity * self._pool.multiplicity()
        return weights

    def _learn(self, n_new: int) -> None:
        # Without new samples or a new expected mix, training would give the same model again.
        if len(self._pool.y) and not self._is_over() and (n_new or self._path is not None):
            self._call_erm()  # Alg. 2, line 2

    def _call_erm(self) -> None:
        self.model_, steps = self._train()
        if self.model_ is not None:
            self.gradient_steps_ += steps
            self.erm_calls_ += 1

    def _train(self) -> tuple[Any, int]:
        if self.by == "weights" and len(self._seen()) < 2:
            return None, 0  # few classifiers can be fitted to a single class
        rng = self._generator()
        model = fresh(self.estimator, rng)
        if self.by == "weights":
            name = weight_argument(model)
            with being_trained():
                model.fit(self._pool.X, self._pool.y, **{str(name): self._weights()})
            check_classes(model, self.n_classes)
            return model, iterations(model)
        return model, self._train_on(model, self._weights(), rng)

    def _predict(self, X: NDArray[Any]) -> FloatArray:
        return class_probabilities(self.model_, X, self._seen(), self.prior_)  # Alg. 2, line 3

    def get_state(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_state().items() if name != "model_"}

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        self.model_ = self._train()[0] if len(self._pool.y) and not self._is_over() else None
        return self

    @classmethod
    def examples(cls) -> list[Self]:
        path = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
        return [
            cls(3, ClassMeans(), rng=0),
            cls(3, ClassMeans(), FollowTheHistory(3), by="sampling", max_epochs=4, batch_size=20, rng=0),
            cls(3, ClassMeans(), priors=path, floor=0.01, max_pool=40, rng=0),
        ]
