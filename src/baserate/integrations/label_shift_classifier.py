"""LabelShiftClassifier: keeps any scikit-learn compatible classifier right while the class mix drifts."""

import copy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone  # type: ignore[import-untyped]
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]
from sklearn.frozen import FrozenEstimator  # type: ignore[import-untyped]
from sklearn.utils import _safe_indexing, get_tags, indexable  # type: ignore[import-untyped]
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping  # type: ignore[import-untyped]
from sklearn.utils.validation import _num_samples  # type: ignore[import-untyped]

from baserate.adapters import RegressAndReweight
from baserate.adapters.regress_and_reweight.late_labels import Ids, Labels
from baserate.class_labels import to_columns
from baserate.integrations._class_labels import (
    check_classes,
    check_every_class,
    check_target,
    check_targets,
    find_missing,
)
from baserate.integrations._holdout import (
    bare,
    check_model,
    check_routed,
    class_probabilities,
    cross_fitted,
    frozen_holdout,
    is_frozen,
    known_classes,
)
from baserate.integrations._running_adapter import RunningAdapter
from baserate.protocols import Calibrator, Classifier, FloatArray, Key, MarginalEstimator, Tracker
from baserate.state import Component
from baserate.state.declarations import (
    LONGEST,
    Either,
    Flag,
    Foreign,
    Maybe,
    Number,
    Part,
    Plain,
    Saved,
    SavedPart,
    Saves,
    Text,
    Whole,
)
from baserate.trackers.given import saved_tracker
from baserate.validation import check_fitted

_PASSED_ON = (
    "tracker", "marginals", "calibrator", "transductive", "floor", "bounds", "source_prior", "max_waiting", "gate",
    "alpha",
)  # fmt: skip


def _problem(saved: Saved) -> str:
    model = saved.params["estimator"]
    if "adapter_" not in saved.state or not isinstance(model, SavedPart):
        return ""
    if not model.state:
        return "is fitted, and its estimator is not"
    classes = model.state.get("classes_")
    if classes is None and vars(model.cls).get("saves") is not None and not hasattr(model.cls, "classes_"):
        return "has an estimator that does not say its classes"
    if classes is not None and len(classes) != saved.sizes.get("k", len(classes)):
        return "has an estimator of other classes"
    return ""


class LabelShiftClassifier(
    RunningAdapter,
    MetaEstimatorMixin,  # type: ignore[misc]  # scikit-learn ships no types
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    Component,
    saved_as="label_shift_classifier",
    layout=2,
):
    """Meta-classifier that adapts any model to the class mix of its stream, by `RegressAndReweight`.

    `predict` and `predict_proba` use the current class mix and change nothing; `partial_fit` updates the class mix with
    a batch of the stream, without labels or with those that are known, and never trains the model.

    Parameters
    ----------
    estimator : classifier with predict_proba
        If it is wrapped in scikit-learn's `FrozenEstimator`, it is used as it is, and `fit` takes a holdout: labelled
        samples that it was not trained on. Any other estimator is cloned and trained by `fit` on all samples, and the
        holdout is made by cross-fitting, from clones trained on other folds: this costs `cv` + 1 trainings. If a fitted
        model is not frozen, a warning says that it is trained anew.
    tracker, marginals, calibrator, transductive, floor, bounds, source_prior, max_waiting, gate, alpha
        As in `RegressAndReweight`, with classes in the order of `classes_`.
    target_prior : (k,) array, dict or float, optional
        A class mix that is known: in the order of `classes_`, by class label, or of two classes the share of the second
        one. Predictions are re-weighted to it in full, and nothing is tracked: `partial_fit` is refused, and `tracker`,
        `transductive` and `gate` have no effect. Default: the mix is tracked.
    cv : int, splitter or iterable of (train, test)
        The splits for cross-fitting; a whole number is the number of stratified folds. No sample may be tested twice;
        samples that are never tested (for example with `TimeSeriesSplit`) are only trained on.
    n_jobs : int, optional
        Number of trainings that may run at the same time.

    Attributes
    ----------
    classes_ : (k,) array
        The model's class labels, one per column of its probabilities.
    prior_ : (k,) array
        The current class mix.
    estimator_
        The fitted model.
    adapter_ : RegressAndReweight
        The adapter, with all its features: ``adapter_.enabled = False`` is shadow mode, ``adapter_.set_prior`` starts
        from a known class mix, ``adapter_.reset()`` forgets the stream.
    n_features_in_, feature_names_in_
        The model's, if it has them.
    assumption_evidence_, assumption_alarm_, fallback_active_, fallback_reason_, unknown_mass_
        Trust signals, as in `RegressAndReweight`.
    waiting_, missed_labels_
        The number of samples that wait for their labels, and of labels for samples that did not wait.

    Notes
    -----
    `baserate.save` writes everything but the model. Save the model separately, and pass it to ``baserate.load(path,
    estimator=model)``; the model is the one that was frozen, or else `estimator_`.

    Metadata such as `sample_weight` is passed to the estimator's `fit` by scikit-learn's metadata routing. The holdout
    is not weighted: a model that was trained with weights (or with `class_weight`) assumes another class mix than the
    holdout's, which the calibrator corrects.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> def mail(n, spam):
    ...     y = np.where(rng.random(n) < spam, "spam", "ham")
    ...     return rng.normal(size=(n, 2)) + 1.5 * (y == "spam")[:, np.newaxis], y
    >>> model = LogisticRegression().fit(*mail(1000, spam=0.1))
    >>> clf = LabelShiftClassifier(FrozenEstimator(model)).fit(*mail(1000, spam=0.1))
    >>> for _ in range(100):
    ...     clf = clf.partial_fit(mail(10, spam=0.8)[0])
    >>> print(clf.classes_, clf.prior_.round(1))
    ['ham' 'spam'] [0.2 0.8]
    >>> X, y = mail(1000, spam=0.8)
    >>> print(f"{model.score(X, y):.0%} right before, {clf.score(X, y):.0%} now")
    59% right before, 91% now
    """

    saves = Saves(
        params={
            "estimator": Either((Foreign(), Part(Classifier))),
            "tracker": saved_tracker({"k": "k"}),
            "marginals": Maybe(Part(MarginalEstimator)),
            "calibrator": Maybe(Either((Text(("auto",)), Part(Calibrator)))),
            "transductive": Flag(),
            "floor": Maybe(Number(0.0, 1.0)),
            "bounds": Maybe(Plain()),
            "source_prior": Maybe(Plain()),
            "target_prior": Maybe(Plain()),
            "max_waiting": Whole(),
            "gate": Flag(),
            "alpha": Maybe(Number(0.0, 1.0)),
            "cv": Maybe(Whole()),
            "n_jobs": Maybe(Whole(-LONGEST)),
        },
        state={"frozen": Flag(), "adapter_": Part(RegressAndReweight, {"k": "k"})},
        optional=("adapter_",),
        check=_problem,
    )

    def __init__(
        self,
        estimator: Any,
        *,
        tracker: Tracker | type[Tracker] | None = None,
        marginals: MarginalEstimator | None = None,
        calibrator: Calibrator | Literal["auto"] | None = "auto",
        transductive: bool = False,
        floor: float | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        source_prior: ArrayLike | None = None,
        target_prior: ArrayLike | Mapping[Any, float] | None = None,
        max_waiting: int = 10_000,
        gate: bool = True,
        alpha: float | None = 0.05,
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.tracker = tracker
        self.marginals = marginals
        self.calibrator = calibrator
        self.transductive = transductive
        self.floor = floor
        self.bounds = bounds
        self.source_prior = source_prior
        self.target_prior = target_prior
        self.max_waiting = max_waiting
        self.gate = gate
        self.alpha = alpha
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the adapter on a holdout, and start a new stream; train the model first, unless it is frozen.

        Parameters
        ----------
        X : whatever the estimator takes
            Samples: arrays, frames, sparse matrices, lists of text.
        y : (n,) array
            Their labels, none missing.
        **params
            Metadata for the estimator's `fit` and for the splitter, by metadata routing.
        """
        check_model(self.estimator)
        check_routed(params, self.estimator)
        labels = check_targets(y)
        if is_frozen(self.estimator):
            model, proba, columns = frozen_holdout(self.estimator.estimator, X, labels)
        else:
            model, proba, columns = cross_fitted(self, X, labels, params)
        check_every_class(columns, known_classes(model))
        adapter = RegressAndReweight(**{name: getattr(self, name) for name in _PASSED_ON})
        if self.target_prior is not None:
            target = check_target(self.target_prior, known_classes(model))
            adapter.set_params(tracker=None, transductive=False, gate=False)
        adapter.fit(proba, columns, names=known_classes(model).tolist())
        if self.target_prior is not None:
            adapter.set_prior(target)
        self.estimator_, self.adapter_ = model, adapter
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: ArrayLike | None = None, *, ids: Ids = None, y_probability: Labels = None
    ) -> Self:
        """Update the class mix with one batch of the stream; the very first call fits.

        Parameters
        ----------
        X : whatever the estimator takes
            Samples. An empty batch is a round without evidence.
        y : (n,) array, optional
            Labels where they are known. None, NaN, masked values and the number -1 mean that a label is missing, unless
            -1 is a class (which it is assumed to be if a first call trains the model and `classes` is not given). The
            first call needs some labels: it fits on the samples that have one, then updates with the others.
        classes : array, optional
            All class labels, for compatibility with other classifiers; they are only checked.
        ids : sequence of str or of int, optional
            An id for each sample, so that its label may be given later: see `update_labels`.
        y_probability : float or (n,) array, optional
            The probability with which each labelled sample was chosen (see `label_requests`); not in the first call.
        """
        self._check_tracking()
        if not hasattr(self, "adapter_"):
            if y_probability is not None:
                raise ValueError("y_probability is for labels of the stream; call fit on labelled samples first.")
            self._begin(X, y, classes, ids)
            return self
        if classes is not None:
            check_classes(classes, self.classes_)
        columns = None if y is None else to_columns(y, self.classes_.tolist(), _num_samples(X))
        self.adapter_.update(class_probabilities(self.estimator_, X), columns, ids=ids, y_probability=y_probability)
        return self

    def _begin(self, X: Any, y: Any, classes: ArrayLike | None, ids: Ids) -> None:
        check_model(self.estimator)
        if y is None:
            raise NotFittedError(
                "this LabelShiftClassifier is not fitted yet, and y is missing: give the first call labelled samples, "
                "or call fit."
            )
        X, y = indexable(X, y)
        n = _num_samples(X)
        if ids is not None and len(ids) != n:
            raise ValueError(f"ids has {len(ids)} entries; expected {n}, one per sample.")
        told: NDArray[Any] | None = None if classes is None else np.asarray(classes).ravel()
        if is_frozen(self.estimator):
            model_classes = known_classes(self.estimator.estimator)
            if told is not None:
                check_classes(told, model_classes)
            missing = find_missing(y, model_classes, n)
        else:
            missing = find_missing(y, told, n)
            if told is not None:
                check_classes(told, np.unique(_safe_indexing(y, np.flatnonzero(~missing))))
        known, rest = np.flatnonzero(~missing), np.flatnonzero(missing)
        then = copy.copy(self).fit(_safe_indexing(X, known), _safe_indexing(y, known))
        if len(rest):
            named = None if ids is None else [ids[int(i)] for i in rest]
            then.partial_fit(_safe_indexing(X, rest), ids=named)
        self.__dict__ = then.__dict__

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities under the current class mix, one column per class; changes nothing."""
        check_fitted(self, "adapter_")
        return self.adapter_.predict_proba(class_probabilities(self.estimator_, X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each sample under the current class mix; changes nothing."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def update_labels(self, ids: Sequence[Key], y: Any, *, y_probability: Labels = None) -> int:
        """Update with labels of samples of earlier rounds, by the ids that they had in `partial_fit`.

        Parameters
        ----------
        ids : sequence of str or of int
            The ids. Those that do not wait are counted in `missed_labels_`.
        y : (n,) array
            Their class labels.
        y_probability : float or (n,) array, optional
            As in `partial_fit`.

        Returns
        -------
        int
            Number of labels that were used.
        """
        check_fitted(self, "adapter_")
        self._check_tracking()
        columns = to_columns(y, self.classes_.tolist(), len(ids))
        return self.adapter_.update_labels(ids, columns, y_probability=y_probability)

    def _check_tracking(self) -> None:
        if self.target_prior is not None:
            raise ValueError(
                "target_prior is given: the class mix is known, and nothing is tracked. Only predict; to track the "
                "mix, call set_params(target_prior=None), then fit."
            )

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, (k,), one per column of the model's probabilities."""
        check_fitted(self, "adapter_")
        return known_classes(self.estimator_)

    @property
    def n_features_in_(self) -> int:
        """Number of features of the model."""
        check_fitted(self, "adapter_")
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the model's features."""
        check_fitted(self, "adapter_")
        return np.asarray(self.estimator_.feature_names_in_)

    def get_metadata_routing(self) -> Any:
        """Route metadata to the estimator's `fit` and to the splitter."""
        to_fit, to_split = (MethodMapping().add(caller="fit", callee=callee) for callee in ("fit", "split"))
        router = MetadataRouter(owner=type(self).__name__).add(estimator=self.estimator, method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(AttributeError, TypeError):  # a model without tags
            inner = get_tags(self.estimator)
            tags.input_tags = copy.deepcopy(inner.input_tags)
            tags.no_validation = inner.no_validation
            if inner.classifier_tags is not None:
                tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
                tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags

    def _to_saved(self) -> tuple[dict[str, Any], dict[str, Any]]:
        params, state = self.get_params(deep=False), self.get_state()
        if not (self.cv is None or isinstance(self.cv, int)):
            raise TypeError(f"cannot save cv = {self.cv!r}; it has no use after fit: call set_params(cv=5) before.")
        params["estimator"] = state.pop("estimator_", bare(self.estimator))
        if self.target_prior is not None and hasattr(self, "adapter_"):  # keys of a dict need not be text
            params["target_prior"] = check_target(self.target_prior, self.classes_)
        return params, {**state, "frozen": is_frozen(self.estimator)}

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        return {**params, "target_prior": None}, state

    @classmethod
    def _from_saved(cls, params: dict[str, Any], state: dict[str, Any]) -> Self:
        model, frozen, fitted = bare(params["estimator"]), state.pop("frozen"), "adapter_" in state
        params["estimator"] = FrozenEstimator(model) if frozen else clone(model) if fitted else model
        loaded = cls(**params).set_state(state)
        if fitted:
            loaded.estimator_ = model
        return loaded
