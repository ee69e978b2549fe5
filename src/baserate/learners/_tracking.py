"""Base class of learners that use the class mix: tracked from labels, or given."""

import copy

import numpy as np
from numpy.typing import ArrayLike

from baserate.learners._learner import SAVED, BaseLearner, learner_problem
from baserate.protocols import BindableTracker, Evidence, FloatArray, IntArray, Tracker
from baserate.simplex import project
from baserate.state.declarations import Maybe, Number, Part, Saved, Together, floats
from baserate.state.declarations import priors as path_of_priors
from baserate.trackers import FLHFTL
from baserate.trackers.given import new_tracker, saved_tracker
from baserate.validation import check_limits, check_path

SAVED_TRACKING = SAVED.extended(
    params={
        "tracker": saved_tracker({"k": "k"}),
        "floor": Maybe(Number(0.0, 1.0)),
    },
    state={
        "tracker_": Maybe(Part(Tracker, {"k": "k"})),
        "_path": Maybe(path_of_priors("rounds", "k")),
        "_limits": Together((floats("k"), floats("k"))),
    },
)
"""The declaration of what every learner saves that follows the class mix; see `tracking_problem`."""


def tracking_problem(saved: Saved, floor: float | None) -> str:
    """Say what does not fit together in a learner with this floor; an empty text if everything does."""
    told, state = saved.params.get("priors"), saved.state
    if (told is None) != (state["_path"] is None) or (told is None) == (state["tracker_"] is None):
        return "is told the class mix and tracks it, or neither"
    limits = check_limits(None, floor, saved.sizes["k"])
    if not all(np.array_equal(*pair) for pair in zip(limits, state["_limits"], strict=True)):
        return "has other limits than its floor"
    if told is not None:
        if len(np.asarray(told)) != saved.sizes["rounds"] or state["rounds_"] > saved.sizes["rounds"]:
            return "is told of other rounds than it knows"
        if (state["_path"] < limits[0] * (1.0 - 1e-6)).any():
            return "is told a class mix below its floor"
    return learner_problem(saved)


class TrackingLearner(BaseLearner):
    """Base of learners with an expected class mix for each round, `prior_`."""

    tracker: Tracker | type[Tracker] | None
    priors: ArrayLike | None

    def _begin(self) -> None:
        super()._begin()
        self._limits = check_limits(None, self._floor(), self.n_classes)
        if self.tracker is not None and self.priors is not None:
            raise ValueError("priors and tracker are both given; a learner that is told the class mix tracks nothing.")
        self._path: FloatArray | None = None
        self.tracker_: Tracker | None = None
        if self.priors is not None:
            self._path = project(check_path(self.priors, self.n_classes, "priors"), *self._limits)
        else:
            self.tracker_ = self._new_tracker()

    def _floor(self) -> float | None:
        """Return the least share of any class in `prior_`."""
        return None

    def _new_tracker(self) -> Tracker:
        tracker = new_tracker(FLHFTL if self.tracker is None else self.tracker, self.n_classes, "the learner")
        if isinstance(tracker, BindableTracker):
            tracker.bind(prior=self._uniform(), sigma_min=None)  # None: estimates are label frequencies
        return tracker

    def _uniform(self) -> FloatArray:
        return np.full(self.n_classes, 1.0 / self.n_classes)

    @property
    def prior_(self) -> FloatArray:
        """The class mix that the next round is predicted with, (k,)."""  # Alg. 2, line 1
        if self._path is None:
            assert self.tracker_ is not None
            prior: FloatArray = project(self.tracker_.predict()[np.newaxis], *self._limits)[0]
            return prior
        if self._is_over():
            raise ValueError(
                f"priors has {len(self._path)} rounds, and all of them are over; give a longer path, or call reset."
            )
        told: FloatArray = self._path[self.rounds_].copy()
        return told

    def _is_over(self) -> bool:
        """Return whether the given path has ended."""
        return self._path is not None and self.rounds_ >= len(self._path)

    def update(self, X: ArrayLike, y: ArrayLike) -> None:
        """Add the labelled samples of one round, and train for the next.

        Parameters
        ----------
        X : (n, d) array
            Samples, as rows of numbers. An empty batch is a round without samples.
        y : (n,) array of int
            Their labels, 0..k-1.
        """
        _ = self.prior_  # raises an error if the path has ended
        super().update(X, y)

    def _propensity(self, y: IntArray) -> FloatArray:
        return self.prior_[y]

    def _observe(self, y: IntArray) -> None:
        if self.tracker_ is not None:
            frequencies = np.bincount(y, minlength=self.n_classes) / len(y)  # Alg. 2, line 5
            blank = np.tile(self._uniform(), (len(y), 1))
            self.tracker_ = copy.deepcopy(self.tracker_)
            self.tracker_.update(frequencies, Evidence(blank, self._uniform(), y))  # Alg. 2, line 6
