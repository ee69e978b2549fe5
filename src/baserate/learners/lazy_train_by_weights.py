"""LazyTrainByWeights: trains only when a change of the class mix is detected (Algorithm 4 of the paper)."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from baserate.learners._estimators import class_probabilities
from baserate.learners._examples import ClassMeans
from baserate.learners._learner import SAVED_MODEL, model_problem
from baserate.learners._tracking import TrackingLearner
from baserate.learners.train_by_weights import SAVED_BY_WEIGHTS, TrainByWeights, weights_problem
from baserate.protocols import FloatArray, IntArray, Tracker
from baserate.simplex import log_ratio, project, reweight
from baserate.state.declarations import LONGEST, Each, Flag, Part, Saved, Whole, floats
from baserate.trackers import FLHFTL, LowSwitching
from baserate.validation import check_option

_EVEN = 0.5
"""Share of the uniform mix in the mix to train for; the rest is the expected mix."""
_GROWTH = 0.1
"""Least relative growth of the number of samples before a re-weighted model is trained again."""


def _problem(saved: Saved) -> str:
    """Say what does not fit together; a class that the model knows has half an even share in its mix, at least."""
    mix, k = saved.state["_mix"], saved.sizes["k"]
    known = mix > 0
    if saved.state["model_"] is None:
        if known.any():
            return "has a mix to train for, and no model"
    elif abs(mix.sum() - 1.0) > 1e-6 or mix[known].min() < _EVEN / k * (1.0 - 1e-6):
        return "has a model for no class mix"
    return weights_problem(saved) or model_problem(saved, 2 if saved.params["by"] == "weights" else 1)


class LazyTrainByWeights(TrainByWeights, saved_as="lazy_train_by_weights"):
    """Trains a new model only when its tracker switches, and re-weights its output in the rounds between.

    Like `TrainByWeights`, at a small part of its cost: its tracker is a `LowSwitching`, whose prediction changes O(log
    T) times while the class mix is constant and about T^(1/3) V^(2/3) times in all, V the total variation of the mix.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2; labels are 0..k-1.
    estimator : classifier
        Any scikit-learn compatible classifier with `predict_proba`. It is cloned, and never trained itself. If its
        `random_state` is None, it gets a seed from `rng`.
    tracker : Tracker, optional
        A `LowSwitching`, or any other, which is then wrapped in one. Default: ``LowSwitching(FLHFTL(n_classes))``. It
        is cloned.
    reweight : bool
        False is the algorithm of the paper: between two switches nothing changes, and models are trained for the
        prediction of `LowSwitching`. True (default): see the notes.
    by : {"weights", "sampling"}
        The way in which the estimator is trained: by `fit` with `sample_weight`, or by mini-batches for `partial_fit`,
        as for `TrainByWeights`.
    floor : float, optional
        Least share of any class in the expected mix. Default: 0.1 / k.
    max_epochs, patience, batch_size
        For ``by="sampling"``: training stops when the best of the last `patience` accuracies is the oldest of them.
    max_pool : int, optional
        Largest number of samples to keep, as for `TrainByWeights`. Default: all. (With `reweight` the remaining samples
        keep their weights: within a class each was equally likely to stay.)
    rng : int or numpy.random.Generator, optional
        Seed of all random numbers. A generator is copied.

    Attributes
    ----------
    prior_ : (k,) array
        The class mix that the next round is predicted with: the prediction of `LowSwitching`, or with `reweight` that
        of the tracker inside it, which changes every round.
    model_ : classifier or None
        The model of the last training; None until two classes have been seen (``by="weights"``), or one.
    erm_calls_ : int
        Number of models trained so far.
    erm_rounds_ : list of int
        The rounds (from 1) after which they were trained.
    should_retrain_ : bool
        True if the labels of the last round were a reason to train: a switch, or no model yet. With `reweight`, a
        switch counts only once there are a tenth more samples of the expected classes than at the last training; and a
        class that is new to the model is a reason, too.
    gradient_steps_ : int
        Number of mini-batches trained on so far; for ``by="weights"``, of iterations that the estimator reports
        (`n_iter_`).
    rounds_ : int
        Number of rounds so far.

    Notes
    -----
    With `reweight`, a model is trained for a class mix half way between the expected one and a uniform one: the weight
    of a sample of class y is its share in that mix divided by its share in the samples. In every round, the model's
    output is then multiplied by `prior_` over that mix. Under label shift this is the model for the expected mix,
    whatever the mix was when it was trained. So a change of the mix is no reason to train; new samples are. Switches
    soon after a training are therefore skipped: T rounds with a constant mix cost at most 1 + log2(T) trainings, apart
    from false alarms of the tracker, and any T rounds O(k log(T)), even if the mix changes all the time.

    The weights of Algorithm 4, which divide by the tracker's prediction in a sample's own round, are not used because
    they are noisy and give more errors. The mix is half uniform because a model that is too simple to learn every
    class, or is regularised, learns only classes with a large weight, and is useless for the others when the mix
    changes.

    Before the first round the prediction of every sample is `prior_`. A class that the model was not trained on, or
    without `reweight` has no output for, gets its share of `prior_`, and the model's probabilities are scaled to the
    rest. A model of another library is saved only as a fingerprint; keep the model, and pass it to ``load(path,
    estimator=estimator, model_=model)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> learner = LazyTrainByWeights(2, LogisticRegression())
    >>> for t in range(100):
    ...     y = (rng.random(30) < (0.5 if t < 50 else 0.9)).astype(int)
    ...     learner.update(rng.normal(2.0 * y - 1.0, 1.0)[:, np.newaxis], y)
    >>> learner.erm_rounds_
    [1, 2, 4, 8, 16, 32, 60, 64, 76, 92]
    >>> learner.predict_proba([[0.0]]).round(1), learner.prior_.round(1)
    (array([[0.1, 0.9]]), array([0.1, 0.9]))

    References
    ----------
    Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023, Algorithm 4.
    """

    priors = None  # given true class mixes, there would be no switches

    saves = SAVED_BY_WEIGHTS.extended(
        params={"reweight": Flag()},
        state={
            "tracker_": Part(LowSwitching, {"k": "k"}),
            "model_": SAVED_MODEL,
            "erm_rounds_": Each(Whole(1)),
            "should_retrain_": Flag(),
            "_mix": floats("k", low=0.0, high=1.0 + 1e-9),
            "_seen_then": floats("k", low=1.0, high=float(LONGEST)),
        },
        check=_problem,
    )

    def __init__(
        self,
        n_classes: int,
        estimator: Any,
        tracker: Tracker | type[Tracker] | None = None,
        *,
        reweight: bool = True,
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
        self.reweight = reweight
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
        self.erm_rounds_: list[int] = []
        self.should_retrain_ = False
        self._mix = np.zeros(self.n_classes)  # that the model was trained for; 0 for a class that it does not know
        self._seen_then = np.ones(self.n_classes)  # number of samples of each class at that time, at least one

    def _check_parameters(self) -> None:
        check_option(self.reweight, "reweight", [True, False])
        super()._check_parameters()

    def _new_tracker(self) -> Tracker:
        tracker = super()._new_tracker()
        if not isinstance(tracker, LowSwitching):
            tracker = LowSwitching(tracker)
            tracker.bind(prior=self._uniform(), sigma_min=None)  # again, because wrapping has cloned the tracker
        return tracker

    def _switching(self) -> LowSwitching:
        assert isinstance(self.tracker_, LowSwitching)
        return self.tracker_

    @property
    def prior_(self) -> FloatArray:
        """The class mix that the next round is predicted with, (k,)."""
        tracker = self._switching()
        estimate = tracker.tracker_.predict() if self.reweight else tracker.predict()  # Alg. 4, line 1
        prior: FloatArray = project(estimate[np.newaxis], *self._limits)[0]
        return prior

    def _learn(self, n_new: int) -> None:
        self.should_retrain_ = n_new > 0 and self._is_worth_it()  # Alg. 4, line 2
        if not self.should_retrain_:
            return  # Alg. 4, line 3
        mix = self._mix_to_train_for()
        self._call_erm()  # Alg. 4, line 5
        if self.model_ is not None:
            self.erm_rounds_ = [*self.erm_rounds_, self.rounds_]
            self._mix = mix
            self._seen_then = np.maximum(self._pool.seen.sum(axis=0), 1.0)

    def _is_worth_it(self) -> bool:
        switched = self._switching().switched_
        if self.model_ is None:
            return True
        if not self.reweight:
            return switched
        if ((self._counts() > 0) & (self._mix == 0)).any():
            return True  # there are samples of a class that is new to the model
        # Growth of the number of samples, weighted by the expected mix: new samples of a class that is rare now are of
        # no use, and of a class that was rare until now a few make a difference.
        growth = self.prior_ @ (np.maximum(self._pool.seen.sum(axis=0), 1) / self._seen_then)
        return switched and bool(growth >= 1.0 + _GROWTH)

    def _counts(self) -> IntArray:
        """Return the number of samples of each class that a model is trained on."""
        pool = self._pool
        y = pool.y if self.by == "weights" else pool.y[~pool.held]
        return np.bincount(y, minlength=self.n_classes).astype(np.int64)

    def _mix_to_train_for(self) -> FloatArray:
        """Return the mean of the expected mix and a uniform one, over the classes with samples."""
        known = self._counts() > 0
        expected = self.prior_ * known
        mix: FloatArray = _EVEN * known / known.sum() + (1.0 - _EVEN) * expected / expected.sum()
        return mix

    def _weights(self) -> FloatArray:
        """Return the weight of each sample: its class's share in the mix to train for, over that in the samples."""
        if not self.reweight:
            return super()._weights()
        counts = self._counts()
        of_class = np.ones(self.n_classes)  # a class with validation samples only keeps weight one
        of_class[counts > 0] = (self._mix_to_train_for() * counts.sum())[counts > 0] / counts[counts > 0]
        weights: FloatArray = of_class[self._pool.y]
        return weights

    def _predict(self, X: NDArray[Any]) -> FloatArray:  # Alg. 4, line 7
        prior = self.prior_
        if not self.reweight or self.model_ is None:
            return class_probabilities(self.model_, X, self._seen(), prior)
        known = self._mix > 0
        output = class_probabilities(self.model_, X, self._seen(), self._mix)[:, known]
        output[output.sum(axis=1) == 0] = self._mix[known]  # all mass on classes that it never saw is no information
        offsets = log_ratio(prior[known], self._mix[known])[np.newaxis]
        proba = np.tile(prior, (len(X), 1))
        proba[:, known] = max(1.0 - prior[~known].sum(), 0.0) * reweight(output, offsets, np.array([0, len(X)]))
        return proba

    def get_state(self) -> dict[str, Any]:
        # The model is saved, because the samples that it was trained on cannot be recovered from a later pool.
        return TrackingLearner.get_state(self)

    def set_state(self, state: dict[str, Any]) -> Self:
        TrackingLearner.set_state(self, state)  # likewise
        return self

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(3, ClassMeans(), rng=0),
            cls(3, ClassMeans(), reweight=False, rng=0),
            cls(3, ClassMeans(), FLHFTL(3, experts="window"), by="sampling", max_epochs=4, batch_size=20, rng=0),
            cls(3, ClassMeans(), LowSwitching(FLHFTL(3), threshold="theory"), floor=0.05, max_pool=40, rng=0),
        ]
