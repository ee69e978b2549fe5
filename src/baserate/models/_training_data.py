"""Checks of what base models are trained on, and that they were trained: their advice is not that of the adapters."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]

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


def check_finite(X: NDArray[Any]) -> NDArray[Any]:
    """The samples, if every one of their numbers is finite."""
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        bad = next(i for i, sample in enumerate(X) if not np.isfinite(sample).all())
        raise ValueError(f"X holds NaN or an infinity in sample {bad}; drop the sample or repair it.")
    return X


def check_trained(model: object, attribute: str) -> None:
    """Check that a base model was fitted."""
    if not hasattr(model, attribute):
        raise NotFittedError(
            f"this {type(model).__name__} is not fitted yet; fit it on the training data of the base model first."
        )
