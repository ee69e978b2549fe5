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
    """Continues training one model, on all samples so far, after every round; ignores the class mix.

    One sample in five is kept for validation. The model is trained on mini-batches of the others, epoch by epoch, until
    the validation accuracy stops rising, for at least `patience` epochs. If it is then no better than a constant
    prediction, a new model is trained from scratch, and the better of the two is kept.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2; labels are 0..k-1.
    estimator : classifier
        Any with `partial_fit`, `predict` and `predict_proba`, such as scikit-learn's `MLPClassifier` or
        ``SGDClassifier(loss="log_loss")``, or a torch network in a `baserate.integrations.TorchClassifier`. It
        is cloned, and never trained itself. If its `random_state` is None, it gets a seed from `rng`.
    max_epochs : int
        Largest number of epochs in a round.
    patience : int
        Training stops when the best of the last `patience` validation accuracies is the oldest of them.
    batch_size : int
        Largest number of samples in one call of `partial_fit`.
    epoch_steps : int or None
        Mini-batches in an epoch. 1 is the paper's value: training continues only while every single step helps, and
        noise soon stops it. More steps cost more, and learn more. None: enough for as many samples as there are, at
        least ten.
    max_pool : int, optional
        Largest number of samples to keep, at least 5 k. Samples beyond it are dropped at random from the largest
        classes, and the remaining ones get larger weights, so that every weighted sum is right in expectation.
        Default: all are kept, and memory grows with the stream.
    rng : int or numpy.random.Generator, optional
        Seed of all random numbers. A generator is copied.

    Attributes
    ----------
    model_ : classifier or None
        The model that the next round is predicted with; None before the first sample.
    gradient_steps_ : int
        Number of mini-batches trained on so far.
    rounds_ : int
        Number of rounds so far.

    Notes
    -----
    Before the first round all classes have the same probability. A model of another library is saved by fingerprint
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
            self._continue_training(self._pool.multiplicity())

    def _predict(self, X: NDArray[Any]) -> FloatArray:
        uniform = np.full(self.n_classes, 1.0 / self.n_classes)
        return class_probabilities(self.model_, X, self._seen(), uniform)

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(3, ClassMeans(), max_epochs=4, batch_size=20, rng=0),
            cls(3, ClassMeans(), max_epochs=4, max_pool=30, rng=0),
        ]
