"""AssumptionCheck: tests whether a stream is still label shift, or something other than the class mix has changed."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.class_labels import called
from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import SHARE, Flag, Maybe, Part, Saved, Saves, Text, Whole, flags
from baserate.trust.assumption.bets import Bets
from baserate.trust.assumption.findings import Finding, to_findings
from baserate.trust.assumption.hull import HullTest
from baserate.trust.assumption.moments import MomentTest
from baserate.trust.assumption.requirements import MOST_CLASSES
from baserate.trust.assumption.rounding import (
    GRIDS,
    coarsest,
    from_three_grids,
    normalised,
    on_grids,
    rounded,
)
from baserate.validation import check_fitted, check_holdout, check_proba, check_real

FEWEST = 50
"""Samples that a holdout must have."""
_HALF = 0.5  # of the error probability, for moments where they are tested, and of the rest for bets
_BEFORE = "the state is from an earlier version, which kept too little of the holdout; fit again."
_OF_TESTS = ("_bets", "_hull", "_grid", "_on")


def _fits_together(saved: Saved) -> str:
    state = saved.state
    if state["testable_"] == bool(state["reason_"]):
        return "is tested for a reason not to, or the other way round"
    if state["alarm_"] != (state["since_"] is not None) or (state["since_"] or 0) > state["rounds_"]:
        return "gave an alarm at no time, or the other way round"
    if any((name in state) != state["testable_"] for name in _OF_TESTS):
        return "has the state of a test without one, or the other way round"
    if "_moments" in state and not state["testable_"]:
        return "has the state of a test without one"
    return "has an alarm without a test" if state["alarm_"] and not state["testable_"] else ""


class AssumptionCheck(Component, saved_as="assumption_check", layout=3):
    """Tests a model's outputs for changes that no class mix explains: new classes, noise, drifting classes.

    Up to three tests run side by side. `HullTest` compares counts of the outputs with all mixtures of the holdout's
    classes; it works for weak models and for rare classes, too. Where the holdout has 20 samples of every class, and
    there are at most 30 classes, `MomentTest` does the same with means of log-probabilities, their squares and
    products. The error probabilities of both are those of chi-squared, F and normal approximations and have been
    measured; they are not proved. Where the model also tells the classes apart, there are `Bets`, whose error
    probability holds over an endless stream with any path of the class mix, but for second-order errors of the holdout.
    Moments have half of `alpha` where they are tested; hull and bets share the rest.

    Samples must be independent of one another, given the class mix; and neither the class mix nor the end of a round
    may depend on the model's outputs in the round. Outputs that are rounded, to two to six decimals or to float16, are
    compared with a holdout that is rounded alike; bets and moments rest meanwhile.

    Not every change can be detected. The check stays silent if the new outputs look like a mixture of the classes' old
    ones, whatever has happened to the accuracy. Silence does not prove label shift.

    Parameters
    ----------
    alpha : float
        The acceptable probability of a false alarm, over the whole life of the check.

    Attributes
    ----------
    evidence_ : float
        The strongest evidence of all looks so far: 1 for none, an alarm from 1 / alpha on. That of the hull ends at a
        million, as no approximation says more.
    alarm_ : bool
        True once there has been an alarm, until `reset`.
    since_ : int or None
        The number of rounds at the alarm.
    rounds_ : int
        The number of rounds so far.
    testable_ : bool
        True if the holdout is good enough to test with: at least 50 samples, one of every class. If not, the evidence
        stays at 1; see `reason_`.
    reason_ : str
        The reason why nothing is tested; empty if it is.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def model_outputs(n, share, noise=1.0):
    ...     y = (rng.random(n) < share).astype(int)
    ...     odds = np.exp(2.0 * (2.0 * y - 1.0 + noise * rng.standard_normal(n)))
    ...     return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y
    >>> check = AssumptionCheck().fit(*model_outputs(1000, 0.5))
    >>> for t in range(200):
    ...     check.update(model_outputs(10, share=0.9)[0])
    >>> check.alarm_
    False
    >>> for t in range(200):
    ...     check.update(model_outputs(10, share=0.9, noise=2.0)[0])
    >>> check.alarm_
    True
    """

    saves = Saves(
        params={"alpha": SHARE},
        state={
            "n_classes_": Whole(2, size="k"),
            "testable_": Flag(),
            "reason_": Text(),
            "rounds_": Whole(),
            "alarm_": Flag(),
            "since_": Maybe(Whole()),
            "_bets": Part(Bets, {"k": "k"}, fitted=True),
            "_hull": Part(HullTest, {"k": "k"}, fitted=True),
            "_grid": Whole(0, len(GRIDS)),
            "_on": flags(len(GRIDS)),
            "_moments": Part(MomentTest, {"k": "k"}, fitted=True),
        },
        optional=(*_OF_TESTS, "_moments"),
        may_be_empty=True,
        check=_fits_together,
    )

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read layout 1, which kept less of the holdout than is tested with now, and 2, which had no moments."""
        if not state:
            return params, state
        if layout == 2:
            if not state["testable_"]:
                return params, state
            grid = state["_grid"] + (len(GRIDS) - len(state["_on"]) if state["_grid"] else 0)
            return params, {**state, "_grid": grid, "_on": from_three_grids(state["_on"][np.newaxis])[0]}
        anew = {"testable_": False, "reason_": _BEFORE, "alarm_": False, "since_": None}
        return params, {**{name: state[name] for name in ("n_classes_", "rounds_")}, **anew}

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = alpha

    def fit(self, proba: ArrayLike, y: ArrayLike, names: Sequence[Any] | None = None) -> Self:
        """Learn the classes from a labelled holdout, and start anew.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on the holdout, computed in the same way as those of the stream. If a calibrator
            was fitted on this holdout, give uncalibrated ones.
        y : (n,) array of int
            Labels. A holdout that is too small is accepted, but nothing is tested: see `testable_`.
        names : sequence, optional
            What to call the classes in `reason_`. Default: their numbers.
        """
        check_real(self.alpha, "alpha", 0.0, 1.0, closed=False)
        rows, labels = check_holdout(proba, y, every_class=False)
        self.n_classes_ = rows.shape[1]
        for name in _OF_TESTS:  # of another holdout
            self.__dict__.pop(name, None)
        self._moments: MomentTest | None = None
        self.reason_ = _untestable(labels, rows.shape[1], names)
        self.testable_ = not self.reason_
        if self.testable_:
            self._grid = coarsest(on_grids(rows))
            self._hull = HullTest().fit(rows, labels)
            if MomentTest.suits(labels, rows.shape[1]):
                self._moments = MomentTest().fit(rows, labels)
            self._bets = Bets(alpha=_HALF * (1.0 - self._for_moments()) * self.alpha).fit(rows, labels)
        self._start()
        return self

    def _start(self) -> None:
        self.rounds_, self.alarm_ = 0, False
        self.since_: int | None = None
        if self.testable_:
            # Rounded until a row is seen that is not.
            self._on = np.full(len(GRIDS), True)
            self._bets.reset()
            if self._moments is not None:
                self._moments.start()
            self._hull.start(max(self._grid, coarsest(self._on)))

    def hull(self) -> tuple[HullTest | None, int]:
        """Return the test by counts, None where nothing is tested, and the grid that the holdout's outputs are on."""
        check_fitted(self, "testable_")
        return (self._hull, self._grid) if self.testable_ else (None, 0)

    @property
    def bets_(self) -> bool:
        """True if part of the evidence is valid at any time."""
        check_fitted(self, "testable_")
        return self.testable_ and self._bets.testable_

    @property
    def samples_(self) -> int:
        """The number of samples that were looked at since the start, or since rounding to another grid; 0 untested."""
        return self._hull.n_samples if self.testable_ else 0

    @property
    def evidence_(self) -> float:
        check_fitted(self, "testable_")
        return float(np.exp(min(max(self._logs()), 700.0))) if self.testable_ else 1.0

    def _for_moments(self) -> float:
        """Return the share of the error probability that moments have."""
        return 0.0 if self._moments is None else _HALF

    def _shares(self) -> tuple[float, float, float]:
        """Return the shares of the error probability for the hull, the bets and the moments."""
        rest = 1.0 - self._for_moments()
        bets = _HALF * rest if self._bets.testable_ else 0.0
        return rest - bets, bets, self._for_moments()

    def _logs(self) -> tuple[float, float, float]:
        """Logarithms of the evidence of the hull, the bets and the moments, each less the cost of looking at all."""
        found = (
            self._hull.log_evidence,
            self._bets.log_evidence_ if self._bets.testable_ else 0.0,
            0.0 if self._moments is None else self._moments.log_evidence,
        )
        hull, bets, of_moments = (
            max(log + math.log(share), 0.0) if share > 0.0 else 0.0
            for log, share in zip(found, self._shares(), strict=True)
        )
        return hull, bets, of_moments

    def reset(self) -> None:
        """Forget the stream, and the alarm; keep the holdout.

        The error probability holds anew from each reset on.
        """
        check_fitted(self, "testable_")
        self._start()

    def update(self, proba: ArrayLike) -> None:
        """Update with one round, which may be empty.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities, computed in the same way as those of the holdout.
        """
        check_fitted(self, "testable_")
        self.take_in(check_proba(proba, self.n_classes_))

    def take_in(self, rows: FloatArray, rounds: int = 1) -> None:
        """Do what `update` does, without checks, for callers that have made them: float64, C-contiguous rows.

        Several rounds may be given at once; looks then come after the last of them.
        """
        self.rounds_ += rounds
        if not self.testable_ or len(rows) == 0:
            return
        if self._on.any():
            self._on = self._on & on_grids(rows)
            grid = max(self._grid, coarsest(self._on))
            if grid != self._hull.grid:
                self._hull.turn_to(grid)
        alike = rows
        if coarsest(self._on) < self._grid:
            alike = rounded(rows, self._grid)
        elif self._hull.grid > 0:
            alike = normalised(rows)
        self._hull.add(alike)
        if self._hull.grid == self._grid:
            if self._bets.testable_:
                self._bets.take_in(alike, rounds)
            if self._moments is not None:
                self._moments.add(alike)
        if not self.alarm_ and max(self._logs()) >= -math.log(self.alpha):
            self.alarm_, self.since_ = True, self.rounds_

    def comparable(self, rows: FloatArray) -> FloatArray | None:
        """Return rows that were taken in as they compare with the holdout as it is: rounded where it is.

        None while the stream is rounded, or may be, and the holdout is not: then they do not compare.
        """
        check_fitted(self, "testable_")
        if not self.testable_:
            return rows
        if coarsest(self._on) > self._grid:
            return None
        return rounded(rows, self._grid) if coarsest(self._on) < self._grid else rows

    def explain(self) -> list[Finding]:
        """Return the largest deviations at the look that gave `evidence_`, strongest first; empty without evidence."""
        check_fitted(self, "testable_")
        if not self.testable_:
            return []
        logs = self._logs()
        if max(logs) == 0.0:
            return []
        strongest = logs.index(max(logs))
        if strongest == 1:
            found = self._bets.explain()
        else:
            of = self._hull if strongest == 0 or self._moments is None else self._moments
            found = to_findings(of.findings, np.zeros((0, 0)))
        share = self._shares()[strongest]
        return [finding._replace(evidence=share * finding.evidence) for finding in found]

    def get_state(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_state().items() if name != "_moments" or value is not None}

    def set_state(self, state: dict[str, Any]) -> Self:
        self._moments = None
        return super().set_state(state)


def _untestable(labels: IntArray, n_classes: int, names: Sequence[Any] | None) -> str:
    """Return why a holdout cannot be tested with, or ``""``."""
    if n_classes > MOST_CLASSES:
        return f"there are {n_classes} classes; label shift is tested for up to {MOST_CLASSES}."
    if len(labels) < FEWEST:
        return f"the holdout has {len(labels)} samples; testing label shift takes at least {FEWEST}."
    counts = np.bincount(labels, minlength=n_classes)
    if counts.min() == 0:
        return f"the holdout has no sample of class {called(int(counts.argmin()), names)}."
    return ""
