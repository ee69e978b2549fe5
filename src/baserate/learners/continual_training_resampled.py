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
    """Trains one model on, on batches in which every class is as likely, and re-weights what it says.

    `TrainByWeights` without a training from scratch in every round: the model is trained for a uniform class mix, which
    does not move, so that each round goes on from the one before; its probabilities are then multiplied by the class
    mix that is expected over the uniform one. A model that is no better than one label for all is trained anew
    from scratch, in case that it was wrecked; the better of the two stays.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2; labels are 0..k-1.
    estimator : classifier
        Any with `partial_fit`, `predict` and `predict_proba`, such as scikit-learn's `MLPClassifier` or
        ``SGDClassifier(loss="log_loss")``, or a network of torch in a `baserate.integrations.TorchClassifier`. It
        is cloned, never trained itself. Where its `random_state` is None, it gets a seed from `rng`.
    tracker : Tracker, optional
        Follows the class mix from the label frequencies of each round. Default: `FLHFTL`. It is cloned.
    priors : (T, k) array, optional
        The true class mix of each round, instead of a tracker.
    floor : float, optional
        The least that the expected mix gives to any class. Default: none, as in the paper's experiments; a class that
        the tracker gives 0 is then never predicted.
    max_epochs : int
        The most epochs in a round.
    patience : int
        Training stops when the best of the last so many validation accuracies is the oldest. One sample of five is kept
        for validation, and every class counts the same there, too.
    batch_size : int
        The most samples handed to `partial_fit` at once. They are drawn from the pool with replacement, with the weight
        one over the number of samples of their class.
    epoch_steps : int or None
        Mini-batches in an epoch. 1 is the paper's: training goes on only while every single step helps, and is stopped
        by the first noise. More steps cost more, and learn more. None: as many as it takes to hand out as many samples
        as there are, ten at least.
    max_pool : int, optional
        The most samples kept, at least 5 k. What does not fit is dropped at random, from the classes that there are
        most samples of; within a class every sample is as likely as any other to stay. Default: all are kept, and
        memory grows with the stream.
    rng : int or numpy.random.Generator, optional
        Seed of everything random. A generator is copied.

    Attributes
    ----------
    prior_ : (k,) array
        The class mix that the next round is predicted with.
    model_ : classifier or None
        The model, for a uniform class mix; None before the first sample.
    gradient_steps_ : int
        Mini-batches trained on so far.
    rounds_ : int
        Rounds taken in.

    Notes
    -----
    Before the first round every sample is predicted `prior_`. A model of another library is saved by fingerprint only;
    keep it, and hand it over: ``load(path, estimator=estimator, model_=model)``.

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
        tracker: Tracker | None = None,
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
        """The weight of each sample: the samples of a class weigh as much as those of any other."""
        pool = self._pool
        # Training and validation each have their own mix.
        weights: FloatArray = 1.0 / pool.counts()[pool.held.astype(np.int64), pool.y]
        return weights

    def _learn(self, n_new: int) -> None:
        if n_new:
            self._go_on(self._weights())  # "Step 1"

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
