"""Handwritten digits, 8 x 8 pixels, 1,797 images: the data set that ships with scikit-learn."""

import numpy as np
from sklearn.datasets import load_digits  # type: ignore[import-untyped]
from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]

from baserate.datasets._dataset import Dataset


def load() -> Dataset:
    """Load the data, two thirds as source and one third as target, stratified and always the same.

    Examples
    --------
    >>> data = load()
    >>> data.source_X.shape, data.target_X.shape
    ((1198, 64), (599, 64))
    """
    images, labels = load_digits(return_X_y=True)
    source_X, target_X, source_y, target_y = train_test_split(
        images / 16.0, labels.astype(np.int64), test_size=1 / 3, stratify=labels, random_state=0
    )
    return Dataset(
        source_X,
        source_y,
        target_X,
        target_y,
        class_names=tuple("0123456789"),
        provenance="Optical Recognition of Handwritten Digits (UCI), the part that ships with scikit-learn.",
    )
