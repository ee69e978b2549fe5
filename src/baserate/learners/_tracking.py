"""Base class of learners that use the class mix: tracked from labels, or given."""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.learners._learner import BaseLearner
from baserate.parameters import clone
from baserate.protocols import BindableTracker, Evidence, FloatArray, IntArray, Tracker
from baserate.simplex import project
from baserate.state import check_array
from baserate.trackers import FLHFTL
from baserate.validation import check_has_methods, check_limits, check_path


class TrackingLearner(BaseLearner):
    """Base of learners with an expected class mix for each round, `prior_`."""

    tracker: Tracker | None
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
        if self.tracker is None:
            tracker: Tracker = FLHFTL(self.n_classes)
        else:
            check_has_methods(self.tracker, "tracker", Tracker, "predict, update and reset")
            tracker = clone(self.tracker)
        if len(tracker.predict()) != self.n_classes:
            raise ValueError(
                f"tracker follows {len(tracker.predict())} classes; the learner has {self.n_classes}. Construct it "
                f"with n_classes={self.n_classes}."
            )
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

    def set_state(self, state: dict[str, Any]) -> Self:
        like = np.empty(self.n_classes)
        for limit in state["_limits"]:
            check_array(limit, "_limits", like)
        if state["_path"] is not None:
            check_array(state["_path"], "_path", np.empty((len(state["_path"]), self.n_classes)))
        elif state["tracker_"] is not None:
            check_array(state["tracker_"].predict(), "tracker_", like)
        return super().set_state(state)
