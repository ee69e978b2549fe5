"""LazyTrainByWeights: trains only when the class mix has been seen to change (Algorithm 4 of the paper)."""

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
"""How much of the mix to train for is the same for every class; the rest is as expected."""
_GROWTH = 0.1
"""The least share by which the samples must have grown for a model that is re-weighted anyway to be trained again."""


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
    """Trains a fresh model only when its tracker switches, and re-weights what it says in the rounds between.

    `TrainByWeights` at a small part of its cost: its tracker is a `LowSwitching`, which changes its mind O(log T) times
    while the class mix stands still and about T^(1/3) V^(2/3) times in all, V the total variation of the mix.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2; labels are 0..k-1.
    estimator : classifier
        Any of scikit-learn's kind, with `predict_proba`. It is cloned, never trained itself. Where its `random_state`
        is None, it gets a seed from `rng`.
    tracker : Tracker, optional
        A `LowSwitching`, or any other, which is then wrapped in one. Default: ``LowSwitching(FLHFTL(n_classes))``. It
        is cloned.
    reweight : bool
        False is the algorithm of the paper: between two switches nothing moves, and models are trained for the mix that
        `LowSwitching` plays. True (default): see the notes.
    by : {"weights", "sampling"}
        How the estimator is trained: by `fit`, which takes `sample_weight`, or by mini-batches for `partial_fit`, as
        for `TrainByWeights`.
    floor : float, optional
        The least that the expected mix gives to any class. Default: 0.1 / k.
    max_epochs, patience, batch_size
        Of ``by="sampling"``: training stops when the best of the last `patience` accuracies is the oldest.
    max_pool : int, optional
        The most samples to keep, as for `TrainByWeights`. Default: all. (With `reweight` the samples that stay need no
        other weights: within a class each is as likely as any other to be there.)
    rng : int or numpy.random.Generator, optional
        Seed of everything random. A generator is copied.

    Attributes
    ----------
    prior_ : (k,) array
        The class mix that the next round is predicted with: what `LowSwitching` plays, or with `reweight` the estimate
        of the tracker inside of it, which moves every round.
    model_ : classifier or None
        The model of the last training; None until two classes have been seen (``by="weights"``), or one.
    erm_calls_ : int
        How often a model has been trained.
    erm_rounds_ : list of int
        The rounds (from 1) after whose labels that was.
    should_retrain_ : bool
        Whether the labels of the last round were a reason to train: a switch, or no model yet. With `reweight`, a
        switch counts only once there are a tenth more samples, of the classes that are expected, than at the last
        training; and a class that the model does not know is a reason, too.
    gradient_steps_ : int
        Mini-batches trained on so far; for ``by="weights"``, the iterations that the estimator reports (`n_iter_`).
    rounds_ : int
        Rounds taken in.

    Notes
    -----
    With `reweight`, a model is trained for a class mix half way between the one expected at the switch and a uniform
    one: a sample of class y weighs what y has in that mix over what it has in the samples. What the model says is then
    multiplied by `prior_` over that mix, in every round. Under label shift this is the model for the expected mix,
    whatever the mix was when it was trained (that of a single class, say). A change of mix is no reason to train then;
    samples that the model has not seen are. So switches that come soon after a training are passed over: T rounds that
    stand still cost at most 1 + log2(T) trainings, but for false alarms of the tracker, and any T rounds O(k log(T)),
    also where the mix never rests.

    Why not the weights of Algorithm 4, which divide by what the tracker expected of a class in a sample's own round:
    they are noisy, and the errors higher. Why half way: a model that is too simple to learn every class, or is held
    back by a penalty, learns only those that weigh much, and has nothing to say about the others when the mix turns.

    Before the first round every sample is predicted `prior_`. A class that the model does not know is given its share
    of `prior_`, and the others share the rest. (Without `reweight`: a class that it has no output for.) A model of
    another library is saved by fingerprint only; keep it, and hand it over: ``load(path, estimator=estimator,
    model_=model)``.

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

    priors = None  # what is told the truth never switches

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
        tracker: Tracker | None = None,
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
        self._mix = np.zeros(self.n_classes)  # what the model was trained for; 0 for a class that it does not know
        self._seen_then = np.ones(self.n_classes)  # how many samples of each class there had been then, or one

    def _check_parameters(self) -> None:
        check_option(self.reweight, "reweight", [True, False])
        super()._check_parameters()

    def _new_tracker(self) -> Tracker:
        tracker = super()._new_tracker()
        if not isinstance(tracker, LowSwitching):
            tracker = LowSwitching(tracker)
            tracker.bind(prior=self._uniform(), sigma_min=None)  # it has cloned what had been told so
        return tracker

    def _switching(self) -> LowSwitching:
        assert isinstance(self.tracker_, LowSwitching)
        return self.tracker_

    @property
    def prior_(self) -> FloatArray:
        """(k,) the class mix that the next round is predicted with."""
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
            return True  # there is a class now that the model does not know
        # How many times as many samples there are, of the classes that are expected: of what is rare now, new samples
        # would teach nothing that is needed, and of what was rare until now, few are many.
        growth = self.prior_ @ (np.maximum(self._pool.seen.sum(axis=0), 1) / self._seen_then)
        return switched and bool(growth >= 1.0 + _GROWTH)

    def _counts(self) -> IntArray:
        """How many samples of each class a model is trained on."""
        pool = self._pool
        y = pool.y if self.by == "weights" else pool.y[~pool.held]
        return np.bincount(y, minlength=self.n_classes).astype(np.int64)

    def _mix_to_train_for(self) -> FloatArray:
        """Half way between the mix that is expected and a uniform one, of the classes that there are samples of."""
        known = self._counts() > 0
        expected = self.prior_ * known
        mix: FloatArray = _EVEN * known / known.sum() + (1.0 - _EVEN) * expected / expected.sum()
        return mix

    def _weights(self) -> FloatArray:
        """The weight of each sample: what its class has in the mix to train for, over what it has in the samples."""
        if not self.reweight:
            return super()._weights()
        counts = self._counts()
        of_class = np.ones(self.n_classes)  # a class that is there for validation only is judged as it is
        of_class[counts > 0] = (self._mix_to_train_for() * counts.sum())[counts > 0] / counts[counts > 0]
        weights: FloatArray = of_class[self._pool.y]
        return weights

    def _predict(self, X: NDArray[Any]) -> FloatArray:  # Alg. 4, line 7
        prior = self.prior_
        if not self.reweight or self.model_ is None:
            return class_probabilities(self.model_, X, self._seen(), prior)
        known = self._mix > 0
        said = class_probabilities(self.model_, X, self._seen(), self._mix)[:, known]
        said[said.sum(axis=1) == 0] = self._mix[known]  # all for classes that it has never seen is to say nothing
        offsets = log_ratio(prior[known], self._mix[known])[np.newaxis]
        proba = np.tile(prior, (len(X), 1))
        proba[:, known] = max(1.0 - prior[~known].sum(), 0.0) * reweight(said, offsets, np.array([0, len(X)]))
        return proba

    def get_state(self) -> dict[str, Any]:
        # The model stays in: what it was trained on cannot be told from the pool of a later round.
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
