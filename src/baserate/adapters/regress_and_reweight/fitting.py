"""Fitting: everything that RegressAndReweight learns from a holdout before the first round."""

import copy
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._sightings import fit_marginals, needs_labels, new_marginals, sigma_min
from baserate.adapters._source import Source, learn_source
from baserate.adapters.regress_and_reweight.columns import NamedHoldout
from baserate.adapters.regress_and_reweight.correction import Correction
from baserate.adapters.regress_and_reweight.holdout_margin import holdout_margin
from baserate.class_labels import called
from baserate.protocols import BindableTracker, ConfusionEstimator, TolerantTracker, Tracker
from baserate.trackers import LikelihoodMixture
from baserate.trackers.given import new_tracker, reads_estimates
from baserate.trust import HoldoutWarning, health
from baserate.trust.column_order import check_column_order
from baserate.trust.copied_rows import Distinct, distinct_rows
from baserate.trust.health import CONFUSED
from baserate.trust.monitor import TrustMonitor
from baserate.validation import check_limits, check_option, warn_user


class Parts(NamedTuple):
    """The fitted parts of an adapter; the correction has not begun a stream yet."""

    source: Source
    tracker: Tracker
    marginals: Any
    correction: Correction
    monitor: TrustMonitor


def fit_parts(params: dict[str, Any], holdout: NamedHoldout, running: Tracker | None) -> Parts:
    """Fit every part on a holdout; refuses before anything that runs is touched.

    Parameters
    ----------
    params : dict
        The parameters of the adapter.
    holdout : NamedHoldout
        The holdout.
    running : Tracker, optional
        The tracker to go on with; a copy of it does. Default: a new one, as the parameters say.
    """
    gate, alpha = params["gate"], params["alpha"]
    check_option(gate, "gate", [True, False])
    if gate and alpha is None:
        raise ValueError("alpha is None, and the gate needs it; give a number such as 0.05, or set gate=False.")
    marginals = _new_marginals(params, running)
    if holdout.y is None and marginals is not None and needs_labels(marginals):
        raise ValueError(
            f"y is missing: {type(marginals).__name__} needs a labelled holdout. Give one, or use an estimator "
            "that works without."
        )
    source = learn_source(holdout.proba, holdout.y, params["source_prior"], params["calibrator"], holdout.names)
    k = len(source.prior)
    if source.raw is not None and source.labels is not None:
        check_column_order(source.raw, source.labels, holdout.names, sorted_labels=holdout.classes is not None)
    if running is not None and k != len(running.predict()):
        raise ValueError(
            f"proba has {k} columns; expected {len(running.predict())}, the classes that are being tracked. To "
            "go on with other classes, say which they were (previous=...); to start anew, call fit."
        )
    bounds = check_limits(params["bounds"], params["floor"], k)
    if marginals is not None:
        fit_marginals(marginals, source.prior, source.calibrated, source.labels)
    tracker = _new_tracker(params["tracker"], k) if running is None else copy.deepcopy(running)
    if isinstance(tracker, BindableTracker):
        tracker.bind(prior=source.prior, sigma_min=sigma_min(marginals))
    if running is None:
        tracker.reset()
    _tolerate(source, tracker, marginals, params["source_prior"], holdout.names)
    whole = source.labels is not None and np.bincount(source.labels, minlength=k).min() > 0
    raw, calibrated, labels = (source.raw, source.calibrated, source.labels) if whole else (None, None, None)
    correction = Correction(gate, alpha).fit(source.prior, bounds, calibrated, labels)
    if raw is not None and calibrated is not None and labels is not None:
        found = distinct_rows(raw, labels)
        _warn_of_copies(found, holdout.names)
        raw, calibrated, labels = raw[found.rows], calibrated[found.rows], labels[found.rows]
    monitor = TrustMonitor(alpha).fit(raw, calibrated, labels, source.prior, tracker, holdout.names)
    if monitor.checks_ and monitor.untested_:
        warn_user(f"whether anything but the class mix changes cannot be tested: {monitor.untested_}", HoldoutWarning)
    return Parts(source, tracker, marginals, correction, monitor)


def _warn_of_copies(found: Distinct, names: Sequence[Any] | None) -> None:
    copied = np.flatnonzero(found.copies)
    if len(copied) == 0:
        return
    named = ", ".join(f"{found.copies[c]} of class {called(c, names)}" for c in copied[:8].tolist())
    warn_user(
        f"{found.copies.sum()} rows of the holdout are copies of others ({named}{', ...' if len(copied) > 8 else ''}). "
        "They are counted once where it matters how certain something is. Fit on the rows as they were, without "
        "copies; if classes were balanced on purpose, give the class mix of the training data as source_prior.",
        HoldoutWarning,
    )


def _tolerate(
    source: Source, tracker: Tracker, marginals: Any, source_prior: ArrayLike | None, names: Sequence[Any] | None
) -> None:
    """Tell the tracker which differences from the source the holdout cannot tell from faults, and the user the rest."""
    if source.raw is None or source.calibrated is None or source.labels is None:
        return
    margin = holdout_margin(source.calibrated, source.labels, source.prior, sampled=source_prior is None)
    if isinstance(tracker, TolerantTracker):
        tracker.tolerate(margin)
    likelihood = not reads_estimates(tracker)
    told = health(
        source.raw, source.labels, source.calibrated, None, margin, source_prior, names, likelihood=likelihood
    )
    for problem in told:
        if problem.kind != CONFUSED or not isinstance(marginals, ConfusionEstimator):  # or it has been said already
            warn_user(problem.message, HoldoutWarning)


def _new_marginals(params: dict[str, Any], running: Tracker | None) -> Any:
    """An unfitted estimator; none by default where the tracker does not read estimates."""
    given = params["tracker"] if running is None else running
    if params["marginals"] is None and (given is None or not reads_estimates(given)):
        return None
    return new_marginals(params["marginals"])


def _new_tracker(given: Tracker | type[Tracker] | None, n_classes: int) -> Tracker:
    tracker = new_tracker(LikelihoodMixture if given is None else given, n_classes, "the holdout")
    _check_update(tracker)
    return tracker


def _check_update(tracker: Tracker) -> None:
    """Check that a tracker can be told the samples behind an estimate."""
    try:
        inspect.signature(tracker.update).bind(None, None)
    except TypeError:
        raise TypeError(
            f"tracker is a {type(tracker).__name__}, whose method update{inspect.signature(tracker.update)} does not "
            "take the evidence; write it as update(self, z, evidence=None)."
        ) from None
    except ValueError:
        return  # compiled without a signature: nothing to check
