"""Base classes of trackers: of any, and of those whose state has a bounded size."""

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.state import Beginning
from baserate.state.declarations import Fields, Maybe, Number, Plain, Saved, Saves, Spec, Whole, priors
from baserate.validation import check_integer, check_prior, check_vector

ONE_KEY = np.zeros(1, dtype=np.int64)
ONE_KEY.setflags(write=False)


SAVED = Saves(
    params={"n_classes": Whole(2, size="k"), "prior": Maybe(Plain())},
    state={"_default_birth": priors("k"), "_sigma_min": Number(0.0, 1e9)},
)
"""The declaration of what every tracker saves."""


def saved_rows(rows: Mapping[str, Spec], **params: Spec) -> Saves:
    """The declaration of a banked tracker: its arrays, whose first size is ``"keys"``, and its parameters."""
    return SAVED.extended(params, {"_state": Fields(rows)}, check=has_one_key)


def has_one_key(saved: Saved) -> str:
    """Check that a saved tracker has the state of one key; for `Saves`."""
    return "" if saved.sizes["keys"] == 1 else f"has the state of {saved.sizes['keys']} keys, not of one"


class BaseTracker(Beginning):
    """Base of all trackers: follows `n_classes` numbers, and predicts its birth value until the first update.

    A subclass calls `_begin` at the end of its constructor, and implements `restart`, `predict` and `_observe`.
    """

    n_classes: int
    prior: ArrayLike | None

    def _begin(self) -> None:
        check_integer(self.n_classes, "n_classes", 2)
        self._sigma_min = 1.0
        self._default_birth: FloatArray = (
            np.full(self.n_classes, 1.0 / self.n_classes)
            if self.prior is None
            else check_prior(self.prior, self.n_classes, "prior")
        )
        self.reset()

    def bind(self, *, prior: FloatArray, sigma_min: float | None) -> None:
        """Take over what the adapter knows; the birth value takes effect with the next `reset`.

        Parameters
        ----------
        prior : (k,) array
            The source prior, which is the birth value unless the constructor was given one.
        sigma_min : float or None
            The smallest singular value of the confusion matrix, or None where estimates are label frequencies.
        """
        if self.prior is None:
            self._default_birth = np.array(prior)
        self._sigma_min = 1.0 if sigma_min is None else sigma_min

    @property
    def birth_(self) -> FloatArray:
        """The prediction after a `reset`, (k,)."""
        return self._default_birth.copy()

    def reset(self) -> None:
        """Forget everything, and predict `birth_` until the next update."""
        self.restart(self._default_birth)

    def restart(self, birth: ArrayLike) -> None:
        """Forget everything, and predict `birth` until the next update."""
        raise NotImplementedError

    def update(self, z: ArrayLike, evidence: Evidence | None = None) -> None:
        """Update the tracked vector with one estimate.

        Parameters
        ----------
        z : (k,) array
            A noisy estimate of the vector; any finite numbers, on the simplex or not.
        evidence : Evidence, optional
            The batch that the estimate was made from, for trackers that use likelihoods.
        """
        self._observe(check_vector(z, self.n_classes), evidence)

    def _observe(self, z: FloatArray, evidence: Evidence | None) -> None:
        raise NotImplementedError

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(n_classes=3)]  # type: ignore[call-arg]  # which every tracker has


class BankedTracker(BaseTracker):
    """Base of trackers whose state has a bounded size: arrays with a leading axis of keys, here of one key.

    A subclass implements `new_state`, `predict_rows` and `update_rows`, which `baserate.Bank` calls for many keys at
    once.
    """

    in_threads = False
    """True if `predict_rows` and `update_rows` may be called for different keys at the same time, and take long enough
    per key for threads to pay off."""

    def new_state(self, births: FloatArray) -> Any:
        """Return the initial state of ``len(births)`` keys."""
        raise NotImplementedError

    def predict_rows(self, state: Any, rows: IntArray) -> FloatArray:
        """Return the predictions of some keys, one row each."""
        raise NotImplementedError

    def update_rows(self, state: Any, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Update each of some keys with one estimate, in place; no key twice."""
        raise NotImplementedError

    def of_key(self, state: Any, row: int) -> Self:
        """Return a tracker that stands where one of many keys does; it has a copy of that key's state."""
        one = copy.copy(self)
        one._state = type(state)(*(array[row : row + 1].copy() for array in state))
        return one

    def restart(self, birth: ArrayLike) -> None:
        """Forget everything, and predict `birth` until the next update."""
        self._state = self.new_state(check_vector(birth, self.n_classes, "birth")[np.newaxis])

    def predict(self) -> FloatArray:
        """Return the tracked vector, as of the last update."""
        tracked: FloatArray = self.predict_rows(self._state, ONE_KEY)[0]
        return tracked

    def _observe(self, z: FloatArray, evidence: Evidence | None) -> None:
        self.update_rows(self._state, ONE_KEY, z[np.newaxis], evidence)

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "_state": self._state._asdict()}

    def set_state(self, state: dict[str, Any]) -> Self:
        return super().set_state({**state, "_state": type(self._state)(**state["_state"])})
