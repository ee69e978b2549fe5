"""Outputs of a trained model on holdout and target as one file: logits, labels, and how they were made."""

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from baserate.protocols import FloatArray, IntArray
from baserate.state import write_atomically
from baserate_lab.models._keeping import as_npz

COMMITTED = Path(__file__).with_name("outputs")
"""Files that come with the package."""

SIZE_LIMIT = 2_000_000
"""Largest size of a file of the package, in bytes."""


class Outputs(NamedTuple):
    """Outputs of a trained model, which are all that the re-weighting methods need.

    Attributes
    ----------
    holdout_logits, target_logits : (n, k) arrays of float32
        Their softmax is the model's probabilities. For a model with probabilities only they are log-probabilities;
        a probability of 0 becomes a logit of -10,000, which is finite and gives 0 again after the softmax.
    holdout_y, target_y : (n,) arrays of int64
        Labels; those of the target are in time order if `in_time_order`.
    class_names : tuple of str
        One name per class.
    provenance : str
        Source of the data.
    accuracy : float
        Accuracy on the target.
    in_time_order : bool
        True if the target is a real stream.
    stand_in_for : str or None
        The paper's data set that this one replaces.
    """

    holdout_logits: NDArray[np.float32]
    holdout_y: IntArray
    target_logits: NDArray[np.float32]
    target_y: IntArray
    class_names: tuple[str, ...]
    provenance: str
    accuracy: float
    in_time_order: bool
    stand_in_for: str | None

    @property
    def holdout_proba(self) -> FloatArray:
        """Probabilities of the holdout."""
        return np.asarray(softmax(self.holdout_logits.astype(np.float64), axis=1))

    @property
    def target_proba(self) -> FloatArray:
        """Probabilities of the target."""
        return np.asarray(softmax(self.target_logits.astype(np.float64), axis=1))


def to_bytes(outputs: Outputs, made_by: dict[str, Any]) -> bytes:
    """Bytes of a file of outputs.

    Parameters
    ----------
    outputs : Outputs
        The outputs.
    made_by : dict
        Origin: data set, model, kind, parameters, seed, command, versions.
    """
    k = len(outputs.class_names)
    if k > 256:
        raise ValueError(f"there are {k} classes; a file keeps labels in one byte, so at most 256.")
    metadata = {
        **made_by,
        "class_names": outputs.class_names,
        "provenance": outputs.provenance,
        "accuracy": outputs.accuracy,
        "in_time_order": outputs.in_time_order,
        "stand_in_for": outputs.stand_in_for,
    }
    arrays: dict[str, NDArray[Any]] = {
        "holdout_logits": outputs.holdout_logits,
        "holdout_y": outputs.holdout_y.astype(np.uint8),
        "target_logits": outputs.target_logits,
        "target_y": outputs.target_y.astype(np.uint8),
        "metadata": np.array(json.dumps(metadata, sort_keys=True)),
    }
    return as_npz(arrays, compressed=True)


def read(path: Path) -> tuple[Outputs, dict[str, Any]]:
    """Read outputs from a file, with their origin."""
    return from_bytes(path.read_bytes(), str(path))


def from_bytes(data: bytes, name: str) -> tuple[Outputs, dict[str, Any]]:
    """Read outputs from the bytes of a file called `name`, with their origin."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            metadata: dict[str, Any] = json.loads(str(stored["metadata"]))
            outputs = Outputs(
                stored["holdout_logits"],
                stored["holdout_y"].astype(np.int64),
                stored["target_logits"],
                stored["target_y"].astype(np.int64),
                tuple(metadata["class_names"]),
                metadata["provenance"],
                metadata["accuracy"],
                metadata["in_time_order"],
                metadata["stand_in_for"],
            )
        k = len(outputs.class_names)
        for logits, y in (outputs[:2], outputs[2:4]):
            if logits.shape != (len(y), k):
                raise ValueError(f"logits of shape {logits.shape} for {len(y)} labels of {k} classes")
    except Exception as error:  # a damaged archive can raise anything
        raise ValueError(f"{name} is damaged, or not a file of outputs ({error}); delete it.") from error
    return outputs, metadata


def file_name(dataset: str, model: str, seed: int) -> str:
    """Name of the file of one trained model; that of seed 0 does not name its seed."""
    return f"{dataset}-{model}.npz" if seed == 0 else f"{dataset}-{model}-seed{seed}.npz"


def commit(data: bytes, dataset: str, model: str, folder: Path = COMMITTED, *, seed: int = 0) -> Path:
    """Write a file for the package; refuses one that is too large."""
    if len(data) > SIZE_LIMIT:
        raise ValueError(
            f"the outputs of {dataset} {model} have {len(data):,} bytes; a file of the package has at most "
            f"{SIZE_LIMIT:,}. They are in the cache only."
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(dataset, model, seed)
    write_atomically(path, data)
    return path
