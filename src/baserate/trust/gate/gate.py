"""Gate: decides without labels how much of a correction is used, and when to fall back to the uncorrected model."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray, IntArray
from baserate.state import Component, declarations
from baserate.state.declarations import (
    LONGEST,
    Flag,
    Maybe,
    Number,
    Saved,
    Saves,
    Text,
    Whole,
    flags,
    priors,
    probabilities,
)
from baserate.trust._kept_holdout import fits_holdout, subsample
from baserate.trust.gate.rehearsal import WEIGHTS, rehearse
from baserate.validation import (
    LEAST_PRIOR,
    check_fitted,
    check_holdout,
    check_integer,
    check_prior,
)

REPEATS = "samples that follow each other repeat each other"
IN_DOUBT = 0.5
"""Largest part of the correction that is used during an alarm."""
_IN_DOUBT_EXPLAINED = 0.75  # the same while a class mix explains nearly all of a large change
FAR = 0.1
"""Total variation distance from the mix of the last rehearsal beyond which its result no longer applies."""
MOVED = 0.02
"""Total variation distance from the mix of the last rehearsal that triggers a new one."""
_ROWS, _ROWS_PER_CLASS = 1000, 4  # of the holdout that a rehearsal uses: about a tenth of a millisecond
_CLOSED, _OPEN = 0.25, 0.5  # parts of the correction at which the fallback begins, and ends
_SHIFTED = 0.05  # total variation distance from the source prior, below which there is no correction to hold back
_FEW = 5  # samples of a class in the holdout, below which a rehearsal is not reliable
_THIN = 15  # the same, below which several classes are hard to tell from each other
_UNTOLD = 0.05  # largest share of all samples that may move to such classes
_SHORTEST = 50  # least duration of an alarm, in rounds
_LONGEST = 500  # largest number of rounds before an alarm that its duration is derived from


def alarm_lasts(took: IntArray | int, before: IntArray | int) -> IntArray:
    """Return how many rounds an alarm lasts that took so many to come, given how long the last one lasted."""
    longer = np.maximum(2 * np.minimum(took, _LONGEST), 2 * np.asarray(before))
    return np.asarray(np.clip(longer, _SHORTEST, LONGEST), dtype=np.int64)


def _fits_together(saved: Saved) -> str:
    state = saved.state
    if state["weight_"] not in WEIGHTS or state["_rehearsed"] not in WEIGHTS:
        return "has a weight that a gate does not choose"
    if state["active_"] != bool(state["reason_"]) or state["active_"] != (state["since_"] is not None):
        return "holds the correction back without a reason, or the other way round"
    if max(state["since_"] or 0, state["_closed_at"], state["_check_began"]) > state["rounds_"]:
        return "remembers rounds that are yet to come"
    return fits_holdout(saved) if saved.sizes["rows"] else ""


class Gate(Component, saved_as="gate", layout=2):
    r"""Decides how much of a correction is used: all of it, less if it is in doubt, or none.

    The prior to predict with is ``tracked ** weight_ * source ** (1 - weight_)``, normalised: `weight_` is the part of
    the correction in log-odds. The first of these rules that applies decides:

    1. *Dependence*: correlated samples (`SerialDependence`) are weak evidence of a class mix, or none. While they are
       correlated, the correction is switched off.
    2. *An alarm* of `AssumptionCheck` leaves at most half of the correction. It ends when a fresh check has been silent
       for twice as many rounds as the alarm took to come (at most 1,000), or twice as long as the last time. It leaves
       half because, on streams of independent samples that were not label shift, half of the correction still did more
       good than harm, and all of it did not. Three quarters are left while a class mix explains nearly all of a large
       change (`ExplainedShare`): then most of what happens is label shift. Nothing is left while it explains hardly any
       of one: there is no shift to correct, and a tracked mix that is far off only repeats what is broken.
    3. *A rehearsal* of the correction on the labelled holdout, re-weighted to the tracked class mix. The largest of six
       parts of the correction is used for which no smaller part has a lower log loss there, or an error rate that is
       lower by more than one point. Where the mix rests on few labelled samples, what the model's own probabilities
       expect counts instead: half if the holdout is worth 75 samples at that mix, all if it is worth 30, and hardly if
       it is worth hundreds. Near the mix of the holdout, differences of up to two standard errors are noise and
       ignored. At most a quarter is used if more than 5 % of all samples would move to classes with fewer than
       5 samples in the holdout. If there are several classes with fewer than 15, and as many would move to them, more
       than a quarter is used only if it is better by three standard errors.

    None of these can detect a change of the classes that does not show in the model's outputs. Labels can: with the
    first of them the gate's decision becomes one of several candidates (`baserate.trust.portfolio.Portfolio`).

    Attributes
    ----------
    weight_ : float
        The part of the correction to use, from 0 to 1.
    active_ : bool
        True if the correction is held back: by dependence, by an alarm, or by the rehearsal (if it leaves no more than
        a quarter, and until it leaves half).
    off_ : bool
        True if the correction is switched off by dependence: the model's output is to be used as it is, not even
        calibrated.
    reason_ : str
        The reason why it is held back; empty if it is not.
    since_ : int or None
        The round since which it has been held back.
    rehearsed_at_ : (k,) array
        The class mix of the last rehearsal; the source prior before the first. At a class mix further than `FAR` from
        it the rehearsal no longer applies.
    rounds_ : int
        Number of rounds so far.

    Examples
    --------
    >>> gate = Gate().fit([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50)
    >>> gate.update([0.2, 0.8])
    >>> gate.weight_, gate.mix([0.2, 0.8])
    (1.0, array([0.2, 0.8]))
    >>> gate.update([0.2, 0.8], dependent=True)
    >>> gate.weight_, gate.mix([0.2, 0.8]), gate.off_
    (0.0, array([0.5, 0.5]), True)
    """

    saves = Saves(
        state={
            "source_prior_": priors("k", low=LEAST_PRIOR, within=1e-9),
            "_proba": probabilities("rows", "k"),
            "_labels": declarations.labels("rows", "k"),
            "_few": flags("k"),
            "rounds_": Whole(),
            "weight_": Number(0.0, 1.0),
            "active_": Flag(),
            "reason_": Text(),
            "since_": Maybe(Whole()),
            "_rehearsed": Number(0.0, 1.0),
            "_held_back": Flag(),
            "_tracked": priors("k", within=1e-9),
            "rehearsed_at_": priors("k", within=1e-9),
            "_closed_at": Whole(-1),
            "_closed_for": Whole(),
            "_check_began": Whole(),
            "_dependent": Flag(),
            "_explained": Flag(),
            "_unexplained": Flag(),
        },
        may_be_empty=True,
        check=_fits_together,
    )

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read layout 1, which did not know whether a change is left unexplained; the next look says it."""
        return params, {**state, "_unexplained": False} if state else state

    def fit(
        self, proba: ArrayLike | None = None, y: ArrayLike | None = None, source_prior: ArrayLike | None = None
    ) -> Self:
        """Store the holdout for rehearsals, and start anew.

        Parameters
        ----------
        proba : (n, k) array, optional
            The model's calibrated probabilities on a holdout. Without one there are no rehearsals.
        y : (n,) array of int, optional
            Its labels, every class at least once.
        source_prior : (k,) array, optional
            The class mix that the probabilities assume. Default: the holdout's.
        """
        if proba is None or y is None:
            if source_prior is None:
                raise ValueError("source_prior is missing: without a labelled holdout the gate cannot know it.")
            prior = check_prior(source_prior, name="source_prior", positive=True)
            rows, labels = np.empty((0, len(prior))), np.empty(0, dtype=np.int64)
            few = np.zeros(len(prior), dtype=bool)
        else:
            rows, labels = check_holdout(proba, y, every_class=True)
            k = rows.shape[1]
            counts = np.bincount(labels, minlength=k)
            prior, few = counts / len(labels), counts < _FEW
            if source_prior is not None:
                prior = check_prior(source_prior, k, "source_prior", positive=True)
            kept = subsample(labels, counts, max(_ROWS, _ROWS_PER_CLASS * k), least=_THIN)
            rows, labels = rows[kept], labels[kept]
        self.source_prior_, self._proba, self._labels, self._few = prior, rows, labels, few
        self._start()
        return self

    def _start(self) -> None:
        self.rounds_ = 0
        self.weight_, self.active_, self.reason_ = 1.0, False, ""
        self.since_: int | None = None
        self._rehearsed, self._held_back = 1.0, False
        self._tracked = self.source_prior_.copy()
        self.rehearsed_at_ = self.source_prior_.copy()
        self._closed_at, self._closed_for, self._check_began = -1, 0, 0
        self._dependent = self._explained = self._unexplained = False

    def reset(self) -> None:
        """Forget the stream, as if just fitted."""
        check_fitted(self, "source_prior_")
        self._start()

    @property
    def doubted_(self) -> bool:
        """True during an alarm."""
        check_fitted(self, "source_prior_")
        return self._closed_at >= 0 and self.rounds_ - self._closed_at < self._closed_for

    @property
    def off_(self) -> bool:
        check_fitted(self, "source_prior_")
        return self._dependent

    def update(
        self,
        tracked: ArrayLike,
        alarm: bool = False,
        rounds: int = 1,
        *,
        dependent: bool | None = None,
        explained: bool | None = None,
        unexplained: bool | None = None,
    ) -> None:
        """Update the decision after one round, or several at once.

        Parameters
        ----------
        tracked : (k,) array
            The tracked class mix, with which the next round would be predicted.
        alarm : bool
            True if the check of label shift has raised an alarm. Reset the check then, so that it can show when the
            alarm is over; if it is not reset, and reports the alarm in every round, the alarm lasts.
        rounds : int
            Number of rounds since the last call; 0 if only the class mix is new.
        dependent : bool, optional
            True if samples are correlated: see `SerialDependence`. Default: as before.
        explained : bool, optional
            True if a class mix explains the change of the outputs: see `ExplainedShare`. Default: as before.
        unexplained : bool, optional
            True if it explains hardly any of a large change. Default: as before.
        """
        check_fitted(self, "source_prior_")
        mix = check_prior(tracked, len(self.source_prior_), "tracked")
        if not isinstance(alarm, bool | np.bool_):
            raise TypeError(f"alarm is {alarm!r}; give True or False.")
        check_integer(rounds, "rounds", 0)
        self.take_in(mix, bool(alarm), rounds, dependent=dependent, explained=explained, unexplained=unexplained)

    def take_in(
        self,
        mix: FloatArray,
        alarm: bool = False,
        rounds: int = 1,
        *,
        dependent: bool | None = None,
        explained: bool | None = None,
        unexplained: bool | None = None,
    ) -> None:
        """Do what `update` does, without checks, for callers that have made them."""
        self.rounds_ += rounds
        self._tracked = mix
        self._dependent = self._dependent if dependent is None else bool(dependent)
        self._explained = self._explained if explained is None else bool(explained)
        self._unexplained = self._unexplained if unexplained is None else bool(unexplained)
        if alarm:
            reported_again = 0 <= self._closed_at == self.rounds_ - rounds
            if not reported_again:
                took = self.rounds_ - self._check_began
                self._closed_for = int(alarm_lasts(took, self._closed_for))
            self._closed_at = self._check_began = self.rounds_
        if len(self._proba) and _distance(mix, self.rehearsed_at_) > MOVED:
            self._rehearsed = self.rehearse_at(mix)
            self.rehearsed_at_ = mix
        self._decide()

    def rehearse_at(self, mix: FloatArray) -> float:
        """Return the part of the correction that a rehearsal at a class mix leaves; changes nothing."""
        if not len(self._proba):
            return 1.0
        counts = np.bincount(self._labels, minlength=len(mix)).astype(np.float64)
        more = np.maximum(mix - self.source_prior_, 0.0)
        scarce = counts < _THIN  # at least so many of each class are kept
        thin = bool(scarce.sum() > 1 and more[scarce].sum() > _UNTOLD)
        rehearsed = rehearse(self._proba, self._labels, counts, self.source_prior_, mix, thin=thin)
        return min(rehearsed, _CLOSED) if more[self._few].sum() > _UNTOLD else rehearsed

    def _decide(self) -> None:
        shifted = _distance(self._tracked, self.source_prior_) > _SHIFTED
        self._held_back = shifted and self._rehearsed < (_OPEN if self._held_back else _CLOSED + 1e-9)
        if self.off_:
            self.weight_, reason = 0.0, REPEATS + ": they do not tell the class mix"
        else:
            self.weight_, reason = self._rehearsed, ""
            if self._held_back:
                reason = "the holdout, weighted to the tracked class mix, does not bear the correction out"
            if self.doubted_:
                most = 0.0 if self._unexplained else _IN_DOUBT_EXPLAINED if self._explained else IN_DOUBT
                self.weight_ = min(self.weight_, most)
                reason = "the stream does not look like label shift"
        if not reason:
            self.since_ = None
        elif not self.active_:
            self.since_ = self.rounds_
        self.active_, self.reason_ = bool(reason), reason

    def mix(self, tracked: ArrayLike) -> FloatArray:
        """Return the class mix to predict with: a tracked one, moved towards the source prior by `weight_`.

        Parameters
        ----------
        tracked : (k,) or (n, k) array
            A class mix, or one per sample.
        """
        check_fitted(self, "source_prior_")
        mixes = np.asarray(tracked, dtype=np.float64)
        if self.weight_ == 1.0:
            return mixes.copy()
        if self.weight_ == 0.0:
            return np.broadcast_to(self.source_prior_, mixes.shape).copy()
        shrunk = mixes**self.weight_ * self.source_prior_ ** (1.0 - self.weight_)
        return np.asarray(shrunk / shrunk.sum(axis=-1, keepdims=True))


def _distance(first: FloatArray, second: FloatArray) -> float:
    """Return the total variation distance of two class mixes."""
    return 0.5 * float(np.abs(first - second).sum())
