"""Correction: from the tracked class prior, through gate and portfolio, to the probabilities that are predicted."""

from typing import Any, NamedTuple, Self

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.simplex import far_apart, log_ratio, one_batch, project, reweight
from baserate.state import Component
from baserate.state.declarations import Flag, Maybe, Number, Part, Saved, Saves, Text, Together, Whole, floats, priors
from baserate.trust.gate import FAR, Gate
from baserate.trust.portfolio import Blend, Portfolio, Proposals
from baserate.trust.seen import Verdict
from baserate.validation import LEAST_PRIOR

_IN_PART = "on the holdout, weighted to the tracked class mix, a part of the correction does better than all of it"
_BY_LABELS = "labels are predicted better with less of the tracked class mix"
_HALF = 0.5  # part of the tracked correction below which labels count as speaking against it


class Applied(NamedTuple):
    """A correction of one batch: how class priors are used, for all samples or for each.

    Attributes
    ----------
    offsets, used : (k,) or (n, k) arrays
        Log-offsets, and the class priors they lead to.
    blend : Blend or None
        The rest of the mixture, once labels have come.
    """

    offsets: FloatArray
    used: FloatArray
    blend: Blend | None = None


def _check_correction(saved: Saved) -> str:
    state, gate, portfolio = saved.state, saved.state["gate_"], saved.state["portfolio_"]
    lower, upper = state["_bounds"]
    if (lower > upper).any() or lower.sum() > 1.0 + 1e-9 or upper.sum() < 1.0 - 1e-9:
        return "has bounds that no class prior is within"
    if (gate is None) != (saved.params["alpha"] is None):
        return "has a gate that its parameters do not ask for, or none"
    if (portfolio is None) != (gate is None or not saved.params["gated"]):
        return "has a portfolio that its parameters do not ask for, or none"
    if portfolio is not None and not np.array_equal(portfolio.state["_source_prior"], state["_source_prior"]):
        return "has a portfolio of another source prior"
    expected = gate.state["weight_"] if gate is not None and portfolio is not None else 1.0
    dependent = gate.state["_dependent"] if gate is not None and portfolio is not None else False
    if tuple(state["_default"]) != (expected, dependent):
        return "uses another correction by default than its gate says"
    if (portfolio is None or portfolio.state["labels_"] == 0) and state["weight_"] != expected:
        return "uses another part of the correction than its gate says"
    if np.isnan(state["offsets_"]).any() or not np.isfinite(state["offsets_"].max()):
        return "has offsets that rule out every class"
    return ""


class Correction(Component, saved_as="correction", layout=2):
    """The correction of the moment.

    ``tracked vector -> class prior within the bounds -> gate -> portfolio, once labels come -> probabilities``

    Parameters
    ----------
    gated : bool
        Whether the gate holds back and labels choose; otherwise the gate only notes alarms.
    alpha : float, optional
        ``None``: there is no gate.

    Attributes
    ----------
    prior_ : (k,) array
        The class prior as tracked now, within the bounds.
    offsets_, used_ : (k,) arrays
        What predictions use, as one number for each class: see `Applied`.
    weight_ : float
        The part of the correction that is used, from 0 to 1.
    off_ : bool
        Whether the model is left alone, uncalibrated, too.
    fallback_, reason_, since_
        Whether less than the whole correction is used (once labels have come: less than half), why, and since which
        round.
    alarm_ : bool
        Whether an alarm of the check of label shift lasts; it ends when a fresh check stays silent.
    """

    saves = Saves(
        params={"gated": Flag(), "alpha": Maybe(Number(0.0, 1.0))},
        state={
            "_source_prior": priors("k", low=LEAST_PRIOR),
            "_bounds": Together((floats("k", low=0.0, high=1.0), floats("k", low=0.0, high=1.0))),
            "gate_": Maybe(Part(Gate, {"k": "k"})),
            "portfolio_": Maybe(Part(Portfolio, {"k": "k"}, fitted=True)),
            "prior_": priors("k"),
            "offsets_": floats("k", high=1e3, finite=False),
            "used_": priors("k"),
            "weight_": Number(0.0, 1.0),
            "_default": Together((Number(0.0, 1.0), Flag())),
            "_gate_reason": Text(),
            "off_": Flag(),
            "alarm_": Flag(),
            "fallback_": Flag(),
            "reason_": Text(),
            "since_": Maybe(Whole()),
        },
        check=_check_correction,
    )

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read layout 1, in which samples that repeat each other could be discounted; now the model is left alone."""
        if not state:
            return params, state
        part, alone, discounts = state["_default"]
        return params, {**state, "_default": (part, alone or discounts)}

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
        self.portfolio_: Portfolio | None = None
        if self.alpha is not None:
            self.gate_ = Gate().fit(calibrated, labels, source_prior)
            self.portfolio_ = Portfolio().fit(source_prior) if self.gated else None
        return self

    def start(self, tracked: FloatArray) -> None:
        """Begin a stream at a tracked vector."""
        if self.gate_ is not None:
            self.gate_.reset()
        if self.portfolio_ is not None:
            self.portfolio_.reset()
        self.alarm_ = False
        self._default, self._gate_reason = (1.0, False), ""  # what the gate says: part, model alone
        self.since_: int | None = None
        self.follow(tracked)

    def restart(self, tracked: FloatArray, rounds: int) -> None:
        """Go on from a class mix that a person knows."""
        if self.portfolio_ is not None:
            self.portfolio_.restart(self.project(tracked[np.newaxis])[0])
        self.jump(tracked, rounds)

    def follow(self, tracked: FloatArray, rounds: int = 0) -> None:
        """Use a tracked vector, and what labels have said, after so many rounds."""
        self.prior_ = self.project(tracked[np.newaxis])[0]
        self._refresh(rounds)

    def jump(self, tracked: FloatArray, rounds: int) -> None:
        """Use a tracked vector that did not come out of a round: the gate rehearses it before it is predicted by."""
        self.follow(tracked, rounds)
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
        gate = self.gate_
        if gate is None:
            return
        if verdict is not None:
            gate.take_in(
                self.prior_,
                verdict.alarm,
                verdict.rounds,
                dependent=verdict.dependent,
                explained=verdict.explained,
                unexplained=verdict.unexplained,
            )
            self._decided(rounds)
            return
        if far_apart(self.prior_, gate.rehearsed_at_, FAR):
            gate.take_in(self.prior_, rounds=0)
            self._decided(rounds)

    def take_in(
        self, raw: FloatArray, calibrated: FloatArray, labels: IntArray | None, chosen: FloatArray | None = None
    ) -> None:
        """Let a round's samples and labels say which correction is best; before what they say is followed."""
        if self.portfolio_ is not None and len(raw) > 0:
            self.portfolio_.take_in(raw, calibrated, labels, self._proposals(), chosen)

    @property
    def learned_(self) -> int:
        """Labels that corrections have been learned from."""
        return 0 if self.portfolio_ is None else self.portfolio_.learned_

    def judge(
        self,
        raw: FloatArray,
        calibrated: FloatArray,
        labels: IntArray,
        chosen: FloatArray | None = None,
        learned: int | None = None,
    ) -> None:
        """Let late labels say which correction is best; before what they say is followed.

        `learned` is `learned_` as it was in the round of the samples.
        """
        if self.portfolio_ is not None:
            self.portfolio_.learn(raw, calibrated, labels, self._proposals(), chosen, learned)

    def candidates(self, calibrated: FloatArray, raw: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the candidate corrections of a batch; changes nothing.

        Parameters
        ----------
        calibrated : (n, k) array
        raw : (n, k) array, optional
            The model's own probabilities. Default: the calibrated ones.

        Returns
        -------
        weights : (m,) array
        tables : (m, n, k) array
            Each candidate's probabilities. Without a gate there is one candidate.
        """
        if self.portfolio_ is None:
            return np.ones(1), self.apply(calibrated, calibrated, self._now)[np.newaxis]
        return self.portfolio_.candidates(calibrated if raw is None else raw, calibrated, self._proposals())

    def _proposals(self) -> Proposals:
        return Proposals(self.prior_, *self._default)

    def _decided(self, rounds: int) -> None:
        """Take over what the gate has decided."""
        if self.gate_ is None:
            return
        self.alarm_ = self.gate_.doubted_
        if self.portfolio_ is not None:
            self._default = self.gate_.weight_, self.gate_.off_
            self._gate_reason = self.gate_.reason_
            self._refresh(rounds)

    def _refresh(self, rounds: int) -> None:
        """Set what predictions use, and what is said of it."""
        self._now = self.applied(self.prior_)
        self.offsets_, self.used_, blend = self._now
        part, alone = self._default
        if blend is None:
            self.weight_, self.off_, self.fallback_ = part, alone, part < 1.0
            reason = self._gate_reason or _IN_PART
        else:
            self.weight_, self.off_, self.fallback_ = min(blend.tracked, 1.0), False, blend.tracked < _HALF
            reason = self._gate_reason or _BY_LABELS
        self.reason_ = reason if self.fallback_ else ""
        if not self.fallback_:
            self.since_ = None
        elif self.since_ is None:
            self.since_ = rounds

    def now(self) -> Applied:
        """Return the correction at the class prior as tracked."""
        return self._now

    def project(self, tracked: FloatArray) -> FloatArray:
        """Class priors out of tracked vectors, one per row: the nearest within the bounds."""
        return project(tracked, *self._bounds)  # Alg. 1, line 2

    def applied(self, priors: FloatArray) -> Applied:
        """Class priors, one or many, as far as gate and labels let the correction through."""
        part, portfolio = self._default[0], self.portfolio_
        if portfolio is not None and portfolio.labels_ > 0:
            blend = portfolio.blend(self._proposals())
            return Applied(*portfolio.correct(blend, priors), blend)
        offsets = log_ratio(priors, self._source_prior)
        if portfolio is None or part == 1.0:
            return Applied(offsets, priors)
        offsets = part * offsets if part > 0.0 else np.zeros_like(offsets)
        used = self._source_prior * np.exp(offsets)
        used /= np.add.reduce(used, axis=-1, keepdims=True)
        return Applied(offsets, used)

    def apply(self, raw: FloatArray, calibrated: FloatArray, applied: Applied) -> FloatArray:
        """Probabilities of a batch, the model's own and calibrated, after a correction."""
        offsets, blend = applied.offsets, applied.blend
        if blend is not None and self.portfolio_ is not None:
            return self.portfolio_.apply(raw, calibrated, blend, offsets)
        if offsets.ndim == 1:
            return reweight(calibrated, offsets[np.newaxis], one_batch(len(calibrated)))  # Alg. 1, line 3
        return reweight(calibrated, offsets, np.arange(len(calibrated) + 1))

    def get_state(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_state().items() if name != "_now"}

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        part, alone = self._default
        self._default = part, alone
        self._now = self.applied(self.prior_)
        return self
