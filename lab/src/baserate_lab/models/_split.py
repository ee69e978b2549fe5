"""Split of source data into training and holdout."""

import numpy as np

from baserate.protocols import IntArray

TRAIN_SHARE = 0.8


def split(y: IntArray, seed: int, train_share: float = TRAIN_SHARE) -> tuple[IntArray, IntArray]:
    """Rows to train on and rows to hold out, 80:20 in every class by default, in the order of the data.

    A class of one or two samples is used for training only.
    """
    rng = np.random.default_rng(seed)
    held = np.zeros(len(y), dtype=np.bool_)
    holdout_share = round(1 - train_share, 12)  # 0.2, not 0.19999999999999996
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        held[rows[: round(holdout_share * len(rows))]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
