"""river: keeps river classifiers right while the class mix drifts; and river classifiers for learners."""

import warnings
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]

from baserate.adapters import RegressAndReweight
from baserate.class_labels import is_missing
from baserate.guard import Guard
from baserate.integrations._progressive import Probabilities, ProgressiveHoldout, row_of
from baserate.integrations._river_estimator import RiverEstimator
from baserate.protocols import UNLABELLED, FloatArray, RestartableTracker
from baserate.validation import check_integer, warn_user

try:
    from river import base, linear_model, naive_bayes
except ModuleNotFoundError as error:
    if error.name != "river":
        raise
    raise ModuleNotFoundError("this needs river; run: pip install 'baserate[river]'", name="river") from error

__all__ = ["RiverEstimator", "RiverLabelShift"]

_PER_CLASS = 10
"""Number of labelled samples from which on a class is adapted."""


class RiverLabelShift(base.Wrapper, base.Classifier):  # type: ignore[type-arg]
    """A river classifier whose probabilities follow the current class mix, even without labels.

    The classifier learns from labelled samples as usual. Its prediction for each of them before learning is kept with
    the label: the last such pairs are a holdout that it was not trained on. An adapter is fitted on this holdout, again
    and again as the classifier changes, and continues with the class mix tracked so far. Every sample updates the mix,
    and most need no label: ``learn_one(x)``.

    **Start.** Until there are `warm_up` pairs, with 10 of each of two classes, predictions are the classifier's own,
    and unlabelled samples are ignored, because the classifier's errors are not known yet. A class with fewer than 10
    pairs keeps the classifier's probability, and only the others are adapted. It is included at the next refit after
    its tenth pair.

    **The classifier's class mix.** The probabilities of an online classifier assume some class mix, that of the samples
    it has learned and not forgotten. It need not be known: calibration on the holdout makes the probabilities right for
    the holdout's mix. With ``calibrator=None`` in `adapter` the two mixes must be the same.

    Parameters
    ----------
    classifier : river.base.Classifier
        Any classifier or pipeline with probabilities.
    adapter : RegressAndReweight, optional
        The adapter. It is cloned. Default: ``RegressAndReweight()``.
    holdout_size : int
        Number of pairs to keep. If the classifier learns fast, old pairs are outdated: keep fewer.
    warm_up : int
        Number of pairs before adapting begins.
    refit_every : int
        Number of labelled samples between refits of the adapter on the holdout.
    round_size : int
        Number of samples in a round. With the default tracker one is enough; trackers that need estimates of the class
        mix, such as `FLHFTL`, need about ten or more.
    track_labelled : bool
        If True, labelled samples update the class mix, too. Use ``False`` if each of them was passed without its label
        before (it would count twice), or if the labelled samples are not representative, such as complaints only.

    Attributes
    ----------
    adapter_ : RegressAndReweight or None
        The fitted adapter; None before adapting begins.
    refusal_ : str
        The reason why the last refit failed (for example classes that the classifier does not tell apart); empty if it
        did not. The adapter is then used as before, and there is a warning the first time.

    Notes
    -----
    Save it by pickle, like all river models. A sample takes about 50 to 100 microseconds more than the classifier and
    one more prediction by it, a refit about 30 to 60 milliseconds. Memory is that of `holdout_size` dicts. A refit
    restarts the adapter's gate and its check of label shift, which depend on the current classifier.

    Examples
    --------
    A classifier learns from labels for a while; then there are none, and the mix changes:

    >>> import random
    >>> from river import naive_bayes
    >>> rng = random.Random(0)
    >>> def sample(share):
    ...     y = rng.random() < share
    ...     return {"a": rng.gauss(2.0 * y, 1.0)}, y
    >>> model = RiverLabelShift(naive_bayes.GaussianNB())
    >>> for _ in range(1000):
    ...     model.learn_one(*sample(share=0.5))
    >>> for _ in range(500):
    ...     x, _ = sample(share=0.95)
    ...     model.learn_one(x)
    >>> round(model.prior_[True], 1)
    0.9
    >>> unsure = {"a": 0.8}
    >>> model.classifier.predict_one(unsure), model.predict_one(unsure)
    (False, True)
    """

    def __init__(
        self,
        classifier: base.Classifier,
        adapter: RegressAndReweight | None = None,
        holdout_size: int = 1000,
        warm_up: int = 200,
        refit_every: int = 100,
        round_size: int = 1,
        track_labelled: bool = True,
    ) -> None:
        if isinstance(classifier, type) or not hasattr(classifier, "predict_proba_one"):  # a pipeline may be one
            raise TypeError(f"classifier is {classifier!r}; expected a classifier of river, with probabilities.")
        if not (adapter is None or isinstance(adapter, RegressAndReweight)):
            raise TypeError(f"adapter is {adapter!r}; expected a RegressAndReweight, or None.")
        check_integer(holdout_size, "holdout_size", 2 * _PER_CLASS)
        check_integer(warm_up, "warm_up", 2 * _PER_CLASS)
        check_integer(refit_every, "refit_every", 1)
        check_integer(round_size, "round_size", 1)
        self.classifier = classifier
        self.adapter = adapter
        self.holdout_size = holdout_size
        self.warm_up = warm_up
        self.refit_every = refit_every
        self.round_size = round_size
        self.track_labelled = track_labelled
        self.adapter_: RegressAndReweight | None = None
        self.refusal_ = ""
        self._classes: list[Hashable] = []  # adapted classes, in the order of the adapter's columns
        self._columns: dict[Hashable, int] = {}
        self._holdout = ProgressiveHoldout(holdout_size, _PER_CLASS)
        self._refit_at = warm_up
        self._round: list[tuple[FloatArray, int]] = []  # samples that wait for the others of their round
        self.guard = Guard()

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.classifier

    @property
    def prior_(self) -> dict[Hashable, float]:
        """The current class mix of the adapted classes; empty before adapting begins."""
        if self.adapter_ is None:
            return {}
        return dict(zip(self._classes, self.adapter_.prior_.tolist(), strict=True))

    def learn_one(self, x: dict[Any, Any], y: Any = None, **kwargs: Any) -> None:
        """Learn from a sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            Its label. A sample without one (None, the default, or NaN) only updates the class mix.
        **kwargs
            Passed to the classifier's `learn_one`, if there is a label.
        """
        with self.guard:
            self._learn(x, None if is_missing(y) else y, kwargs)

    def _learn(self, x: dict[Any, Any], y: Any, kwargs: dict[str, Any]) -> None:
        proba = self.classifier.predict_proba_one(x)
        if y is not None:
            self.classifier.learn_one(x, y, **kwargs)
            if y in proba:  # otherwise the classifier did not know the class, and made no prediction for it
                self._holdout.add(proba, y)
        if y is None or self.track_labelled:
            self._track(proba, y)
        if y is not None and self._holdout.n_seen >= self._refit_at:
            self._refit()

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> Probabilities:
        """Return the probability of each label under the current class mix."""
        with self.guard:
            return self._adapted(x, kwargs)

    def _adapted(self, x: dict[Any, Any], kwargs: dict[str, Any]) -> Probabilities:
        proba: Probabilities = self.classifier.predict_proba_one(x, **kwargs)
        row = row_of(proba, self._classes)
        if self.adapter_ is None or row is None:
            return proba
        share = min(sum(proba.get(label, 0.0) for label in self._classes), 1.0)
        adapted = np.minimum(share * self.adapter_.predict_proba(row[np.newaxis])[0], 1.0).tolist()
        return {**proba, **dict(zip(self._classes, adapted, strict=True))}

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the most probable label; None before the first label."""
        proba = self.predict_proba_one(x, **kwargs)
        return max(proba, key=lambda label: proba[label]) if proba else None

    def _track(self, proba: Probabilities, label: Any) -> None:
        """Update the class mix with a sample, if it may be of an adapted class."""
        if self.adapter_ is None:
            return
        if label is None:
            if not proba or max(proba, key=lambda name: proba[name]) not in self._columns:
                return
            column = UNLABELLED
        else:
            if label not in self._columns:
                return
            column = self._columns[label]
        row = row_of(proba, self._classes)
        if row is not None:
            self._round.append((row, column))
        if len(self._round) >= self.round_size:
            self._end_round()

    def _end_round(self) -> None:
        if self.adapter_ is not None and self._round:
            self.adapter_.update(np.array([row for row, _ in self._round]), [column for _, column in self._round])
        self._round = []

    def _refit(self) -> None:
        """Refit the adapter on the holdout; if that fails, keep the old one."""
        self._refit_at = self._holdout.n_seen + self.refit_every
        classes = [*self._classes, *(label for label in self._holdout.classes() if label not in self._columns)]
        if len(classes) < 2:
            return
        try:
            with warnings.catch_warnings():
                # A small holdout would cause a warning at every refit.
                warnings.simplefilter("ignore", UserWarning)
                self._fit_adapter(classes)
        except ValueError as error:
            if not self.refusal_:
                go_on = "stay the classifier's own" if self.adapter_ is None else "are adapted as before"
                warn_user(f"the adapter cannot use the last labelled samples, and predictions {go_on}: {error}")
            self.refusal_ = str(error)
        else:
            self.refusal_ = ""

    def _fit_adapter(self, classes: list[Hashable]) -> None:
        """Fit a new adapter on the holdout, with new classes if there are any, from the mix so far."""
        if self.adapter_ is not None and len(classes) == len(self._classes):
            self.adapter_.refit(*self._holdout.samples(classes))
            return
        adapter = RegressAndReweight() if self.adapter is None else clone(self.adapter)
        adapter.fit(*self._holdout.samples(classes))
        self._end_round()  # its rows lack the columns of new classes
        if self.adapter_ is not None and isinstance(adapter.tracker_, RestartableTracker):
            mix, n_old = adapter.prior_, len(self._classes)
            mix[:n_old] = self.adapter_.prior_ * mix[:n_old].sum()
            adapter.set_prior(mix)
        self.adapter_, self._classes = adapter, classes
        self._columns = {label: column for column, label in enumerate(classes)}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": linear_model.LogisticRegression(), "warm_up": 50}
        yield {"classifier": naive_bayes.GaussianNB(), "warm_up": 50, "refit_every": 20}  # type: ignore[no-untyped-call]
