"""Gate: how much of a correction to use, and when to fall back to the model as it is."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.state import Component, check_array
from baserate.trust._kept_holdout import thinned
from baserate.trust.gate.bets import STAKES, bet
from baserate.trust.gate.rehearsal import WEIGHTS, rehearse
from baserate.validation import as_float_array, check_fitted, check_holdout, check_integer, check_prior, check_real

NONE, HURTS, HELPS = "", "hurts", "helps"
IN_DOUBT = 0.5
"""The largest part of the correction that is used after an alarm."""
LABELS = 100
"""Labels that tell the two predictions apart, within which a wrong verdict has a probability of at most alpha."""
FAR = 0.1
"""Total variation from the mix of the last rehearsal after which what it found no longer holds."""
_MOVED = 0.02  # total variation from the mix of the last rehearsal, after which there is a new one
_ROWS, _ROWS_PER_CLASS = 1000, 4  # of the holdout that are rehearsed with: about a tenth of a millisecond
_CLOSED, _OPEN = 0.25, 0.5  # parts of the correction at which falling back begins, and ends
_SHIFTED = 0.05  # total variation from the source, below which there is nothing to fall back from
_FEW = 5  # samples of a class in the holdout, below which a rehearsal cannot tell
_UNTOLD = 0.05  # of all samples that may move to such classes
_LAPSES = 1000  # rounds without labels after which they no longer confirm the correction
_SHORTEST = 50  # rounds that an alarm closes the gate for at least
_LONGEST = 500  # rounds of silence before an alarm that count: one glitch after years of it is over some day


class Gate(Component, saved_as="gate"):
    r"""Decides which part of a correction is used: all of it, less when the evidence is thin or in doubt, or none.

    The prior to predict with is ``tracked ** weight_ * source ** (1 - weight_)``, normalised: `weight_` is the part of
    the correction in log-odds. What decides, the first that applies:

    1. *Labels*, if there are any. The full correction and the model's own predictions are compared on samples where
       just one of them is right, by bets both ways (e = 1 + lambda d, d the difference of their losses, for several
       lambda, each sample a new start). Bets that the correction hurts switch it off when they have won `LABELS` /
       alpha = 2,000 times what one start lays out, bets that it helps confirm it, against alarms too; the last verdict
       counts. If the correction does not hurt on average, it is switched off with a probability of at most `alpha`
       within any first 100 samples that tell, and once in 2,000 of them on average, or less often; the same holds for
       confirming. A confirmation lapses after 1,000 rounds without labels; being switched off does not.
    2. *Dependence*: samples that repeat each other (`SerialDependence`) are no evidence of a class mix. The correction
       is switched off until they no longer do.
    3. *An alarm* of `AssumptionCheck` leaves at most half of the correction. It is over when a fresh check has been
       silent for twice as many rounds as the alarm took to come (but no more than 1,000), or twice as many as the time
       before. Half, because on streams of independent samples that are no label shift half of the correction still did
       more good than harm, and all of it did not.
    4. *A rehearsal*: what the correction would do to the labelled holdout, if that had the tracked class mix. The
       largest of six parts is used that the holdout does not speak against: no smaller part has less log loss there,
       or an error rate that is smaller by more than one point. No more than a quarter of it is used if more than 5 %
       of all samples would move to classes of which the holdout has fewer than 5.

    None of it can see that the classes have changed in a way that the outputs do not show, without labels.

    Parameters
    ----------
    alpha : float
        The probability of a wrong verdict of labels, as above.

    Attributes
    ----------
    weight_ : float
        The part of the correction to use, from 0 to 1.
    active_ : bool
        Whether the correction is held back: by labels, by dependence, by an alarm, or by the rehearsal (which leaves no
        more than a quarter; it is over when it leaves half).
    off_ : bool
        Whether it is switched off, by labels or by dependence: the model is to be left alone, uncalibrated, too.
    reason_ : str
        Why; empty if it is not.
    since_ : int or None
        The round since which it is held back.
    verdict_ : str
        What labels say: ``"hurts"``, ``"helps"``, or nothing yet.
    evidence_ : (float, float)
        What bets have won since the last verdict: that the correction hurts, that it helps.
    rehearsed_at_ : (k,) array
        The class mix of the last rehearsal; the source prior before the first. At a class mix further than `FAR` from
        it the rehearsal no longer applies.
    rounds_ : int
        Rounds seen.

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

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = alpha

    def fit(
        self, proba: ArrayLike | None = None, y: ArrayLike | None = None, source_prior: ArrayLike | None = None
    ) -> Self:
        """Learn the holdout to rehearse with, and start anew.

        Parameters
        ----------
        proba : (n, k) array, optional
            The model's probabilities of a holdout, calibrated. Without one nothing is rehearsed.
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
            kept = thinned(labels, counts, max(_ROWS, _ROWS_PER_CLASS * k))
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
        """Whether an alarm lasts."""
        check_fitted(self, "source_prior_")
        return self._closed_at >= 0 and self.rounds_ - self._closed_at < self._closed_for

    @property
    def off_(self) -> bool:
        check_fitted(self, "source_prior_")
        return self.verdict_ == HURTS or (self._dependent and self.verdict_ != HELPS)

    def update(
        self, tracked: ArrayLike, alarm: bool = False, rounds: int = 1, *, dependent: bool | None = None
    ) -> None:
        """Take in one round, or several at once.

        Parameters
        ----------
        tracked : (k,) array
            The class mix as tracked now, on which the next predictions could be based.
        alarm : bool
            Whether the check of label shift has given an alarm. The check is to be reset then, so that it can tell when
            the alarm is over; as long as it is not, and the alarm is reported every round, the alarm lasts.
        rounds : int
            How many rounds have gone by since the last call; 0 if only the class mix is new.
        dependent : bool, optional
            Whether samples repeat each other: see `SerialDependence`. Default: as before.
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
            if (
                self._closed_at < 0 or self._closed_at != self.rounds_ - rounds
            ):  # otherwise it is the same alarm, reported again
                took = min(self.rounds_ - self._check_began, _LONGEST)
                self._closed_for = max(2 * took, 2 * self._closed_for, _SHORTEST)
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

    def update_labels(self, corrected: ArrayLike, uncorrected: ArrayLike) -> None:
        """Take in what labelled samples say, in any round and however late.

        Parameters
        ----------
        corrected, uncorrected : (n,) arrays
            The losses of the full correction and of the model left alone, on the same samples, each from 0 to 1: best,
            1 where the predicted class was wrong and 0 where it was right. The full correction counts, whatever was
            used.
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
        if len(differences):
            self._last_label = self.rounds_
        while len(differences):
            told = bet(differences, self._won, STAKES, LABELS / self.alpha)
            if told == 0:
                break
            self.verdict_ = HURTS if told % 2 else HELPS
            self._won[:] = 0.0  # every verdict has to be earned anew
            differences = differences[(told + 1) // 2 :]
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
        """The class mix to predict with: a tracked one, or one for each sample, on its part of the way to the source.

        Parameters
        ----------
        tracked : (k,) or (n, k) array
            Class mixes.
        """
        check_fitted(self, "source_prior_")
        mixes = np.asarray(tracked, dtype=np.float64)
        if self.weight_ == 1.0:
            return mixes.copy()
        if self.weight_ == 0.0:
            return np.broadcast_to(self.source_prior_, mixes.shape).copy()
        shrunk = mixes**self.weight_ * self.source_prior_ ** (1.0 - self.weight_)
        return np.asarray(shrunk / shrunk.sum(axis=-1, keepdims=True))

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if hasattr(self, "source_prior_"):
            k = np.size(self.source_prior_)
            for name in ("source_prior_", "_tracked", "rehearsed_at_"):
                check_array(getattr(self, name), name, np.empty(k))
            check_array(self._proba, "_proba", np.empty((len(self._labels), k)))
            check_array(self._labels, "_labels", np.empty(len(self._proba), dtype=np.int64))
            if len(self._labels) and not 0 <= self._labels.min() <= self._labels.max() < k:
                raise ValueError("the labels of the holdout are not classes")
            check_array(self._few, "_few", np.empty(k, dtype=bool))
            check_array(self._won, "_won", np.empty((2, len(STAKES))))
            if self.weight_ not in WEIGHTS:
                raise ValueError("the weight is none of those that a gate chooses")
        return self


def _distance(first: FloatArray, second: FloatArray) -> float:
    """Total variation of two class mixes."""
    return 0.5 * float(np.abs(first - second).sum())
