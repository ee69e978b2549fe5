"""Contracts of trackers, marginal estimators, calibrators, adapters, learners and shifts, as protocols.

They are structural: a class with the right methods follows a contract, whether or not it inherits from anything here.
`baserate.checks` tests the promises that types cannot state.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Key = str | int
"""Identifies a stream or a sample."""

UNLABELLED = -1
"""Marks a sample without a label in an array of labels (scikit-learn's convention)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence about the class mix in one or more batches: rows of class likelihoods.

    An unlabelled sample has the row ``proba / source_prior``, a labelled one a one-hot row; a likelihood treats both
    alike. For a single stream there is one batch; a `baserate.Bank` passes one batch per key.

    Parameters
    ----------
    proba : (n, k) array
        The (calibrated) model's probabilities.
    source_prior : (k,) array
        The class mix that these probabilities assume.
    labels : (n,) array of int, optional
        Known labels, `UNLABELLED` for samples without one.
    starts : (m + 1,) array of int, optional
        Batch ``j`` is the rows ``starts[j]:starts[j + 1]``. By default all rows are one batch.
    checked : bool
        True if the caller has checked all this, as adapters do; a tracker then does not check it again.
    """

    proba: FloatArray
    source_prior: FloatArray
    labels: IntArray | None = None
    starts: IntArray | None = None
    checked: bool = False

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.proba)

    @property
    def likelihoods(self) -> FloatArray:
        """Rows of class likelihoods, (n, k), each up to a factor."""
        rows = self.proba / self.source_prior
        if self.labels is not None:
            known = self.labels != UNLABELLED
            rows[known] = np.eye(len(self.source_prior))[self.labels[known]]
        return rows


class Step(NamedTuple):
    """Result of one round: adapted probabilities, the class mix used for them, and flags."""

    proba: FloatArray
    prior: FloatArray
    flags: dict[str, bool]

    @property
    def labels(self) -> NDArray[Any]:
        """The most probable class of each sample: its column, or its label if the adapter was fitted on labels."""
        return np.asarray(self.proba.argmax(axis=1), dtype=np.int64)

    def __repr__(self) -> str:
        """Return the shape of the probabilities, the class mix, and the flags that are set."""
        prior = np.array2string(self.prior, precision=4, threshold=10, edgeitems=3, separator=", ")
        flags = "".join(f", {name}" for name, value in self.flags.items() if value and name != "enabled")
        return f"{type(self).__name__}(proba: {' x '.join(map(str, self.proba.shape))}, prior: {prior}{flags})"


class NamedStep(Step):
    """A step of an adapter that was fitted on class labels: `labels` are such labels, out of `classes`."""

    classes: NDArray[Any]

    @classmethod
    def of(cls, step: Step, classes: NDArray[Any]) -> Self:
        """Return a step with the class label of each column."""
        named = cls(*step)
        named.classes = classes
        return named

    @property
    def labels(self) -> NDArray[Any]:
        """The most probable class of each sample, by its label."""
        return np.asarray(self.classes[self.proba.argmax(axis=1)])


class Batch(NamedTuple):
    """One round of a simulated stream: its number, the samples, their hidden labels, and the true class mix."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody calls on a batch
    proba: FloatArray
    features: NDArray[Any] | None
    y: IntArray
    q: FloatArray
    rows: IntArray
    """Indices of the samples in the pool."""


@runtime_checkable
class Tracker(Protocol):
    """Follows a drifting vector, such as the class mix, from noisy estimates (the paper's regression oracle)."""

    def predict(self) -> FloatArray: ...
    def update(self, z: ArrayLike, evidence: Evidence | None = None) -> None: ...
    def reset(self) -> None: ...


class Experts(NamedTuple):
    """The class mixes that a mixture of experts weighs against each other, and the samples behind each.

    First come the experts that forget, by growing memory (each remembers twice as long as the one before, the last one
    everything), then the one that always predicts the birth value, then those that recall an earlier class mix, then
    those that take in every sample since they began.

    Attributes
    ----------
    weights : (m,) array
        Weight of each expert; they sum to one.
    mixes : (m, k) array
        The class mix that each expert predicts.
    sizes : (m,) array
        Number of samples that each expert has counted, plus one for its prior.
    n_forgetting : int
        Number of experts that forget, which is also the index of the birth value's expert.
    n_counting : int
        Number of experts that count samples by their class probabilities, and so lag behind; the others, the last ones,
        predict nearly the likeliest mix.
    margin : (k,) array
        Largest difference of a class's share from the birth value that is put down to the holdout's error.
    """

    weights: FloatArray
    mixes: FloatArray
    sizes: FloatArray
    n_forgetting: int
    n_counting: int
    margin: FloatArray


@runtime_checkable
class ExpertTracker(Tracker, Protocol):
    """A tracker that is a mixture of experts and shows them."""

    def weighted_experts(self) -> Experts: ...


@runtime_checkable
class KeyedExpertTracker(ExpertTracker, Protocol):
    """A tracker that shows its experts, and those of one of the many keys whose state it has made."""

    def of_key(self, state: Any, row: int) -> ExpertTracker: ...


@runtime_checkable
class BindableTracker(Tracker, Protocol):
    """A tracker that uses what its adapter knows: the source prior, and the quality of the estimates."""

    def bind(self, *, prior: FloatArray, sigma_min: float | None) -> None: ...


@runtime_checkable
class TolerantTracker(Tracker, Protocol):
    """A tracker that keeps predicting the source's class mix while the holdout's error explains the difference."""

    def tolerate(self, margin: FloatArray) -> None: ...


@runtime_checkable
class RestartableTracker(Tracker, Protocol):
    """A tracker that can restart from a given vector."""

    def restart(self, birth: ArrayLike) -> None: ...


@runtime_checkable
class LeaveOneOutTracker(Tracker, Protocol):
    """A tracker that can predict each sample of a batch from the batch's other samples, too."""

    def predict_left_out(self, evidence: Evidence) -> FloatArray: ...


@runtime_checkable
class CorrectableTracker(Tracker, Protocol):
    """A tracker that can correct its state when labels of earlier rounds arrive.

    `note` returns a record of a round, as a tuple, before `update`; `correct` uses it when labels arrive.
    """

    def note(self, evidence: Evidence) -> Any: ...
    def correct(self, note: Any, proba: ArrayLike, labels: ArrayLike) -> None: ...


@runtime_checkable
class IdlingTracker(Tracker, Protocol):
    """A tracker that can forget during rounds without samples."""

    def idle(self, rounds: int) -> None: ...
    def idle_rows(self, state: Any, rows: IntArray, rounds: IntArray) -> None: ...


@runtime_checkable
class BankableTracker(Tracker, Protocol):
    """A tracker whose state has a bounded size, as arrays with a leading axis of keys."""

    @property
    def birth_(self) -> FloatArray: ...
    def new_state(self, births: FloatArray) -> Any: ...
    def predict_rows(self, state: Any, rows: IntArray) -> FloatArray: ...
    def update_rows(self, state: Any, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None: ...


@runtime_checkable
class ThreadedTracker(BankableTracker, Protocol):
    """A bankable tracker that says whether different keys may be predicted and updated in several threads at once.

    A tracker that does not say so is used in one thread.
    """

    in_threads: bool


@runtime_checkable
class EvidenceTracker(Tracker, Protocol):
    """A tracker that says whether `update` uses its argument `z` beside the evidence.

    Where ``reads_sightings`` is False, an adapter does not compute an estimate of the class mix for it. A tracker that
    does not say so is given one.
    """

    reads_sightings: bool


@runtime_checkable
class MarginalEstimator(Protocol):
    """Estimates the class mix of one unlabelled batch."""

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self: ...
    def estimate(self, proba: ArrayLike) -> FloatArray: ...


@runtime_checkable
class BindableEstimator(MarginalEstimator, Protocol):
    """An estimator that is told the source prior before it is fitted."""

    def bind(self, *, source_prior: FloatArray) -> None: ...


@runtime_checkable
class BatchedEstimator(MarginalEstimator, Protocol):
    """An estimator that estimates the class mixes of many batches in one call.

    Batch j is the rows ``starts[j]:starts[j + 1]`` of `proba`; none is empty.
    """

    def estimate_groups(self, proba: FloatArray, starts: IntArray) -> FloatArray: ...


@runtime_checkable
class LabelOptionalEstimator(MarginalEstimator, Protocol):
    """An estimator that says whether it must be fitted on labels.

    Where ``needs_labels`` is False, an unlabelled holdout, or none, is enough. An estimator that does not say so needs
    labels.
    """

    needs_labels: bool


@runtime_checkable
class ConfusionEstimator(MarginalEstimator, Protocol):
    """An estimator that inverts a confusion matrix and, once fitted, knows its smallest singular value."""

    @property
    def sigma_min_(self) -> float: ...


@runtime_checkable
class Calibrator(Protocol):
    """Corrects over- or under-confident probabilities; fitted on the holdout."""

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self: ...
    def transform(self, proba: ArrayLike) -> FloatArray: ...


@runtime_checkable
class Adapter(Protocol):
    """Adapts a fixed model to a drifting class mix; needs no labels after training.

    Samples are rows of the model's probabilities or, if ``input_kind`` is ``"features"``, rows of its last layer's
    input.
    """

    def fit(self, samples: ArrayLike, /, y: ArrayLike) -> Self: ...
    def predict_proba(self, samples: ArrayLike, /) -> FloatArray: ...
    def update(self, samples: ArrayLike, /, y: ArrayLike | None = None) -> None: ...
    def step(self, samples: ArrayLike, /, y: ArrayLike | None = None) -> Step: ...


@runtime_checkable
class Learner(Protocol):
    """Trains on a labelled stream."""

    def predict_proba(self, X: ArrayLike) -> FloatArray: ...
    def update(self, X: ArrayLike, y: ArrayLike) -> None: ...


@runtime_checkable
class Classifier(Protocol):
    """A model with class probabilities, of this library or of another."""

    def predict_proba(self, X: ArrayLike) -> FloatArray: ...


@runtime_checkable
class Shift(Protocol):
    """A path of class mixes, for simulating a stream."""

    def path(self, n_rounds: int, n_classes: int, rng: int | np.random.Generator | None = None) -> FloatArray: ...
