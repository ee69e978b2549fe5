"""Classes that were added or retired when a model is redeployed: what of the tracked mix goes on."""

from collections.abc import Sequence

import numpy as np

from baserate.protocols import FloatArray, IntArray

NEW = -1
"""In the place of a column: a class that was not there before."""


def check_previous(previous: Sequence[int | None], n_classes: int, n_before: int) -> IntArray:
    """Check which column each class was in; `NEW` for those that were in none."""
    if isinstance(previous, str) or not hasattr(previous, "__len__") or len(previous) != n_classes:
        raise ValueError(
            f"previous is {previous!r}; give a column number, or None, for each of the {n_classes} classes."
        )
    for place in previous:
        whole = isinstance(place, int | np.integer) and not isinstance(place, bool)
        if place is not None and not (whole and 0 <= place < n_before):
            raise ValueError(f"previous holds {place!r}; expected None, or a column from 0 to {n_before - 1}.")
    places = np.array([NEW if place is None else place for place in previous], dtype=np.int64)
    stayed = places[places != NEW]
    if len(stayed) == 0:
        raise ValueError("previous says that every class is new; call fit, which starts anew.")
    if len(set(stayed.tolist())) < len(stayed):
        raise ValueError("previous holds a column twice; a class can go on in one place only.")
    return places


def carried_over(before: FloatArray, source_prior: FloatArray, places: IntArray) -> FloatArray:
    """The mix to go on with: new classes have their share of the source, the others share the rest as they did."""
    stays = places != NEW
    old = before[places[stays]]
    shares = old / old.sum() if old.sum() > 0.0 else np.full(len(old), 1.0 / len(old))
    mix = source_prior.copy()
    mix[stays] = shares * source_prior[stays].sum()
    return np.asarray(mix / mix.sum())
