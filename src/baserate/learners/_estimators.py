"""Checks and uses of the scikit-learn compatible estimator that a learner is given."""

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config  # type: ignore[import-untyped]
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]

from baserate.interrupts import ctrl_c_gets_through
from baserate.protocols import FloatArray, IntArray
from baserate.simplex import normalise
from baserate.validation import check_proba


def check_estimator(estimator: Any, method: str) -> None:
    """Check that an estimator can be trained by `method` and gives probabilities."""
    needed = (method, "predict_proba") if method == "fit" else (method, "predict", "predict_proba")
    missing = [name for name in needed if not callable(getattr(estimator, name, None))]
    if isinstance(estimator, type) or missing:
        kind = f"the class {estimator.__name__}, not an instance" if isinstance(estimator, type) else repr(estimator)
        also = f" It has no {' and no '.join(missing)}." if missing else ""
        raise TypeError(f"estimator is {kind}; expected a classifier with {' and '.join(needed)}.{also}")


@contextmanager
def being_trained() -> Iterator[None]:
    """Let Ctrl-C interrupt a training, where scikit-learn's networks would only end it; silence a warning."""
    with warnings.catch_warnings():
        # In the first rounds there are fewer samples than in a batch, of which the networks would warn every time.
        warnings.filterwarnings("ignore", message="Got `batch_size` less than 1 or larger than")
        with ctrl_c_gets_through():
            yield


def check_classes(model: Any, n_classes: int) -> None:
    """Check that the classes of a fitted model exist."""
    known = np.asarray(model.classes_)
    if not np.isin(known, np.arange(n_classes)).all():
        raise ValueError(
            f"estimator gives probabilities of the classes {known.tolist()}; there are {n_classes}, 0 to "
            f"{n_classes - 1}."
        )


def weight_argument(estimator: Any) -> str | None:
    """Return the name under which `fit` takes sample weights; None if it takes none.

    A pipeline passes them to its last step, which may be a pipeline again.
    """
    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        name, last = estimator.steps[-1]
        inner = weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    parameters = inspect.signature(estimator.fit).parameters
    any_name = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return "sample_weight" if "sample_weight" in parameters or any_name else None


def iterations(model: Any) -> int:
    """Return the number of iterations that a fitted model reports; 0 if it does not."""
    if isinstance(model, Pipeline):
        return iterations(model.steps[-1][1])
    return int(np.sum(getattr(model, "n_iter_", 0)))


def fresh(estimator: Any, rng: np.random.Generator) -> Any:
    """Return an untrained clone, with a seed if it has none."""
    new = clone(estimator, safe=False)
    params = new.get_params() if hasattr(new, "get_params") else {}
    seeds = {
        name: int(rng.integers(2**31))
        for name in sorted(params)
        if name.rpartition("__")[2] == "random_state" and params[name] is None
    }
    return new.set_params(**seeds) if seeds else new


def class_probabilities(model: Any, X: NDArray[Any], seen: IntArray, prior: FloatArray) -> FloatArray:
    """Return probabilities of all k classes, from a model that may not know all of them.

    A class without a column in the model's output gets its share of `prior` in every row, and the model's probabilities
    are scaled to the rest. Without any samples so far (`seen` is empty) every row is `prior`. Without a model, all of
    the rest goes to the single class seen so far.
    """
    proba = np.tile(prior, (len(X), 1))
    if len(seen) == 0 or len(X) == 0:
        return proba
    known = seen if model is None else np.asarray(model.classes_, dtype=np.int64)
    rest = 1.0 - np.delete(prior, known).sum()
    rows = np.ones((len(X), 1)) if model is None else model.predict_proba(X)
    checked = check_proba(np.asarray(rows, dtype=np.float64), len(known), "the estimator's output")
    proba[:, known] = max(rest, 0.0) * normalise(checked)
    return proba
