"""Fingerprints of models of other libraries, which are not saved with an object."""

import sys
from typing import Any

import numpy as np


def _hash(model: Any) -> str:
    """Return joblib's hash, corrected so that it survives pickling."""
    from joblib.hashing import NumpyHasher  # type: ignore[import-untyped]  # slow to import, and seldom needed

    class ModelHasher(NumpyHasher):  # type: ignore[misc]  # joblib ships no types
        def save(self, obj: Any) -> None:
            if isinstance(obj, np.ma.MaskedArray):  # joblib cannot hash one, and the results of a search contain some
                obj = ("masked", np.array(obj.data), np.array(np.ma.getmaskarray(obj)))
            elif type(obj) is np.ndarray and not obj.dtype.hasobject:
                # joblib hashes strides, and those of an axis of length 1 do not survive pickling. A copy does not help,
                # because it does not keep the gaps in the records of a tree.
                columns_first = obj.flags.f_contiguous and not obj.flags.c_contiguous
                rows = obj.T if columns_first else obj
                rows = np.ascontiguousarray(rows).reshape(-1).reshape(rows.shape)
                obj = rows.T if columns_first else rows
            super().save(obj)

    return str(ModelHasher("md5").hash(model))


def fingerprint(model: Any) -> str:
    """Return a hash of a foreign model, to check on loading that it is the same; the same whether frozen or not."""
    frozen = sys.modules.get("sklearn.frozen")  # if it was never imported, this is none
    bare = model.estimator if frozen is not None and isinstance(model, frozen.FrozenEstimator) else model
    return f"{type(bare).__module__}.{type(bare).__qualname__}:{_hash(bare)}"
