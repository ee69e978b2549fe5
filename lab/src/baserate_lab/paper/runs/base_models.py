"""Outputs of trained base models and inputs of their last layer, kept in memory between cells."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.integrations import LastLayer
from baserate.protocols import FloatArray, IntArray
from baserate_lab.datasets import WrongDataError
from baserate_lab.models import features, outputs
from baserate_lab.paper.runs import own


class BaseModel(NamedTuple):
    """Probabilities and labels of holdout and target; features and last layer if requested."""

    holdout: FloatArray
    holdout_y: IntArray
    target: FloatArray
    target_y: IntArray
    class_names: tuple[str, ...]
    layer: LastLayer | None = None
    holdout_features: NDArray[Any] | None = None
    target_features: NDArray[Any] | None = None


@lru_cache(maxsize=4)
def load(dataset: str, model: str, seed: int, train_share: float, with_features: bool) -> BaseModel:
    """Load the outputs of a base model, or train it; with features only on request, because they need the data."""
    if dataset == own.OWN:
        given = own.read(model)
        return BaseModel(*given[:5], given.layer, given.holdout_features, given.target_features)
    said = outputs(dataset, model, seed=seed, train_share=train_share, progress=False)
    found = BaseModel(said.holdout_proba, said.holdout_y, said.target_proba, said.target_y, said.class_names)
    if not with_features:
        return found
    seen = features(dataset, model, seed=seed, train_share=train_share, progress=False)
    if not (np.array_equal(seen.target_y, said.target_y) and np.array_equal(seen.holdout_y, said.holdout_y)):
        raise WrongDataError(
            f"the outputs of {dataset} {model} that come with the package are of other data than yours."
        )
    return found._replace(layer=seen.last_layer, holdout_features=seen.holdout, target_features=seen.target)


def choose_holdout(y: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """Rows of a part of the holdout with the same class mix, and one sample of each class if `size` allows.

    With the same generator, a smaller part lies within a larger one: all samples are put in one order, and a part is
    the beginning of it. The first sample of each class comes first; the others are spread evenly.
    """
    order = np.argsort(rng.random(len(y)))
    if size >= len(y):
        return np.arange(len(y))
    place = np.empty(len(y))
    for c in np.unique(y):
        members = order[y[order] == c]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
        place[members[0]] = 0.0
    return np.sort(np.lexsort((y, place))[:size])
