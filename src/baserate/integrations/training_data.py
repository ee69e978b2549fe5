"""Checks of training data and of fitted models, with other advice than the checks of adapters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]


def check_finite(X: NDArray[Any]) -> NDArray[Any]:
    """Return the samples, if all their numbers are finite."""
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
