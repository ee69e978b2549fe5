"""TrustMonitor: the trust signals of an adapter, fed by one stream."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from baserate.protocols import FloatArray, IntArray, Tracker
from baserate.simplex import one_batch
from baserate.state import Component
from baserate.state.declarations import (
    SHARE,
    Each,
    Flag,
    Maybe,
    Number,
    Part,
    Saved,
    Saves,
    Together,
    Whole,
    priors,
    probabilities,
)
from baserate.trust.accuracy import Accuracy, AccuracyEstimate
from baserate.trust.assumption import MOST_CLASSES, AssumptionCheck, Finding
from baserate.trust.assumption.findings import FINDING, is_finding
from baserate.trust.bands import PriorBand
from baserate.trust.dependence import SerialDependence
from baserate.trust.doubt import MOVED, Doubt, Signs, doubt, told_apart
from baserate.trust.explained import ExplainedShare
from baserate.trust.labelled_mix import LabelledMix
from baserate.trust.prediction_powered import FEWEST
from baserate.trust.seen import Round, Verdict
from baserate.trust.spread import LabelSpread
from baserate.trust.unknown import UnknownMass
from baserate.validation import LEAST_PRIOR, check_real

COLLECTED = 256
"""Samples that are collected before the check and the gate look at them: one by one they would cost more than all else.
"""
MOST = 512
"""Samples of a large round that are looked at, or up to twice as many: all would take longer than all else."""
ABOUND = 1_000
"""Rounds that the check has watched, from which on fewer samples of each will do: of n about 2.5 sqrt(n)."""
ENOUGH = 5_000
"""Samples that the check has looked at, from which on the same holds: of large rounds these come early."""
EARLY = (64, 128)
"""Samples at which the first ones are looked at already, for whether they repeat each other."""
_ONE_IN = 4  # samples that are looked at for unknown mass: a share of a window does not take all of them


_KNOWN = ("_band", "_band_takes_rounds", "_accuracy")
_CHECKS = ("check_", "_unknown", "explained_")


def _fits_together(saved: Saved) -> str:
    state = saved.state
    for flag, names in (("known_", _KNOWN), ("checks_", _CHECKS)):
        if any((name in state) != state[flag] for name in names):
            return f"says {flag} of other parts than it has"
    if state["_n_rows"] != saved.sizes["collected"] or (state["checks_"] and not state["known_"]):
        return "has collected other rows than it says"
    if any(not is_finding(finding, saved.sizes["k"]) for finding in state["_past_findings"]):
        return "has findings of other classes"
    return ""


class TrustMonitor(Component, saved_as="trust_monitor"):
    """The trust signals of an adapter: a band, its accuracy, whether it is label shift, unknown mass, dependence.

    It is given every round as the adapter has checked and predicted it, and checks nothing again. The accuracy and the
    band are as of the last round. For the others, small rounds are collected until there are 256 samples. Of a round of
    1,024 or more about 512 are looked at, from all over it, and the first 512 for whether they repeat each other. Once
    the check has watched 1,000 rounds or 5,000 samples since it began, or began anew, about ``2.5 sqrt(n)`` of a round
    of n will do: 25 of 100, 84 of 1,000. The very first samples are compared after 64 and 128 of them, too.

    Parameters
    ----------
    alpha : float, optional
        Of `AssumptionCheck`. ``None``: there is no check, nor a search for unknown mass or dependence.

    Attributes
    ----------
    known_ : bool
        Whether there is a labelled holdout with every class, without which there is neither a band nor an accuracy.
    checks_ : bool
        Whether there is also a check of label shift; not for more than 300 classes.
    dependence_, check_, explained_
        The `SerialDependence`; the `AssumptionCheck` and the `ExplainedShare` if there are any.
    """

    saves = Saves(
        params={"alpha": Maybe(SHARE)},
        state={
            "source_prior_": priors("k", low=LEAST_PRIOR, within=1e-9),
            "dependence_": Part(SerialDependence),
            "known_": Flag(),
            "checks_": Flag(),
            "_band": Part(PriorBand, {"k": "k"}, fitted=True),
            "_band_takes_rounds": Flag(),
            "_accuracy": Part(AccuracyEstimate, {"k": "k"}, fitted=True),
            "check_": Part(AssumptionCheck, {"k": "k"}, fitted=True),
            "_unknown": Part(UnknownMass, {"k": "k"}, fitted=True),
            "explained_": Part(ExplainedShare, {"k": "k"}, fitted=True),
            "_rows": probabilities("collected", "k"),
            "_n_rows": Whole(0, COLLECTED - 1),
            "_n_rounds": Whole(),
            "_begins": Flag(),
            "_past_evidence": Number(1.0, 1e305),
            "_past_findings": Each(Together(FINDING)),
            "_mix": Part(LabelledMix, {"k": "k"}),
        },
        optional=(*_KNOWN, *_CHECKS, "_mix"),
        check=_fits_together,
    )

    def __init__(self, alpha: float | None = 0.05) -> None:
        self.alpha = alpha

    def fit(
        self,
        raw: FloatArray | None,
        calibrated: FloatArray | None,
        labels: IntArray | None,
        source_prior: FloatArray,
        tracker: Tracker,
        names: Sequence[Any] | None = None,
    ) -> Self:
        """Learn a holdout with every class, if there is one, as the model gives it, and calibrated; and the tracker."""
        k = len(source_prior)
        self.source_prior_ = source_prior
        self.dependence_ = SerialDependence()
        self.known_ = self.checks_ = False
        for name in (*_KNOWN, *_CHECKS):  # of another holdout
            self.__dict__.pop(name, None)
        if raw is not None and calibrated is not None and labels is not None:
            self.known_, self.checks_ = True, self.alpha is not None and k <= MOST_CLASSES
            self._band = PriorBand().fit(calibrated, labels, source_prior)
            self._band_takes_rounds = self._band.needs_rounds(tracker)
            self._accuracy = AccuracyEstimate().fit(calibrated, labels, source_prior)
            if self.alpha is not None and self.checks_:
                self.check_ = AssumptionCheck(self.alpha).fit(raw, labels, names)
                self._unknown = UnknownMass(window=2000 // _ONE_IN).fit(raw, labels)
                self.explained_ = ExplainedShare().fit(raw, labels)
        self._begin()
        return self

    def _begin(self) -> None:
        self._rows = np.empty((COLLECTED, len(self.source_prior_)))
        self._n_rows, self._n_rounds = 0, 0
        self._begins = True
        self._past_evidence = 1.0
        self._past_findings: list[Finding] = []
        self._mix: LabelledMix | None = None

    def reset(self) -> None:
        """Forget the stream."""
        self.dependence_.reset()
        if self.known_:
            self._band.reset()
            self._accuracy.reset()
        if self.checks_:
            self.check_.reset()
            self._unknown.reset()
            self.explained_.reset()
        self._begin()

    def restart(self, birth: FloatArray) -> None:
        """Go on from a class mix that a person knows."""
        if self.known_:
            self._band.reset(birth)
        self._mix = None

    def take_in(self, seen: Round, tracker: Tracker) -> Verdict | None:
        """Take in a round.

        Parameters
        ----------
        seen : Round
        tracker : Tracker
            The adapter's, after the round.

        Returns
        -------
        Verdict or None
            None while rows are being collected.
        """
        raw, n = seen.raw, len(seen.raw)
        if self.known_ and n > 0:
            starts = one_batch(n)
            weights = None if seen.chosen is None else 1.0 / seen.chosen
            told = (seen.labels, seen.predicted, weights)
            self._accuracy.take_in(seen.calibrated, seen.adapted, seen.used[np.newaxis], starts, *told)
            if self._mix is not None or seen.labels is not None:
                self._counting().take_in(seen.adapted, seen.tracked, seen.labels, weights)
            if self._band_takes_rounds:
                self._band.update(seen.calibrated, tracker, seen.labels)
        if self.alpha is None:
            return None
        self._n_rounds += 1
        rows = raw[:: self._stride(n)]
        before, n = self._n_rows, len(rows)
        if before + n > COLLECTED:
            together = np.concatenate([self._rows[:before], rows])
            return self._evaluate(together, together if n == len(raw) else raw[:MOST])
        self._rows[before : before + n] = rows
        self._n_rows += n
        if self._n_rows == COLLECTED:
            return self._evaluate(self._rows, self._rows if n == len(raw) else raw[:MOST])
        if self._begins and any(before < early <= self._n_rows for early in EARLY):
            self._compare(self._rows[: self._n_rows])
            return Verdict(alarm=False, dependent=self.dependence_.dependent_, rounds=0)
        return None

    def _stride(self, n: int) -> int:
        """Return which samples of a round of n are looked at: every one, every second one, every third one, ..."""
        few = math.isqrt(n // 6)
        if few > 1 and self.checks_ and (self.check_.rounds_ >= ABOUND or self.check_.samples_ >= ENOUGH):
            return few
        return max(1, n // MOST)

    def _counting(self) -> LabelledMix:
        if self._mix is None:
            self._mix = LabelledMix(len(self.source_prior_))
        return self._mix

    def places(self, n: int) -> IntArray:
        """Return the numbers of the next n samples, whose labels may come later; -1 where nothing learns from them."""
        return self._counting().seen_ + np.arange(n) if self.known_ else np.full(n, -1)

    def take_late(
        self,
        places: IntArray,
        adapted: FloatArray,
        predicted: IntArray,
        labels: IntArray,
        chosen: FloatArray | None = None,
    ) -> None:
        """Take in labels of samples of earlier rounds, as if they had come with them.

        Parameters
        ----------
        places : (n,) array of int
            Their numbers; those of -1 are left out.
        adapted, predicted, labels, chosen
            As in `Round`.
        """
        kept = np.flatnonzero(places >= 0)
        if len(kept) == 0 or self._mix is None or not self.known_:
            return
        places, adapted, labels = places[kept], adapted[kept], labels[kept]
        weights = None if chosen is None else 1.0 / chosen[kept]
        self._mix.take_late(places, adapted, labels, weights)
        ages = self._mix.seen_ - 1 - places
        self._accuracy.take_late(ages, predicted[kept] == labels, adapted.max(axis=1), weights)

    def _compare(self, neighbours: FloatArray) -> None:
        """Compare neighbours; the first ones, which were looked at early, once more from the beginning."""
        if self._begins:
            self.dependence_.reset()
        self.dependence_.take_in(neighbours)

    def _evaluate(self, rows: FloatArray, neighbours: FloatArray) -> Verdict:
        """Look at the rows that were collected."""
        alarm = False
        self._compare(neighbours)
        if self.checks_:
            self.check_.take_in(rows, self._n_rounds)
            self.explained_.take_in(rows)
            alike = self.check_.comparable(rows[::_ONE_IN])
            if alike is not None:
                self._unknown.take_in(alike)
            alarm = self.check_.alarm_
        if alarm:
            self._past_evidence, self._past_findings = self.check_.evidence_, self.check_.explain()
            self.check_.reset()  # so that it can tell when the alarm is over
        shares = (self.explained_.explained_, self.explained_.unexplained_) if self.checks_ else (False, False)
        verdict = Verdict(alarm, self.dependence_.dependent_, self._n_rounds, *shares)
        self._n_rows, self._n_rounds, self._begins = 0, 0, False
        return verdict

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

    def evidence(self, *, in_alarm: bool) -> float:
        """Evidence against label shift, 1 for none; while an alarm lasts, at least that which raised it."""
        if not self.checks_:
            return 1.0
        return max(self._past_evidence if in_alarm else 1.0, self.check_.evidence_)

    def findings(self, *, in_alarm: bool) -> list[Finding]:
        """The strongest signs that something else than the class mix has changed."""
        if not self.checks_:
            return []
        evidence, findings = (self._past_evidence, self._past_findings) if in_alarm else (1.0, [])
        return findings if evidence > self.check_.evidence_ else self.check_.explain()

    @property
    def unknown_mass_(self) -> float:
        """The share of the last samples that fits no class."""
        return self._unknown.mass_ if self.checks_ else 0.0

    def without_unknown(self, prior: FloatArray) -> FloatArray:
        """A class mix without the unknown mass that it was booked to."""
        return self._unknown.without_unknown(prior) if self.checks_ else prior.copy()

    def interval(self, prior: FloatArray, tracker: Tracker, level: float, *, labels: bool = True) -> FloatArray:
        """The band of `LabelledMix` where there are labels, and they are to be used; else that of `PriorBand`."""
        self._require("a band")
        if self._mix is None or not (labels and self.mix_by_labels_):
            return self._band.interval(prior, tracker, level)
        return self.interval_by_labels(prior, tracker, level)

    def interval_by_labels(self, prior: FloatArray, tracker: Tracker, level: float) -> FloatArray:
        """The band of `LabelledMix`, however few labels there are; 0 and 1 without any."""
        self._require("a band")
        check_real(level, "level", 0.0, 1.0, closed=False)
        if self._mix is None:
            return np.tile([0.0, 1.0], (len(prior), 1))
        low, high = self._mix.limits(prior, *self._band.ahead(tracker), level).T
        return np.column_stack([np.minimum(low, prior), np.maximum(high, prior)])

    @property
    def mix_by_labels_(self) -> bool:
        """True if there are labels enough for the band of `LabelledMix`, which does not rely on label shift."""
        return self._mix is not None and self._mix.labels_ >= FEWEST

    def spread(self, mixes: FloatArray) -> LabelSpread:
        """The spread of `PriorBand`."""
        self._require("a band")
        return self._band.spread(mixes)

    def holdout(self) -> tuple[FloatArray, IntArray]:
        """The calibrated holdout, as far as it is kept, and its labels."""
        self._require("a prediction set")
        return self._band.kept()

    def accuracy_estimate(self) -> AccuracyEstimate:
        """The estimate of the accuracy itself."""
        self._require("an accuracy")
        return self._accuracy

    def accuracy(self, level: float) -> Accuracy:
        """The estimate of `AccuracyEstimate`."""
        self._require("an accuracy")
        return self._accuracy.estimate(level)

    @property
    def labels_suffice_(self) -> bool:
        """True if the accuracy is estimated from labels, and relies on nothing else."""
        return self.known_ and self._accuracy.labels_suffice_

    def doubt(self, prior: FloatArray, *, in_alarm: bool) -> Doubt:
        """Return the doubt about estimates that rely on label shift; nothing where the check was switched off."""
        if self.alpha is None or not self.known_:
            return Doubt(0.0, "")
        dependence = self.dependence_
        moved = 0.5 * float(np.abs(prior - self.source_prior_).sum())
        signs = Signs(
            untested=self.untested_,
            alarm=in_alarm,
            evidence=self.evidence(in_alarm=in_alarm),
            needed=1.0 / self.alpha,
            correlation=dependence.correlation_ if dependence.dependent_ else dependence.low_,
            sigma_min=told_apart(*self._band.kept(), self.source_prior_) if moved > MOVED else 1.0,
            moved=moved,
            unknown=self.unknown_mass_,
        )
        return doubt(signs)

    def _require(self, what: str) -> None:
        if not self.known_:
            raise ValueError(f"{what} needs a labelled holdout with every class; fit on one.")

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        findings = [tuple(finding) for finding in self._past_findings]
        state |= {"_rows": self._rows[: self._n_rows].copy(), "_past_findings": findings}
        return {name: value for name, value in state.items() if name != "_mix" or value is not None}

    def set_state(self, state: dict[str, Any]) -> Self:
        self._mix = None
        super().set_state(state)
        rows = self._rows
        self._rows = np.empty((COLLECTED, rows.shape[1]))
        self._rows[: self._n_rows] = rows
        self._past_findings = [Finding(*finding) for finding in self._past_findings]
        return self
