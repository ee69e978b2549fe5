"""ContinualTrainingResampled: one model for a uniform class mix, re-weighted to the one expected (CT-RS)."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.learners._estimators import check_estimator, class_probabilities
from baserate.learners._examples import ClassMeans
from baserate.learners._learner import SAVED_MODEL, model_problem
from baserate.learners._tracking import SAVED_TRACKING, TrackingLearner, tracking_problem
from baserate.protocols import FloatArray, Tracker
from baserate.simplex import log_ratio, reweight
from baserate.state.declarations import Maybe, Plain, Whole
from baserate.trackers import FollowTheHistory


class ContinualTrainingResampled(TrackingLearner, saved_as="continual_training_resampled"):
    """Continues training one model on class-balanced batches, and re-weights its output to the expected class mix.

    Like `TrainByWeights`, without training from scratch in every round: the model is trained for a uniform class mix,
    which does not change, so each round continues from the one before. Its probabilities are then multiplied by the
    expected class mix divided by the uniform one. If the model is no better than a constant prediction, a new one is
    trained from scratch, and the better of the two is kept.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2; labels are 0..k-1.
    estimator : classifier
        Any with `partial_fit`, `predict` and `predict_proba`, such as scikit-learn's `MLPClassifier` or
        ``SGDClassifier(loss="log_loss")``, or a torch network in a `baserate.integrations.TorchClassifier`. It
        is cloned, and never trained itself. If its `random_state` is None, it gets a seed from `rng`.
    tracker : Tracker, optional
        Tracker of the class mix, updated with the label frequencies of each round. Default: `FLHFTL`. It is cloned.
    priors : (T, k) array, optional
        The true class mix of each round, instead of a tracker.
    floor : float, optional
        Least share of any class in the expected mix. Default: none, as in the paper's experiments; a class to which the
        tracker gives 0 is then never predicted.
    max_epochs : int
        Largest number of epochs in a round.
    patience : int
        Training stops when the best of the last `patience` validation accuracies is the oldest of them. One sample in
        five is kept for validation, where every class has the same weight, too.
    batch_size : int
        Largest number of samples in one call of `partial_fit`. They are drawn from the pool with replacement, with a
        probability proportional to one over the number of samples of their class.
    epoch_steps : int or None
        Mini-batches in an epoch. 1 is the paper's value: training continues only while every single step helps, and
        noise soon stops it. More steps cost more, and learn more. None: enough for as many samples as there are, at
        least ten.
    max_pool : int, optional
        Largest number of samples to keep, at least 5 k. Samples beyond it are dropped at random from the largest
        classes; within a class every sample is equally likely to stay. Default: all are kept, and memory grows with
        the stream.
    rng : int or numpy.random.Generator, optional
        Seed of all random numbers. A generator is copied.

    Attributes
    ----------
    prior_ : (k,) array
        The class mix that the next round is predicted with.
    model_ : classifier or None
        The model, for a uniform class mix; None before the first sample.
    gradient_steps_ : int
        Number of mini-batches trained on so far.
    rounds_ : int
        Number of rounds so far.

    Notes
    -----
    Before the first round the prediction of every sample is `prior_`. A model of another library is saved only as a
    fingerprint; keep the model, and pass it to ``load(path, estimator=estimator, model_=model)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDClassifier
    >>> rng = np.random.default_rng(0)
    >>> learner = ContinualTrainingResampled(2, SGDClassifier(loss="log_loss"), rng=0)
    >>> for _ in range(5):
    ...     y = (rng.random(50) < 0.8).astype(int)
    ...     learner.update(rng.normal(2.0 * y - 1.0, 0.5)[:, np.newaxis], y)
    >>> learner.prior_.round(1)
    array([0.3, 0.7])

    References
    ----------
    Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023, "Connection of
    CT-RS to weighted ERM" in the appendix.
    """

    saves = SAVED_TRACKING.extended(
        params={"priors": Maybe(Plain()), "epoch_steps": Maybe(Whole(1))},
        state={"model_": SAVED_MODEL},
        check=lambda saved: tracking_problem(saved, saved.params["floor"]) or model_problem(saved, 1),
    )

    def __init__(
        self,
        n_classes: int,
        estimator: Any,
        tracker: Tracker | type[Tracker] | None = None,
        *,
        priors: ArrayLike | None = None,
        floor: float | None = None,
        max_epochs: int = 100,
        patience: int = 3,
        batch_size: int = 200,
        epoch_steps: int | None = 10,
        max_pool: int | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.estimator = estimator
        self.tracker = tracker
        self.priors = priors
        self.floor = floor
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.epoch_steps = epoch_steps
        self.max_pool = max_pool
        self.rng = rng
        self._begin()

    def _check_parameters(self) -> None:
        check_estimator(self.estimator, "partial_fit")

    def _floor(self) -> float | None:
        return self.floor

    def _weights(self) -> FloatArray:
        """Return the weight of each sample; every class has the same total weight."""
        pool = self._pool
        # Separately for training and validation.
        weights: FloatArray = 1.0 / pool.counts()[pool.held.astype(np.int64), pool.y]
        return weights

    def _learn(self, n_new: int) -> None:
        if n_new:
            self._continue_training(self._weights())  # "Step 1"

    def _predict(self, X: NDArray[Any]) -> FloatArray:
        uniform = self._uniform()
        proba = class_probabilities(self.model_, X, self._seen(), uniform)
        return reweight(proba, log_ratio(self.prior_, uniform)[np.newaxis], np.array([0, len(proba)]))  # "Step 2"

    @classmethod
    def examples(cls) -> list[Self]:
        path = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
        return [
            cls(3, ClassMeans(), max_epochs=4, batch_size=20, rng=0),
            cls(3, ClassMeans(), FollowTheHistory(3), floor=0.05, max_epochs=4, patience=1, max_pool=30, rng=0),
            cls(3, ClassMeans(), priors=path, max_epochs=4, epoch_steps=None, rng=0),
        ]
