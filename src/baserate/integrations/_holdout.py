"""Holdout for `LabelShiftClassifier`: given, for a frozen model, or made by cross-fitting."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, clone  # type: ignore[import-untyped]
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]
from sklearn.frozen import FrozenEstimator  # type: ignore[import-untyped]
from sklearn.model_selection import StratifiedKFold, check_cv  # type: ignore[import-untyped]
from sklearn.utils import _safe_indexing, get_tags, indexable  # type: ignore[import-untyped]
from sklearn.utils.metadata_routing import process_routing  # type: ignore[import-untyped]
from sklearn.utils.parallel import Parallel, delayed  # type: ignore[import-untyped]
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    _check_method_params,
    _num_samples,
    check_is_fitted,
)

from baserate.class_labels import shown, to_columns
from baserate.protocols import FloatArray, IntArray
from baserate.validation import check_integer, check_proba, warn_user


class Holdout(NamedTuple):
    """A fitted model, and probabilities on labelled samples that it, or a clone of it, was not trained on."""

    model: Any
    proba: FloatArray
    columns: IntArray


def check_model(estimator: Any) -> None:
    """Check that an estimator is a classifier with probabilities."""
    if isinstance(estimator, type):
        raise TypeError(f"estimator is the class {estimator.__name__}, not an instance; construct it first.")
    missing = [name for name in ("fit", "predict_proba") if not callable(getattr(estimator, name, None))]
    if missing:
        raise TypeError(
            f"estimator is {estimator!r}, which has no {' and no '.join(missing)}; expected a classifier with "
            "probabilities. sklearn.calibration.CalibratedClassifierCV makes one of a classifier that has "
            "decision_function only."
        )


def class_probabilities(model: Any, X: Any) -> FloatArray:
    """Return a fitted model's probabilities of samples, of which there may be none."""
    k = len(known_classes(model))
    if _num_samples(X) == 0:
        return np.empty((0, k))
    return check_proba(model.predict_proba(X), k, "the estimator's output")


def known_classes(model: Any) -> NDArray[Any]:
    """Return the classes of a fitted model, one per column of its probabilities."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise TypeError(
            f"{type(model).__name__} has no classes_, which say what its columns mean; give it the attribute: an array "
            "with the label of each column."
        )
    return np.asarray(classes)


def frozen_holdout(model: Any, X: Any, y: NDArray[Any]) -> Holdout:
    """Make a holdout of samples for a model that is fitted already."""
    if hasattr(model, "__sklearn_tags__") and not _is_fitted(model):
        raise NotFittedError(
            f"estimator is a frozen {type(model).__name__} that was never fitted; fit it first, or give it unfrozen."
        )
    proba = class_probabilities(model, X)
    return Holdout(model, proba, to_columns(y, known_classes(model).tolist(), len(proba)))


def cross_fitted(owner: Any, X: Any, y: NDArray[Any], params: dict[str, Any]) -> Holdout:
    """Train the owner's estimator on all samples, and make the holdout from clones trained on other folds.

    scikit-learn's `cross_val_predict` is not used, because it replaces labels by class numbers: ``class_weight={"spam":
    5}`` would fail.
    """
    _warn_of_retraining(owner.estimator)
    _check_sizes(y)
    X, y = indexable(X, y)
    routed = process_routing(owner, "fit", **params)
    split_params = routed.splitter.split if params else {}
    fit_params = routed.estimator.fit if params else {}
    model = clone(owner.estimator).fit(X, y, **fit_params)
    classes = known_classes(model)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class in y has only")  # see _check_sizes
        splits = list(_splitter(owner.cv, y).split(X, y, **split_params))
    parts = Parallel(n_jobs=owner.n_jobs)(
        delayed(_fit_and_predict)(clone(owner.estimator), X, y, train, test, fit_params, classes)
        for train, test in splits
    )
    tested = np.concatenate([test for _, test in splits])
    if len(np.unique(tested)) < len(tested):
        raise ValueError(f"cv is {owner.cv!r}, which tests some samples more than once; use one that does not.")
    order = np.argsort(tested)
    return Holdout(model, np.concatenate(parts)[order], to_columns(y, classes.tolist(), len(y))[tested[order]])


def check_routed(params: dict[str, Any], estimator: Any) -> None:
    """Check that metadata can be routed to the estimator's `fit`."""
    if params and is_frozen(estimator):
        raise ValueError(
            f"fit got {', '.join(params)}, but the estimator is frozen: it is not trained. Leave that out."
        )
    if params and not get_config()["enable_metadata_routing"]:
        raise ValueError(
            f"fit got {', '.join(params)}; what is meant for the estimator has to be routed to it: call "
            "sklearn.set_config(enable_metadata_routing=True), and on the estimator "
            f"set_fit_request({next(iter(params))}=True)."
        )


def _fit_and_predict(
    model: Any, X: Any, y: NDArray[Any], train: Any, test: Any, params: dict[str, Any], classes: NDArray[Any]
) -> FloatArray:
    left_out = np.setdiff1d(y, y[train])
    if len(left_out):
        raise ValueError(
            f"cv leaves no sample of {shown(left_out.tolist())} to train on; use folds that have every class, such as "
            "sklearn.model_selection.StratifiedKFold."
        )
    model.fit(_safe_indexing(X, train), y[train], **_check_method_params(X, params, train))
    own = known_classes(model)
    proba = np.zeros((len(test), len(classes)))
    proba[:, to_columns(own, classes.tolist(), len(own))] = class_probabilities(model, _safe_indexing(X, test))
    return proba


def _splitter(cv: Any, y: NDArray[Any]) -> Any:
    if isinstance(cv, int | np.integer) or cv is None:
        folds = check_integer(5 if cv is None else cv, "cv", 2)
        # There cannot be more folds than samples in every class. With more folds than samples of one class, some test
        # parts lack it, but no training part does.
        return StratifiedKFold(min(folds, int(np.unique(y, return_counts=True)[1].max())))
    return check_cv(cv, y, classifier=True)


def _check_sizes(y: NDArray[Any]) -> None:
    classes, counts = np.unique(y, return_counts=True)
    single = classes[counts == 1].tolist()
    if single:
        raise ValueError(
            f"y has only one sample of {shown(single)}; training and holdout each need every class. Give at least two "
            "samples of each class, or leave the class out."
        )


def _is_fitted(estimator: BaseEstimator) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _warn_of_retraining(estimator: Any) -> None:
    if hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).requires_fit and _is_fitted(estimator):
        warn_user(
            f"the {type(estimator).__name__} is fitted already, and a copy of it is now trained anew on the samples "
            "given to fit. To keep it as it is, wrap it: LabelShiftClassifier(sklearn.frozen.FrozenEstimator(model)), "
            "and give fit labelled samples that it was not trained on."
        )


def bare(estimator: Any) -> Any:
    """Return the model itself, frozen or not."""
    return estimator.estimator if is_frozen(estimator) else estimator


def is_frozen(estimator: Any) -> bool:
    """Return whether an estimator is frozen, and so must not be trained."""
    return isinstance(estimator, FrozenEstimator)
