"""Correction: from the tracked class prior, through the gate, to the log-offsets that predictions get."""

from typing import NamedTuple, Self

import numpy as np

from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.simplex import far_apart, log_ratio, project, reweight
from baserate.state import Component
from baserate.state.declarations import Flag, Maybe, Number, Part, Saved, Saves, Text, Together, Whole, floats, priors
from baserate.trust.gate import FAR, Gate
from baserate.trust.monitor import Verdict
from baserate.validation import LEAST_PRIOR

_IN_PART = "on the holdout, weighted to the tracked class mix, a part of the correction does better than all of it"


class Gated(NamedTuple):
    """Class priors as far as the gate lets the correction through, and the log-offsets that lead there.

    Attributes
    ----------
    offsets, used : (k,) or (n, k) arrays
    """

    offsets: FloatArray
    used: FloatArray


def _check_correction(saved: Saved) -> str:
    state, gate = saved.state, saved.state["gate_"]
    lower, upper = state["_bounds"]
    if (lower > upper).any() or lower.sum() > 1.0 + 1e-9 or upper.sum() < 1.0 - 1e-9:
        return "has bounds that no class prior is within"
    if (gate is None) != (saved.params["alpha"] is None):
        return "has a gate that its parameters do not ask for, or none"
    expected = gate.state["weight_"] if gate is not None and saved.params["gated"] else 1.0
    if state["weight_"] != expected:
        return "uses another part of the correction than its gate says"
    if np.isnan(state["offsets_"]).any() or not np.isfinite(state["offsets_"].max()):
        return "has offsets that rule out every class"
    return ""


class Correction(Component, saved_as="correction"):
    """The correction of the moment.

    ``tracked vector -> class prior within the bounds -> gate -> prior used, as log-offsets``

    Parameters
    ----------
    gated : bool
        Whether the gate holds back; otherwise it only notes alarms.
    alpha : float, optional
        The gate's. ``None``: there is no gate.

    Attributes
    ----------
    prior_ : (k,) array
        The class prior as tracked now, within the bounds.
    offsets_, used_ : (k,) arrays
        What predictions use of it: see `Gated`.
    weight_ : float
        The part of the correction that is used, from 0 to 1.
    off_ : bool
        Whether the gate leaves the model alone, uncalibrated, too.
    fallback_, reason_, since_
        Whether less than the whole correction is used, why, and since which round.
    alarm_ : bool
        Whether an alarm of the check of label shift lasts; it ends when a fresh check stays silent.
    """

    saves = Saves(
        params={"gated": Flag(), "alpha": Maybe(Number(0.0, 1.0))},
        state={
            "_source_prior": priors("k", low=LEAST_PRIOR),
            "_bounds": Together((floats("k", low=0.0, high=1.0), floats("k", low=0.0, high=1.0))),
            "gate_": Maybe(Part(Gate, {"k": "k"})),
            "prior_": priors("k"),
            "offsets_": floats("k", high=1e3, finite=False),
            "used_": priors("k"),
            "weight_": Number(0.0, 1.0),
            "off_": Flag(),
            "alarm_": Flag(),
            "fallback_": Flag(),
            "reason_": Text(),
            "since_": Maybe(Whole()),
        },
        check=_check_correction,
    )

    def __init__(self, gated: bool = True, alpha: float | None = 0.05) -> None:
        self.gated = gated
        self.alpha = alpha

    def fit(
        self,
        source_prior: FloatArray,
        bounds: tuple[FloatArray, FloatArray],
        calibrated: FloatArray | None,
        labels: IntArray | None,
    ) -> Self:
        """Learn the source prior, the bounds of class priors, and a holdout with every class, if there is one."""
        self._source_prior, self._bounds = source_prior, bounds
        self.gate_: Gate | None = None
        if self.alpha is not None:
            self.gate_ = Gate(self.alpha).fit(calibrated, labels, source_prior)
        return self

    def start(self, tracked: FloatArray) -> None:
        """Begin a stream at a tracked vector."""
        if self.gate_ is not None:
            self.gate_.reset()
        self.weight_, self.off_, self.alarm_ = 1.0, False, False
        self.fallback_, self.reason_ = False, ""
        self.since_: int | None = None
        self.follow(tracked)

    def follow(self, tracked: FloatArray) -> None:
        """Use a tracked vector."""
        self.prior_ = self.project(tracked[np.newaxis])[0]
        self._refresh()

    def jump(self, tracked: FloatArray, rounds: int) -> None:
        """Use a tracked vector that did not come out of a round: the gate rehearses it before it is predicted by."""
        self.follow(tracked)
        self.heed(None, rounds)

    def heed(self, verdict: Verdict | None, rounds: int) -> None:
        """Let the gate decide again.

        Parameters
        ----------
        verdict : Verdict, optional
            What the trust monitor found. Without one, the gate rehearses the class prior if it is far from the last
            one that was rehearsed.
        rounds : int
            Rounds of the stream until now.
        """
        if self.gate_ is None:
            return
        if verdict is not None:
            self.gate_.update(self.prior_, verdict.alarm, verdict.rounds, dependent=verdict.dependent)
            self._decided(self.gate_, rounds)
        elif far_apart(self.prior_, self.gate_.rehearsed_at_, FAR):
            self.gate_.update(self.prior_, rounds=0)
            self._decided(self.gate_, rounds)

    def judge(
        self,
        corrected: FloatArray,
        own: IntArray,
        labels: IntArray,
        rounds: int,
        probabilities: FloatArray | None = None,
    ) -> None:
        """Let labels say whether the full correction is better than the model left alone.

        Parameters
        ----------
        corrected : (n, k) array
            Probabilities, or multiples of them, after the full correction, whatever was used.
        own : (n,) array of int
            The classes that the model itself predicted.
        labels : (n,) array of int
        rounds : int
            Rounds of the stream until now.
        probabilities : (n,) array, optional
            The probability with which each sample was chosen for a label. Default: the same for all.
        """
        if self.gate_ is None:
            return
        known = labels != UNLABELLED
        told = labels[known]
        wrong = (corrected[known].argmax(axis=1) != told).astype(np.float64)
        chosen = None if probabilities is None else probabilities[known]
        self.gate_.update_labels(wrong, (own[known] != told).astype(np.float64), chosen)
        self._decided(self.gate_, rounds)

    def _decided(self, gate: Gate, rounds: int) -> None:
        """Take over what the gate has decided."""
        self.alarm_ = gate.doubted_
        if not self.gated:
            return
        self.off_, self.fallback_ = gate.off_, gate.weight_ < 1.0
        self.reason_ = gate.reason_ or (_IN_PART if self.fallback_ else "")
        if not self.fallback_:
            self.since_ = None
        elif self.since_ is None:
            self.since_ = rounds
        if self.weight_ != gate.weight_:
            self.weight_ = gate.weight_
            self._refresh()

    def _refresh(self) -> None:
        self.offsets_, self.used_ = self.through_gate(self.prior_)

    def project(self, tracked: FloatArray) -> FloatArray:
        """Class priors out of tracked vectors, one per row: the nearest within the bounds."""
        return project(tracked, *self._bounds)  # Alg. 1, line 2

    def through_gate(self, priors: FloatArray) -> Gated:
        """Class priors, one or many, as far as the gate lets the correction through."""
        offsets = log_ratio(priors, self._source_prior)
        if self.weight_ == 1.0:
            return Gated(offsets, priors)
        offsets = self.weight_ * offsets if self.weight_ > 0.0 else np.zeros_like(offsets)
        used = self._source_prior * np.exp(offsets)
        return Gated(offsets, used / used.sum(axis=-1, keepdims=True))

    def apply(self, calibrated: FloatArray, offsets: FloatArray) -> FloatArray:
        """Probabilities of a calibrated batch, corrected by log-offsets for all of it or for each sample."""
        if offsets.ndim == 1:
            return reweight(calibrated, offsets[np.newaxis], np.array([0, len(calibrated)]))  # Alg. 1, line 3
        return reweight(calibrated, offsets, np.arange(len(calibrated) + 1))

    def candidates(self, calibrated: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the corrections that labels choose among.

        Returns
        -------
        weights : (m,) array
            How likely each is the best one.
        tables : (m, n, k) array
            What each makes of a calibrated batch: no correction, all of it, and the part that is used now.
        """
        full = log_ratio(self.prior_, self._source_prior)
        tables = [calibrated, self.apply(calibrated, full), self.apply(calibrated, self.offsets_)]
        return np.full(3, 1.0 / 3.0), np.array(tables)
