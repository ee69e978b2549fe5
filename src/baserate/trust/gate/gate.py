"""Gate: decides how much of a correction is used, and when to fall back to the uncorrected model."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.state import Component, declarations
from baserate.state.declarations import (
    LONGEST,
    SHARE,
    Flag,
    Maybe,
    Number,
    Saved,
    Saves,
    Text,
    Whole,
    flags,
    floats,
    priors,
    probabilities,
)
from baserate.trust._kept_holdout import fits_holdout, subsample
from baserate.trust.gate.bets import LARGEST, STAKES, bet, inverse_weights
from baserate.trust.gate.rehearsal import WEIGHTS, rehearse
from baserate.validation import (
    LEAST_PRIOR,
    as_float_array,
    check_fitted,
    check_holdout,
    check_integer,
    check_prior,
    check_real,
)

NONE, HURTS, HELPS = "", "hurts", "helps"
IN_DOUBT = 0.5
"""Largest part of the correction that is used during an alarm."""
LABELS = 100
"""Number of informative labels within which the probability of a wrong verdict is at most alpha."""
FAR = 0.1
"""Total variation distance from the mix of the last rehearsal beyond which its result no longer applies."""
_MOVED = 0.02  # total variation distance from the mix of the last rehearsal that triggers a new one
_ROWS, _ROWS_PER_CLASS = 1000, 4  # of the holdout that a rehearsal uses: about a tenth of a millisecond
_CLOSED, _OPEN = 0.25, 0.5  # parts of the correction at which the fallback begins, and ends
_SHIFTED = 0.05  # total variation distance from the source prior, below which there is no correction to hold back
_FEW = 5  # samples of a class in the holdout, below which a rehearsal is not reliable
_UNTOLD = 0.05  # largest share of all samples that may move to such classes
_LAPSES = 1000  # rounds without labels after which a confirmation expires
_SHORTEST = 50  # least duration of an alarm, in rounds
_LONGEST = 500  # largest number of rounds before an alarm that its duration is derived from


def _fits_together(saved: Saved) -> str:
    state = saved.state
    if state["weight_"] not in WEIGHTS or state["_rehearsed"] not in WEIGHTS:
        return "has a weight that a gate does not choose"
    if state["active_"] != bool(state["reason_"]) or state["active_"] != (state["since_"] is not None):
        return "holds the correction back without a reason, or the other way round"
    if max(state["since_"] or 0, state["_last_label"], state["_closed_at"], state["_check_began"]) > state["rounds_"]:
        return "remembers rounds that are yet to come"
    return fits_holdout(saved) if saved.sizes["rows"] else ""


class Gate(Component, saved_as="gate"):
    r"""Decides how much of a correction is used: all of it, less if it is in doubt, or none.

    The prior to predict with is ``tracked ** weight_ * source ** (1 - weight_)``, normalised: `weight_` is the part of
    the correction in log-odds. The first of these rules that applies decides:

    1. *Labels*, if there are any. The full correction and the model's own predictions are compared on samples where
       just one of them is right, by betting both ways (e = 1 + lambda d, where d is the difference of their losses, for
       several lambda, with a new bet started at each sample). The correction is switched off when bets that it hurts
       have won `LABELS` / alpha = 2,000 times the stake of one start, and confirmed, against alarms too, when bets that
       it helps have; the last verdict counts. If the correction does not hurt on average, the probability of switching
       it off within the first 100 informative samples is at most `alpha`, and on average there are at least 2,000 such
       samples before that happens; the same holds for confirming. A confirmation expires after 1,000 rounds without
       labels; being switched off does not. Where labels were chosen with known probabilities, stakes are in inverse
       proportion to these, so that the verdict is on all samples, not on those that were chosen more often.
    2. *Dependence*: correlated samples (`SerialDependence`) are no evidence of a class mix. The correction is switched
       off while they are correlated.
    3. *An alarm* of `AssumptionCheck` leaves at most half of the correction. It ends when a fresh check has been silent
       for twice as many rounds as the alarm took to come (at most 1,000), or twice as long as the last time. It leaves
       half because, on streams of independent samples that were not label shift, half of the correction still did more
       good than harm, and all of it did not.
    4. *A rehearsal* of the correction on the labelled holdout, re-weighted to the tracked class mix. The largest of six
       parts of the correction is used for which no smaller part has a lower log loss there, or an error rate that is
       lower by more than one point. Where the mix rests on few labelled samples, what the model's own probabilities
       expect counts instead: half if the holdout is worth 75 samples at that mix, all if it is worth 30, and hardly if
       it is worth hundreds. Near the mix of the holdout, differences of up to two standard errors are noise and
       ignored. At most a quarter is used if more than 5 % of all samples would move to classes with fewer than
       5 samples in the holdout.

    Without labels, none of these can detect a change of the classes that does not show in the model's outputs.

    Parameters
    ----------
    alpha : float
        The probability of a wrong verdict from labels, as above.

    Attributes
    ----------
    weight_ : float
        The part of the correction to use, from 0 to 1.
    active_ : bool
        True if the correction is held back: by labels, by dependence, by an alarm, or by the rehearsal (if it leaves no
        more than a quarter, and until it leaves half).
    off_ : bool
        True if the correction is switched off, by labels or by dependence: the model's output is to be used as it is,
        not even calibrated.
    reason_ : str
        The reason why it is held back; empty if it is not.
    since_ : int or None
        The round since which it has been held back.
    verdict_ : str
        The verdict of labels: ``"hurts"``, ``"helps"``, or empty for none yet.
    evidence_ : (float, float)
        The winnings of bets since the last verdict: that the correction hurts, that it helps.
    rehearsed_at_ : (k,) array
        The class mix of the last rehearsal; the source prior before the first. At a class mix further than `FAR` from
        it the rehearsal no longer applies.
    rounds_ : int
        Number of rounds so far.

    Examples
    --------
    >>> import numpy as np
    >>> gate = Gate().fit([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50)
    >>> gate.update([0.2, 0.8])
    >>> gate.weight_, gate.mix([0.2, 0.8])
    (1.0, array([0.2, 0.8]))
    >>> gate.update_labels(np.ones(30), np.zeros(30))  # the correction was wrong 30 times, the model never
    >>> gate.weight_, gate.mix([0.2, 0.8]), gate.verdict_
    (0.0, array([0.5, 0.5]), 'hurts')

    References
    ----------
    Shin, Ramdas, Rinaldo, "E-detectors: a nonparametric framework for sequential change detection", 2023.
    """

    saves = Saves(
        params={"alpha": SHARE},
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
            "verdict_": Text((NONE, HURTS, HELPS)),
            "_won": floats(2, len(STAKES), low=0.0, high=LARGEST),
            "_last_label": Whole(),
            "_rehearsed": Number(0.0, 1.0),
            "_held_back": Flag(),
            "_tracked": priors("k", within=1e-9),
            "rehearsed_at_": priors("k", within=1e-9),
            "_closed_at": Whole(-1),
            "_closed_for": Whole(),
            "_check_began": Whole(),
            "_dependent": Flag(),
            "_chosen": floats(2, low=0.0, high=1.0),
        },
        optional=("_chosen",),
        may_be_empty=True,
        check=_fits_together,
    )

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = alpha

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
        check_real(self.alpha, "alpha", 0.0, 1.0, closed=False)
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
            kept = subsample(labels, counts, max(_ROWS, _ROWS_PER_CLASS * k))
            rows, labels = rows[kept], labels[kept]
        self.source_prior_, self._proba, self._labels, self._few = prior, rows, labels, few
        self._start()
        return self

    def _start(self) -> None:
        self.rounds_ = 0
        self.weight_, self.active_, self.reason_ = 1.0, False, ""
        self.since_: int | None = None
        self.verdict_ = NONE
        self._won = np.zeros((2, len(STAKES)))
        self._last_label = 0
        self._rehearsed, self._held_back = 1.0, False
        self._tracked = self.source_prior_.copy()
        self.rehearsed_at_ = self.source_prior_.copy()
        self._closed_at, self._closed_for, self._check_began = -1, 0, 0
        self._dependent = False
        self._chosen = np.array([1.0, 0.0])

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        if "_chosen" in state and state["_chosen"][1] == 0.0:  # no label has come with a probability
            del state["_chosen"]
        return state

    def set_state(self, state: dict[str, Any]) -> Self:
        return super().set_state({"_chosen": np.array([1.0, 0.0]), **state} if state else state)

    def reset(self) -> None:
        """Forget the stream, as if just fitted."""
        check_fitted(self, "source_prior_")
        self._start()

    @property
    def evidence_(self) -> tuple[float, float]:
        check_fitted(self, "source_prior_")
        hurts, helps = self._won.mean(axis=1)
        return float(hurts), float(helps)

    @property
    def doubted_(self) -> bool:
        """True during an alarm."""
        check_fitted(self, "source_prior_")
        return self._closed_at >= 0 and self.rounds_ - self._closed_at < self._closed_for

    @property
    def off_(self) -> bool:
        check_fitted(self, "source_prior_")
        return self.verdict_ == HURTS or (self._dependent and self.verdict_ != HELPS)

    def update(
        self, tracked: ArrayLike, alarm: bool = False, rounds: int = 1, *, dependent: bool | None = None
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
        """
        check_fitted(self, "source_prior_")
        mix = check_prior(tracked, len(self.source_prior_), "tracked")
        if not isinstance(alarm, bool | np.bool_):
            raise TypeError(f"alarm is {alarm!r}; give True or False.")
        check_integer(rounds, "rounds", 0)
        self.rounds_ += rounds
        self._tracked = mix
        self._dependent = self._dependent if dependent is None else bool(dependent)
        if alarm:
            reported_again = 0 <= self._closed_at == self.rounds_ - rounds
            if not reported_again:
                took = min(self.rounds_ - self._check_began, _LONGEST)
                self._closed_for = min(max(2 * took, 2 * self._closed_for, _SHORTEST), LONGEST)
            self._closed_at = self._check_began = self.rounds_
        if len(self._proba) and _distance(mix, self.rehearsed_at_) > _MOVED:
            counts = np.bincount(self._labels, minlength=len(mix)).astype(np.float64)
            self._rehearsed = rehearse(self._proba, self._labels, counts, self.source_prior_, mix)
            if np.maximum(mix - self.source_prior_, 0.0)[self._few].sum() > _UNTOLD:
                self._rehearsed = min(self._rehearsed, _CLOSED)
            self.rehearsed_at_ = mix
        if self.verdict_ == HELPS and self.rounds_ - self._last_label > _LAPSES:
            self.verdict_ = NONE
        self._decide()

    def update_labels(
        self, corrected: ArrayLike, uncorrected: ArrayLike, probabilities: ArrayLike | None = None
    ) -> None:
        """Update the verdict with labelled samples of any round.

        Parameters
        ----------
        corrected, uncorrected : (n,) arrays
            The losses of the full correction and of the uncorrected model on the same samples, each from 0 to 1.
            Preferably 1 where the predicted class was wrong and 0 where it was right. Give the loss of the full
            correction, even if only a part of it was used.
        probabilities : (n,) array, optional
            The probability with which each sample was chosen for a label. Stakes are in inverse
            proportion to it: see `inverse_weights` in the module `bets`. Default: the same for all.
        """
        check_fitted(self, "source_prior_")
        losses = []
        for value, name in ((corrected, "corrected"), (uncorrected, "uncorrected")):
            array = as_float_array(value, name, 1)
            if not ((array >= 0.0) & (array <= 1.0)).all():
                raise ValueError(f"{name} holds a loss outside of 0 to 1, or NaN; give 1 for an error and 0 for none.")
            losses.append(array)
        if len(losses[0]) != len(losses[1]):
            raise ValueError(
                f"corrected has {len(losses[0])} entries and uncorrected has {len(losses[1])}; give both for each "
                "sample."
            )
        differences = losses[0] - losses[1]
        if probabilities is not None:
            chosen = as_float_array(probabilities, "probabilities", 1)
            if len(chosen) != len(differences) or not ((chosen > 0.0) & (chosen <= 1.0)).all():
                raise ValueError("probabilities must be one for each sample, above 0 and at most 1.")
            differences *= inverse_weights(chosen, differences != 0.0, self._chosen)
        if len(differences):
            self._last_label = self.rounds_
        while len(differences):
            decision = bet(differences, self._won, STAKES, LABELS / self.alpha)
            if decision == 0:
                break
            self.verdict_ = HURTS if decision % 2 else HELPS
            self._won[:] = 0.0  # the evidence for the next verdict starts from zero
            differences = differences[(decision + 1) // 2 :]
        self._decide()

    def _decide(self) -> None:
        shifted = _distance(self._tracked, self.source_prior_) > _SHIFTED
        self._held_back = shifted and self._rehearsed < (_OPEN if self._held_back else _CLOSED + 1e-9)
        if self.verdict_ == HURTS:
            self.weight_, reason = 0.0, "on labelled samples the correction has raised the error"
        elif self.verdict_ == HELPS:
            self.weight_, reason = 1.0, ""
        elif self._dependent:
            self.weight_, reason = (
                0.0,
                "samples that follow each other repeat each other: they do not tell the class mix",
            )
        else:
            self.weight_, reason = self._rehearsed, ""
            if self._held_back:
                reason = "the holdout, weighted to the tracked class mix, does not bear the correction out"
            if self.doubted_:
                self.weight_ = min(self.weight_, IN_DOUBT)
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
