"""Watch: all parts that say how far an adapter can be trusted, fed by one stream."""

from typing import Any, Self

import numpy as np

from baserate.protocols import UNLABELLED, FloatArray, IntArray, Tracker
from baserate.state import Component, check_array
from baserate.trust.accuracy import Accuracy, AccuracyEstimate
from baserate.trust.assumption import MOST_CLASSES, AssumptionCheck, Finding
from baserate.trust.bands import PriorBand
from baserate.trust.dependence import SerialDependence
from baserate.trust.gate import Gate
from baserate.trust.unknown import UnknownMass

COLLECTED = 256
"""Samples that are collected before the check and the gate look at them: one by one they would cost more than all else.
"""
MOST = 512
"""Samples of a large round that are looked at, or up to twice as many: all would take longer than all else."""
_ONE_IN = 4  # samples that are looked at for unknown mass: a share of a window does not take all of them


class Watch(Component, saved_as="watch"):
    """What an adapter asks about itself: a band, its accuracy, whether it is label shift, and how much to correct.

    It is given every round as the adapter has checked and predicted it, and checks nothing again. Small rounds are
    collected until there are 256 samples; of a round of 1,024 or more about 512 are looked at, from all over it, and
    the first 512 for whether they repeat each other. The check, the gate's decision and the unknown mass are as of
    then. But where the class mix jumps, the gate rehearses at once.

    Parameters
    ----------
    alpha : float, optional
        Of `AssumptionCheck` and `Gate`. ``None``: neither looks, nor is unknown mass or dependence looked for.

    Attributes
    ----------
    known_ : bool
        Whether there is a labelled holdout with every class, without which there is neither a band nor an accuracy.
    checks_ : bool
        Whether there is also a check of label shift; not for more than 300 classes.
    gate_, dependence_, check_
        The `Gate`, the `SerialDependence`, and the `AssumptionCheck` if there is one.
    since_ : int or None
        The round since which the gate holds the correction back; rounds in which nothing came are counted.
    """

    def __init__(self, alpha: float | None = 0.05) -> None:
        self.alpha = alpha

    def fit(
        self,
        raw: FloatArray | None,
        calibrated: FloatArray | None,
        labels: IntArray | None,
        source_prior: FloatArray,
        rounds: int = 0,
    ) -> Self:
        """Learn a holdout, if there is one, as the model gives it, and calibrated; after some rounds of the stream."""
        k = len(source_prior)
        self.source_prior_ = source_prior
        self.gate_ = Gate() if self.alpha is None else Gate(self.alpha)
        self.dependence_ = SerialDependence()
        self._rows = np.empty((COLLECTED, k))
        if raw is None or calibrated is None or labels is None or np.bincount(labels, minlength=k).min() == 0:
            self.known_ = self.checks_ = False
            self.gate_.fit(source_prior=source_prior)
        else:
            self.known_, self.checks_ = True, self.alpha is not None and k <= MOST_CLASSES
            self.gate_.fit(calibrated, labels, source_prior)
            self._band = PriorBand().fit(calibrated, labels, source_prior)
            self._accuracy = AccuracyEstimate().fit(calibrated, labels, source_prior)
            if self.alpha is not None and self.checks_:
                self.check_ = AssumptionCheck(self.alpha).fit(raw, labels)
                self._unknown = UnknownMass(window=2000 // _ONE_IN).fit(raw, labels)
        self._start(rounds)
        return self

    def _start(self, rounds: int = 0) -> None:
        self._rounds = rounds
        self.since_: int | None = None
        self._n_rows, self._n_rounds = 0, 0
        self._past_evidence = 1.0
        self._past_findings: list[Finding] = []

    def reset(self) -> None:
        """Forget the stream."""
        self.gate_.reset()
        self.dependence_.reset()
        if self.known_:
            self._band.reset()
            self._accuracy.reset()
        if self.checks_:
            self.check_.reset()
            self._unknown.reset()
        self._start()

    def restart(self, birth: FloatArray) -> None:
        """Go on from a class mix that a person knows."""
        if self.known_:
            self._band.reset(birth)

    def idle(self, rounds: int) -> None:
        """Let rounds go by in which nothing came: they are counted, and no alarm is over by them."""
        self._rounds += rounds

    def moved(self, tracked: FloatArray) -> None:
        """Let the gate rehearse a class mix that did not come out of a round, if it is far from the last."""
        if self.alpha is not None and self.gate_.far_from_rehearsed(tracked):
            self.gate_.update(tracked, rounds=0)
            self._note_since()

    def _note_since(self) -> None:
        if not self.gate_.active_:
            self.since_ = None
        elif self.since_ is None:
            self.since_ = self._rounds

    def take_in(
        self,
        raw: FloatArray,
        calibrated: FloatArray,
        adapted: FloatArray,
        used: FloatArray,
        labels: IntArray | None,
        tracker: Tracker,
        tracked: FloatArray,
    ) -> None:
        """Take in a round.

        Parameters
        ----------
        raw, calibrated, adapted : (n, k) arrays
            The model's probabilities, the same calibrated, and as they were predicted from it.
        used : (k,) array
            The class mix that they were predicted with.
        labels : (n,) array of int, optional
        tracker, tracked
            What follows the class mix, and the mix to predict the next round with; both after the round.
        """
        n = len(raw)
        self._rounds += 1
        if self.known_ and n > 0:
            self._accuracy.take_in(calibrated, adapted, used[np.newaxis], np.array([0, n]))
            self._band.update(calibrated, tracker, labels)
        if self.alpha is None:
            return
        self._n_rounds += 1
        neighbours = raw
        if n >= 2 * MOST:  # every second row of a large round, or every third, ... will do
            neighbours, raw = raw[:MOST], raw[:: n // MOST]
            n = len(raw)
        if self._n_rows + n > COLLECTED:
            before = self._rows[: self._n_rows]
            self._look(np.concatenate([before, raw]), np.concatenate([before, neighbours]), tracked)
            return
        self._rows[self._n_rows : self._n_rows + n] = raw
        self._n_rows += n
        if self._n_rows == COLLECTED:
            self._look(self._rows, self._rows, tracked)
        else:
            self.moved(tracked)

    def _look(self, rows: FloatArray, neighbours: FloatArray, tracked: FloatArray) -> None:
        alarm = False
        self.dependence_.take_in(neighbours)
        if self.checks_:
            self._unknown.update(rows[::_ONE_IN])
            self.check_.take_in(rows, self._n_rounds)
            alarm = self.check_.alarm_
        self.gate_.update(tracked, alarm, self._n_rounds, dependent=self.dependence_.dependent_)
        self._note_since()
        if alarm:
            self._past_evidence, self._past_findings = self.check_.evidence_, self.check_.explain()
            self.check_.reset()  # so that it can tell when the alarm is over
        elif not self.gate_.doubted_:
            self._past_evidence, self._past_findings = 1.0, []
        self._n_rows, self._n_rounds = 0, 0

    def take_labels(self, corrected: FloatArray, own: IntArray, labels: IntArray) -> None:
        """Take in what labels say of the full correction, against the model left alone.

        Parameters
        ----------
        corrected : (n, k) array
            Probabilities, or multiples of them, after the full correction, whatever was used.
        own : (n,) array of int
            The classes that the model itself predicted.
        labels : (n,) array of int
        """
        if self.alpha is None:
            return
        known = labels != UNLABELLED
        told = labels[known]
        wrong = (corrected[known].argmax(axis=1) != told).astype(np.float64)
        self.gate_.update_labels(wrong, (own[known] != told).astype(np.float64))
        self._note_since()

    @property
    def untested_(self) -> str:
        """Why there is no check of label shift; empty if there is one."""
        if self.checks_:
            return self.check_.reason_
        if self.alpha is None:
            return "alpha is None."
        if not self.known_:
            return "there is no labelled holdout with every class."
        return f"there are {len(self.source_prior_)} classes; label shift is tested for up to {MOST_CLASSES}."

    @property
    def alarm_(self) -> bool:
        """Whether the stream is taken for something else than label shift; it ends when a fresh check stays silent."""
        return self.gate_.doubted_

    @property
    def evidence_(self) -> float:
        """Evidence against label shift, 1 for none; during an alarm, at least that which raised it."""
        return max(self._past_evidence, self.check_.evidence_) if self.checks_ else 1.0

    @property
    def findings_(self) -> list[Finding]:
        """What looks most wrong."""
        if not self.checks_:
            return []
        return self._past_findings if self._past_evidence > self.check_.evidence_ else self.check_.explain()

    @property
    def unknown_mass_(self) -> float:
        """The share of the last samples that fits no class."""
        return self._unknown.mass_ if self.checks_ else 0.0

    def without_unknown(self, prior: FloatArray) -> FloatArray:
        """A class mix without the unknown mass that it was booked to."""
        return self._unknown.without_unknown(prior) if self.checks_ else prior.copy()

    def interval(self, prior: FloatArray, tracker: Tracker, level: float) -> FloatArray:
        """The band of `PriorBand`."""
        self._require("a band")
        return self._band.interval(prior, tracker, level)

    def accuracy(self, level: float) -> Accuracy:
        """The estimate of `AccuracyEstimate`."""
        self._require("an accuracy")
        return self._accuracy.estimate(level)

    def _require(self, what: str) -> None:
        if not self.known_:
            raise ValueError(f"{what} needs a labelled holdout with every class; fit on one.")

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        findings = [tuple(finding) for finding in self._past_findings]
        return {**state, "_rows": self._rows[: self._n_rows].copy(), "_past_findings": findings}

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        k = len(self.source_prior_)
        check_array(self.source_prior_, "source_prior_", np.empty(k))
        rows = check_array(self._rows, "_rows", np.empty((len(self._rows), k)))
        if self._n_rows != len(rows) or len(rows) >= COLLECTED:
            raise ValueError("holds another number of collected rows than it says")
        self._rows = np.empty((COLLECTED, k))
        self._rows[: self._n_rows] = rows
        self._past_findings = [Finding(*finding) for finding in self._past_findings]
        return self
