"""How learners treat the estimator they are given: never moved itself, and any of scikit-learn's kind."""

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
    """Check that there is something to train, by `method`, that gives probabilities."""
    needed = (method, "predict_proba") if method == "fit" else (method, "predict", "predict_proba")
    missing = [name for name in needed if not callable(getattr(estimator, name, None))]
    if isinstance(estimator, type) or missing:
        kind = f"the class {estimator.__name__}, not an instance" if isinstance(estimator, type) else repr(estimator)
        also = f" It has no {' and no '.join(missing)}." if missing else ""
        raise TypeError(f"estimator is {kind}; expected a classifier with {' and '.join(needed)}.{also}")


@contextmanager
def being_trained() -> Iterator[None]:
    """Around every training: Ctrl-C is Ctrl-C, also where scikit-learn's nets would take it for the end."""
    with warnings.catch_warnings():
        # The first rounds have fewer samples than a batch; the nets would say so every time.
        warnings.filterwarnings("ignore", message="Got `batch_size` less than 1 or larger than")
        with ctrl_c_gets_through():
            yield


def check_classes(model: Any, n_classes: int) -> None:
    """Check that a fitted model speaks of classes that there are."""
    known = np.asarray(model.classes_)
    if not np.isin(known, np.arange(n_classes)).all():
        raise ValueError(
            f"estimator gives probabilities of the classes {known.tolist()}; there are {n_classes}, 0 to "
            f"{n_classes - 1}."
        )


def weight_argument(estimator: Any) -> str | None:
    """The name under which `fit` takes the weights of samples; None if it takes none.

    A pipeline hands them to its last step, which may be a pipeline again.
    """
    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        name, last = estimator.steps[-1]
        inner = weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    parameters = inspect.signature(estimator.fit).parameters
    any_name = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return "sample_weight" if "sample_weight" in parameters or any_name else None


def iterations(model: Any) -> int:
    """How many iterations a fitted model says that it took; 0 if it does not say."""
    if isinstance(model, Pipeline):
        return iterations(model.steps[-1][1])
    return int(np.sum(getattr(model, "n_iter_", 0)))


def fresh(estimator: Any, rng: np.random.Generator) -> Any:
    """An untrained clone; where it was given no seed of its own, it gets one."""
    new = clone(estimator, safe=False)
    params = new.get_params() if hasattr(new, "get_params") else {}
    seeds = {
        name: int(rng.integers(2**31))
        for name in sorted(params)
        if name.rpartition("__")[2] == "random_state" and params[name] is None
    }
    return new.set_params(**seeds) if seeds else new


def class_probabilities(model: Any, X: NDArray[Any], seen: IntArray, prior: FloatArray) -> FloatArray:
    """Probabilities of all k classes, from a model that may not know all of them.

    A class without a column in the model's output has its share of `prior` in every row, and the others share the rest
    as the model says: without any samples so far (`seen` is empty) every row is `prior`. Without a model, one class has
    been seen, and is all that is known.
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
