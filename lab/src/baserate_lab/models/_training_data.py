"""Checks of the training data of base models."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import IntArray
from baserate.validation import check_labels


def check_training_labels(y: ArrayLike, n_samples: int) -> IntArray:
    """Check labels 0..k-1; the largest label sets the number of classes."""
    values = np.asarray(y)
    if values.size == 0:
        raise ValueError("y is empty; give at least one labelled sample to train on.")
    known = values.dtype.kind in "fiub" and bool(np.isfinite(values).all())
    # Labels without a maximum are refused by the check below, unless they are objects that are numbers.
    return check_labels(y, n_samples, max(int(values.max()) + 1, 1) if known else 2**31)
