"""Checks of what base models are trained on."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import IntArray
from baserate.validation import check_labels


def check_training_labels(y: ArrayLike, n_samples: int) -> IntArray:
    """Labels 0..k-1, where the largest of them says how many classes there are."""
    values = np.asarray(y)
    if values.size == 0:
        raise ValueError("y is empty; give at least one labelled sample to train on.")
    known = values.dtype.kind in "fiub" and bool(np.isfinite(values).all())
    # Where no largest label can be told, the check below refuses the labels, or they are objects that are numbers.
    return check_labels(y, n_samples, max(int(values.max()) + 1, 1) if known else 2**31)
