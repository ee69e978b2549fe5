"""Base classes of shifts: of any, and of those that interpolate between two class mixes, as in the paper."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.state import Component
from baserate.state.declarations import Maybe, Plain, Saved, Saves, Whole
from baserate.validation import check_integer, check_prior, check_rng

_MIXES = ("q", "start", "first", "second")
MIX = Maybe(Plain())
"""The declaration of a parameter that is a class mix; see `fits_classes`."""


def fits_classes(saved: Saved) -> str:
    """Check that class mixes among the parameters are some, and of the same classes; for `Saves`."""
    given = [saved.params[name] for name in _MIXES if saved.params.get(name) is not None]
    try:
        found = {len(check_prior(mix)) for mix in given}
    except (TypeError, ValueError) as error:
        return f"has a class mix that is none: {error}"
    return "" if len(found) <= 1 else "has class mixes of different lengths"


class BaseShift(Component):
    """Base of all shifts; a subclass implements `_path`."""

    def path(self, n_rounds: int, n_classes: int, rng: int | np.random.Generator | None = None) -> FloatArray:
        """Return the class mix of each round.

        Parameters
        ----------
        n_rounds, n_classes : int
            Size of the path.
        rng : int or numpy.random.Generator, optional
            Seed, for random shifts.

        Returns
        -------
        (n_rounds, n_classes) array
        """
        check_integer(n_rounds, "n_rounds", 1)
        check_integer(n_classes, "n_classes", 2)
        return self._path(n_rounds, n_classes, check_rng(rng))

    def _path(self, n_rounds: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError


class MixtureShift(BaseShift):
    """Base of the shifts ``q_t = (1 - alpha_t) first + alpha_t second``; a subclass implements `_alpha`.

    By default `first` is uniform and `second` is class 0 alone.
    """

    first: ArrayLike | None
    second: ArrayLike | None

    def _path(self, n_rounds: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
        first = mix_or_uniform(self.first, n_classes, "first")
        second = np.eye(n_classes)[0] if self.second is None else check_prior(self.second, n_classes, "second")
        alpha = self._alpha(n_rounds, rng)[:, np.newaxis]
        return np.asarray((1 - alpha) * first + alpha * second)

    def _alpha(self, n_rounds: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError


SAVED_PERIODIC = Saves(params={"length": Maybe(Whole(1)), "first": MIX, "second": MIX}, check=fits_classes)
"""The declaration of a periodic shift."""


class PeriodicShift(MixtureShift):
    """Base of mixture shifts whose coefficient is periodic."""

    saves = SAVED_PERIODIC

    def __init__(
        self, *, length: int | None = None, first: ArrayLike | None = None, second: ArrayLike | None = None
    ) -> None:
        self.length = length
        self.first = first
        self.second = second

    def _period(self, n_rounds: int) -> int:
        """Return the given length, or the paper's floor(sqrt(T))."""
        return int(np.sqrt(n_rounds)) if self.length is None else check_integer(self.length, "length", 1)


def mix_or_uniform(q: ArrayLike | None, n_classes: int, name: str) -> FloatArray:
    """Return a given class mix, or the uniform one."""
    return np.full(n_classes, 1 / n_classes) if q is None else check_prior(q, n_classes, name)
