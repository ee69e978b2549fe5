"""ContinualTraining: one model, trained on in every round (CT, the baseline of the paper's supervised experiments)."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from baserate.learners._estimators import check_estimator, class_probabilities
from baserate.learners._examples import ClassMeans
from baserate.learners._learner import SAVED, SAVED_MODEL, BaseLearner, learner_problem, model_problem
from baserate.protocols import FloatArray
from baserate.state.declarations import Maybe, Whole


class ContinualTraining(BaseLearner, saved_as="continual_training"):
    """Trains one model on, over all samples so far, after every round; knows nothing of class mixes.

    One sample of five is kept for validation; mini-batches drawn from the others are trained on, epoch by epoch, until
    the validation accuracy stops rising. A round is as many epochs as it takes, `patience` at least. A model that is
    no better than one label for all is trained anew from scratch, in case that it was wrecked; the better of the two
    stays.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2; labels are 0..k-1.
    estimator : classifier
        Any with `partial_fit`, `predict` and `predict_proba`, such as scikit-learn's `MLPClassifier` or
        ``SGDClassifier(loss="log_loss")``, or a network of torch in a `baserate.integrations.TorchClassifier`. It
        is cloned, never trained itself. Where its `random_state` is None, it gets a seed from `rng`.
    max_epochs : int
        The most epochs in a round.
    patience : int
        Training stops when the best of the last so many validation accuracies is the oldest.
    batch_size : int
        The most samples handed to `partial_fit` at once.
    epoch_steps : int or None
        Mini-batches in an epoch. 1 is the paper's: training goes on only while every single step helps, and is stopped
        by the first noise. More steps cost more, and learn more. None: as many as it takes to hand out as many samples
        as there are, ten at least.
    max_pool : int, optional
        The most samples kept, at least 5 k. What does not fit is dropped at random, from the classes that there are
        most samples of; those that stay weigh as much more, so that every weighted sum is right in expectation.
        Default: all are kept, and memory grows with the stream.
    rng : int or numpy.random.Generator, optional
        Seed of everything random. A generator is copied.

    Attributes
    ----------
    model_ : classifier or None
        The model that the next round is predicted with; None before the first sample.
    gradient_steps_ : int
        Mini-batches trained on so far.
    rounds_ : int
        Rounds taken in.

    Notes
    -----
    Before the first round every class is as probable as any other. A model of another library is saved by fingerprint
    only; keep it, and hand it over: ``load(path, estimator=estimator, model_=model)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDClassifier
    >>> rng = np.random.default_rng(0)
    >>> learner = ContinualTraining(2, SGDClassifier(loss="log_loss"), rng=0)
    >>> for _ in range(5):
    ...     y = rng.integers(2, size=50)
    ...     learner.update(rng.normal(2.0 * y - 1.0, 0.5)[:, np.newaxis], y)
    >>> learner.predict_proba([[-1.0], [1.0]]).argmax(axis=1)
    array([0, 1])

    References
    ----------
    Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023.
    """

    saves = SAVED.extended(
        params={"epoch_steps": Maybe(Whole(1))},
        state={"model_": SAVED_MODEL},
        check=lambda saved: learner_problem(saved) or model_problem(saved, 1),
    )

    def __init__(
        self,
        n_classes: int,
        estimator: Any,
        *,
        max_epochs: int = 100,
        patience: int = 3,
        batch_size: int = 200,
        epoch_steps: int | None = 10,
        max_pool: int | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.estimator = estimator
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.epoch_steps = epoch_steps
        self.max_pool = max_pool
        self.rng = rng
        self._begin()

    def _check_parameters(self) -> None:
        check_estimator(self.estimator, "partial_fit")

    def _learn(self, n_new: int) -> None:
        if n_new:
            self._go_on(self._pool.multiplicity())

    def _predict(self, X: NDArray[Any]) -> FloatArray:
        uniform = np.full(self.n_classes, 1.0 / self.n_classes)
        return class_probabilities(self.model_, X, self._seen(), uniform)

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(3, ClassMeans(), max_epochs=4, batch_size=20, rng=0),
            cls(3, ClassMeans(), max_epochs=4, max_pool=30, rng=0),
        ]
