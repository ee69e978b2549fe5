"""Outputs of a user's own model, taken in the place of the paper's data sets and base models.

A file is an npz archive with these arrays (m labelled samples of holdout, n of target, k classes):

- ``holdout_proba`` (m, k) or ``holdout_logits``, ``holdout_y`` (m,): samples that the model was not trained on
- ``target_proba`` (n, k) or ``target_logits``, ``target_y`` (n,): samples that streams are drawn from
- optional: ``in_time_order``, true if the target is a stream in its own order; ``class_names`` (k,)
- optional, for methods that update the last layer: ``holdout_features`` (m, d), ``target_features`` (n, d), ``coef``
  (k, d) and ``intercept`` (k,)

The files of the laboratory's own models have this format, too. A file that is taken is copied to the cache under a
name made of its contents, so that results of other contents are never mixed with these, and all processes find it.
"""

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from baserate.integrations import LastLayer
from baserate.protocols import FloatArray, IntArray
from baserate.state import write_atomically
from baserate.validation import check_all_classes_present, check_labels, check_proba
from baserate_lab.cache import cache_folder, cache_path
from baserate_lab.models._keeping import as_npz

OWN = "own"
"""Name of the data set of a user's own outputs."""

_LAYER = ("holdout_features", "target_features", "coef", "intercept")
_CLOSE = 1e-3  # of probabilities to those of features and layer, which may be in single precision


class OwnOutputs(NamedTuple):
    """Probabilities and labels of holdout and target; features and last layer if the file has them.

    `in_time_order` is true if the target is a stream in its own order.
    """

    holdout: FloatArray
    holdout_y: IntArray
    target: FloatArray
    target_y: IntArray
    class_names: tuple[str, ...]
    in_time_order: bool
    layer: LastLayer | None
    holdout_features: FloatArray | None
    target_features: FloatArray | None


def take(file: Path) -> str:
    """Check a file and copy it to the cache; returns the name under which `read` finds it.

    Raises
    ------
    ValueError
        If the file is not one of outputs; the message says what is wrong.
    """
    arrays = _arrays(file)
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.shape} {array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).data)
    name = f"{re.sub(r'[^A-Za-z0-9_.]+', '-', file.stem)}-{digest.hexdigest()[:12]}"
    write_atomically(cache_folder("reproduce", "own") / f"{name}.npz", as_npz(arrays))
    return name


@lru_cache(maxsize=2)
def read(name: str) -> OwnOutputs:
    """Read outputs that `take` has copied to the cache."""
    path = cache_path("reproduce", "own", f"{name}.npz")
    if not path.exists():
        raise FileNotFoundError(f"there are no outputs {name} in the cache; name their file again: --outputs FILE.npz.")
    with np.load(path, allow_pickle=False) as stored:
        arrays = dict(stored)
    layer = LastLayer(_no_features, arrays["coef"], arrays["intercept"]) if "coef" in arrays else None
    return OwnOutputs(
        arrays["holdout"],
        arrays["holdout_y"],
        arrays["target"],
        arrays["target_y"],
        tuple(str(c) for c in arrays["class_names"]),
        bool(arrays["in_time_order"]),
        layer,
        arrays.get("holdout_features"),
        arrays.get("target_features"),
    )


def _no_features(samples: Any) -> FloatArray:
    raise NotImplementedError("outputs of a file have features of their own samples only")


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    """Checked arrays of a user's file."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            given = dict(stored)
    except Exception as error:  # a damaged archive can raise anything
        raise ValueError(f"{file} is not a readable npz archive of plain arrays ({error}).") from error
    try:
        return _checked(given)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file}: {error}") from error


def _checked(given: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    if "metadata" in given:  # a file of the laboratory
        said = json.loads(str(given["metadata"]))
        given = {"class_names": np.array(said["class_names"]), "in_time_order": said["in_time_order"], **given}
    found: dict[str, NDArray[Any]] = {"in_time_order": np.array(bool(given.get("in_time_order", False)))}
    for part in ("holdout", "target"):
        found[part] = _proba(given, part)
        found[f"{part}_y"] = check_labels(_needed(given, f"{part}_y"), *found[part].shape)
        try:
            check_all_classes_present(found[f"{part}_y"], found[part].shape[1])
        except ValueError as error:
            raise ValueError(f"{part}_y: {error}") from error
    k = found["holdout"].shape[1]
    if found["target"].shape[1] != k:
        raise ValueError(f"the holdout has {k} classes, the target {found['target'].shape[1]}.")
    found["class_names"] = np.array([str(c) for c in given.get("class_names", range(k))])
    if len(found["class_names"]) != k:
        raise ValueError(f"class_names has {len(found['class_names'])} names for {k} classes.")
    if any(name in given for name in _LAYER):
        found |= _layer(given, found)
    return found


def _proba(given: dict[str, NDArray[Any]], part: str) -> FloatArray:
    if f"{part}_proba" in given:
        return check_proba(given[f"{part}_proba"])
    if f"{part}_logits" in given:
        logits = np.asarray(given[f"{part}_logits"], dtype=np.float64)
        if logits.ndim != 2 or not np.isfinite(logits).all():
            raise ValueError(f"{part}_logits must be a finite (n, k) array.")
        return check_proba(softmax(logits, axis=1))
    return np.asarray(_needed(given, f"{part}_proba"))


def _needed(given: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in given:
        raise ValueError(
            f"{name} is missing; expected holdout_proba (or holdout_logits), holdout_y, target_proba (or "
            f"target_logits) and target_y. It has: {', '.join(given) or 'nothing'}."
        )
    return given[name]


def _layer(given: dict[str, NDArray[Any]], found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    layer = {name: np.asarray(_needed(given, name), dtype=np.float64) for name in _LAYER}
    k, d = found["holdout"].shape[1], layer["coef"].shape[-1]
    shapes = {
        "coef": (k, d),
        "intercept": (k,),
        "holdout_features": (len(found["holdout_y"]), d),
        "target_features": (len(found["target_y"]), d),
    }
    for name, shape in shapes.items():
        if layer[name].shape != shape or not np.isfinite(layer[name]).all():
            raise ValueError(f"{name} has shape {layer[name].shape}; expected {shape} finite numbers.")
    for part in ("holdout", "target"):
        said = softmax(layer[f"{part}_features"] @ layer["coef"].T + layer["intercept"], axis=1)
        if (off := np.abs(said - found[part]).max()) > _CLOSE:
            raise ValueError(f"features, coef and intercept do not give the {part}'s probabilities (off by {off:.2g}).")
    return layer
