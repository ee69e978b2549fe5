"""The split of source data into training and holdout."""

import numpy as np

from baserate.protocols import IntArray

HOLDOUT_SHARE = 0.2


def split(y: IntArray, seed: int) -> tuple[IntArray, IntArray]:
    """Rows to train on and rows to hold out, 80:20 in every class, each in the order of the data.

    A class of one or two samples is trained on only.
    """
    rng = np.random.default_rng(seed)
    held = np.zeros(len(y), dtype=np.bool_)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        held[rows[: round(HOLDOUT_SHARE * len(rows))]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
