"""Base class of learners: a pool of labelled samples, seeds, and updates that happen as a whole or not at all."""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.learners._epochs import best_constant_accuracy, check_epochs, train_in_epochs, validation_accuracy
from baserate.learners._estimators import fresh
from baserate.learners._pool import SAVED_POOL, Pool, check_max_pool, pool_problem
from baserate.protocols import Classifier, FloatArray, IntArray
from baserate.state import Beginning
from baserate.state.declarations import Either, Foreign, Generator, Maybe, Part, Saved, SavedPart, Saves, Whole
from baserate.validation import check_integer, check_labels, check_rng

_SPLIT, _TRAINING = 0, 1  # purposes of random numbers

_MOST_STEPS = 10**6
"""The most mini-batches that a saved learner may ask for before it looks at the accuracy for the first time."""

SAVED = Saves(
    params={
        "n_classes": Whole(2, size="k"),
        "estimator": Either((Foreign(), Part(Classifier))),
        "max_epochs": Whole(1, 2**63),
        "patience": Whole(1, 2**63),
        "batch_size": Whole(1, 2**63),
        "max_pool": Maybe(Whole(1)),
        "rng": Maybe(Either((Generator(), Whole(0, 2**256)))),
    },
    state={
        "_pool": SAVED_POOL,
        "_seed": Whole(0, 2**63 - 1),
        "rounds_": Whole(),
        "gradient_steps_": Whole(),
    },
)
"""The declaration of what every learner saves; `learner_problem` says what must fit together."""

SAVED_MODEL = Maybe(Either((Foreign(), Part(Classifier, {"d": "d"}))))
"""The declaration of a trained model in the state; `model_problem` says what must fit together."""


def learner_problem(saved: Saved) -> str:
    """Say what does not fit together in a saved learner; an empty text if everything does."""
    params = saved.params
    steps = params.get("epoch_steps") or 10 + saved.sizes["n"] // params["batch_size"]
    if params.get("by") != "weights" and min(params["max_epochs"], params["patience"]) * steps > _MOST_STEPS:
        return "asks for a training without end"
    return pool_problem(saved.state["_pool"], params["max_pool"])


def model_problem(saved: Saved, least_classes: int) -> str:
    """Say what is wrong with a saved model, which there is once so many classes have been seen."""
    model, estimator = saved.state["model_"], saved.params["estimator"]
    trained = int((saved.state["_pool"]["seen"].sum(axis=0) > 0).sum()) >= least_classes
    if trained != (model is not None):
        return "has no model where there must be one, or one where there is none"
    if model is not None and getattr(model, "cls", None) is not getattr(estimator, "cls", None):
        return "has a model of another kind than its estimator"
    if isinstance(model, SavedPart):
        classes = np.asarray(model.state.get("classes_", []))
        if not model.state or not np.isin(classes, np.arange(saved.sizes["k"])).all():
            return "has a model that was trained for other classes, or not at all"
    return ""


class BaseLearner(Beginning):
    """Base of learners, which predict a round from the rounds before and then learn from its labels.

    A subclass calls `_begin` at the end of its constructor, and implements `_check_parameters`, `_learn` and
    `_predict`. `rounds_` is the number of rounds so far, `gradient_steps_` that of mini-batches.
    """

    input_kind = "features"

    n_classes: int
    estimator: Any
    max_epochs: int
    patience: int
    batch_size: int
    epoch_steps: int | None = None
    max_pool: int | None
    rng: int | np.random.Generator | None

    def _begin(self) -> None:
        check_integer(self.n_classes, "n_classes", 2)
        check_epochs(self.max_epochs, self.patience, self.batch_size, self.epoch_steps)
        check_max_pool(self.max_pool, self.n_classes)
        self._check_parameters()
        # Seeds are derived from this one and the number of samples so far, so no generator's state has to be saved.
        self._seed = int(copy.deepcopy(check_rng(self.rng)).integers(2**63))
        self._pool = Pool.empty(self.n_classes)
        self.model_: Any = None
        self.rounds_ = 0
        self.gradient_steps_ = 0

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def reset(self) -> None:
        """Forget the stream, and everything learned from it."""
        self._begin()

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities of a batch; changes nothing.

        Parameters
        ----------
        X : (n, d) array
            Samples, as rows of numbers.
        """
        return self._predict(self._pool.check_samples(X))

    def update(self, X: ArrayLike, y: ArrayLike) -> None:
        """Add the labelled samples of one round, and train for the next.

        Parameters
        ----------
        X : (n, d) array
            Samples, as rows of numbers. An empty batch is a round without samples.
        y : (n,) array of int
            Their labels, 0..k-1.
        """
        samples = self._pool.check_samples(X)
        labels = check_labels(y, len(samples), self.n_classes)
        then = copy.copy(self)  # so that an error of the estimator changes nothing
        then._add_round(samples, labels)
        self.__dict__ = then.__dict__

    def _add_round(self, X: NDArray[Any], y: IntArray) -> None:
        """Replace attributes of a learner that is a shallow copy, without changing their contents."""
        if len(y):
            self._pool = self._pool.joined(X, y, self._propensity(y), self._generator(_SPLIT), self.max_pool)
            self._observe(y)
        self.rounds_ += 1
        self._learn(n_new=len(y))

    def _propensity(self, y: IntArray) -> FloatArray:
        """Return the expected share of each label's class before the label was known."""
        return np.full(len(y), 1.0 / self.n_classes)

    def _observe(self, y: IntArray) -> None:
        """Process the labels of a round, at least one."""

    def _learn(self, n_new: int) -> None:
        """Train on the pool, which has `n_new` more samples than in the round before."""
        raise NotImplementedError

    def _train_on(self, model: Any, weights: FloatArray, rng: np.random.Generator) -> int:
        """Train a model on the pool, in place; return the number of mini-batches."""
        return train_in_epochs(
            model,
            self._pool,
            self.n_classes,
            weights,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            epoch_steps=self.epoch_steps,
            rng=rng,
        )

    def _continue_training(self, weights: FloatArray) -> None:
        """Continue training the model of the round before; if it is useless, try a new one."""
        rng = self._generator()
        model = fresh(self.estimator, rng) if self.model_ is None else copy.deepcopy(self.model_)
        self.gradient_steps_ += self._train_on(model, weights, rng)
        if self._is_useless(model, weights):
            # Too large steps on the first few samples can leave a network that never learns again.
            other = fresh(self.estimator, rng)
            self.gradient_steps_ += self._train_on(other, weights, rng)
            if validation_accuracy(other, self._pool, weights) > validation_accuracy(model, self._pool, weights):
                model = other
        self.model_ = model

    def _is_useless(self, model: Any, weights: FloatArray) -> bool:
        """Return whether a model is no better than a constant prediction; False if only one class is validated on."""
        guess = best_constant_accuracy(self._pool, weights) if self._pool.held.any() else 1.0
        return guess < 1.0 and validation_accuracy(model, self._pool, weights) <= guess

    def _predict(self, X: NDArray[Any]) -> FloatArray:
        raise NotImplementedError

    def _generator(self, purpose: int = _TRAINING) -> np.random.Generator:
        """Return a generator seeded by the pool, so that training on the same pool again gives the same bits."""
        return np.random.default_rng([self._seed, purpose, self._pool.n_seen])

    def _seen(self) -> IntArray:
        """Return the classes with samples so far."""
        return np.flatnonzero(self._pool.seen.sum(axis=0))

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "_pool": self._pool._asdict()}

    def set_state(self, state: dict[str, Any]) -> Self:
        pool = Pool(**{name: np.array(array) for name, array in state["_pool"].items()})
        super().set_state({**state, "_pool": {}})
        self._pool = pool
        return self
