"""Bets: evidence against label shift that is valid at any time, where the holdout tells the classes apart."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import (
    LONGEST,
    SHARE,
    Flag,
    Maybe,
    Number,
    Part,
    Saved,
    Saves,
    Text,
    Together,
    Whole,
    floats,
    ints,
)
from baserate.trust.assumption.directions import Directions
from baserate.trust.assumption.findings import (
    NUMBERS,
    SCORES,
    Finding,
    ScoreTest,
    are_findings,
    direction_finding,
    strongest_regions,
    to_findings,
)
from baserate.trust.assumption.regions import (
    DOUBT_EDGES,
    DOUBT_GRADES,
    EVEN_GRADES,
    LEAST_LOG,
    RANGES,
    References,
    add_rows,
    count_cells,
    references,
    regions,
    strangeness_edges,
)
from baserate.trust.assumption.requirements import (
    FEWEST,
    LEAST_SINGULAR,
    MOST_CLASSES,
    least_singular,
    too_alike,
    too_few,
)
from baserate.trust.assumption.schedule import WINDOWS, due, spent
from baserate.trust.assumption.two_samples import log_evidence, residuals
from baserate.validation import check_fitted, check_holdout, check_proba, check_real

_REFERENCE_STEP = 4  # one in so many samples of the holdout is a reference row, for measuring strangeness
_MOST_REFERENCES = 500  # each row of the stream is compared with all of them
_MOST_LOOKS = 200  # more than a stream of any length has
_OF_HOLDOUT = ("_references", "_edges", "_holdouts", "_directions")
_OF_STREAM = ("_counts", "_sizes", "_turns", "_looks")


def _fits_together(saved: Saved) -> str:
    state, k = saved.state, saved.sizes["k"]
    kept = [name in state for name in _OF_HOLDOUT]
    running = [name in state for name in _OF_STREAM]
    if state["testable_"] == bool(state["reason_"]):
        return "is tested for a reason not to, or the other way round"
    if state["alarm_"] != (state["since_"] is not None) or (state["since_"] or 0) > state["rounds_"]:
        return "gave an alarm at no time, or the other way round"
    if not state["testable_"]:
        silent = state["_log_evidence"] == 0.0 and len(state["_findings"]) == 0 and not state["alarm_"]
        return "" if silent and all(kept) == any(kept) and not any(running) else "has the state of a test without one"
    if not all(kept) or not all(running) or k > MOST_CLASSES:
        return "lacks what it tests with"
    if saved.sizes["cells"] != k * RANGES or not are_findings(state["_findings"], k, RANGES - 1):
        return "has cells or findings of other classes"
    starts = state["_references"][1]
    if len(starts) != k + 1 or starts[0] != 0 or starts[-1] != saved.sizes["references"] or (np.diff(starts) < 0).any():
        return "has references that do not belong together"
    return _holdout_problem(state["_holdouts"]) or _stream_problem(state)


def _holdout_problem(holdouts: FloatArray) -> str:
    everyone, strangers = holdouts
    if everyone.sum(axis=1).min() < FEWEST or strangers.sum(axis=1).min() < 1.0:
        return "has too small a holdout"
    if least_singular(everyone) < 1e-6 or least_singular(strangers) < LEAST_SINGULAR * (1.0 - 1e-9):
        return "has a holdout whose classes are too much alike"
    return ""


def _stream_problem(state: dict[str, Any]) -> str:
    sizes, looks = state["_sizes"].tolist(), state["_looks"].tolist()
    if (state["_counts"].sum(axis=2) != state["_sizes"] + state["_pending"]).any():
        return "counts other samples than it says"
    for window, (size, look) in enumerate(zip(sizes, looks, strict=True)):
        if size >= due(window, look) or 0 < WINDOWS[window] <= size:
            return "missed a look"
    return ""


class Bets(Component, saved_as="assumption_bets"):
    """Bets against label shift: evidence that is valid at any time, where the holdout tells the classes apart.

    Label shift changes the class mix and leaves each class as it is. So, given the predicted class, the shares of
    unconfident and of unusual rows are fixed, whatever the mix. These shares are compared with the labelled holdout's,
    in interim tests (*looks*) that become rarer as the stream grows. In addition, directions in which the past of the
    stream differs from the holdout are tested on later samples; these find classes that the model has never seen. The
    evidence of a look is a product of bets on the stream and on the holdout together, so that the holdout's sampling
    error is allowed for, however long the stream.

    The probability of ever raising a false alarm, over an endless stream with any path of the class mix, is at most
    `alpha`, apart from two approximations: the correction for the predicted class is estimated from the holdout, and
    second-order errors of it are ignored; and the size of a bet depends on the variance at the look.

    Parameters
    ----------
    alpha : float
        The acceptable probability of a false alarm, over the whole life of the check.

    Attributes
    ----------
    evidence_ : float
        The strongest evidence of all looks so far: 1 for none, an alarm from 1 / alpha on. Its inverse is a p-value
        that is valid at any time.
    alarm_ : bool
        True once there has been an alarm, until `reset`.
    since_ : int or None
        The number of rounds at the alarm.
    rounds_ : int
        The number of rounds so far.
    testable_ : bool
        True if the holdout is good enough to test with. If not, the evidence stays at 1; see `reason_`.
    reason_ : str
        The reason why nothing is tested; empty if it is.
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
            "_pending": Whole(),
            "_log_evidence": Number(0.0, 1e40),
            "_findings": floats("findings", NUMBERS, finite=False),
            "_references": Together((floats("k", "references", low=LEAST_LOG, high=0.01), ints("starts", low=0))),
            "_edges": floats(len(SCORES), RANGES - 1, low=0.0),
            "_holdouts": floats(len(SCORES), "k", "cells", low=0.0, high=LONGEST),
            "_directions": Part(Directions, {"k": "k"}, fitted=True),
            "_counts": floats(len(SCORES), len(WINDOWS), "cells", low=0.0, high=LONGEST),
            "_sizes": ints(len(WINDOWS), low=0),
            "_turns": ints(len(WINDOWS), low=0),
            "_looks": ints(len(WINDOWS), low=0, high=_MOST_LOOKS),
        },
        optional=(*_OF_HOLDOUT, *_OF_STREAM),
        may_be_empty=True,
        check=_fits_together,
    )

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
        k = rows.shape[1]
        for name in (*_OF_HOLDOUT, *_OF_STREAM):  # of another holdout
            self.__dict__.pop(name, None)
        if k > MOST_CLASSES:
            reason = f"there are {k} classes; label shift is tested for up to {MOST_CLASSES}."
        else:
            reason = too_few(np.bincount(labels, minlength=k), names) or self._learn(rows, labels, names)
        self.n_classes_ = k
        self.testable_, self.reason_ = not reason, reason
        self._start()
        return self

    def _learn(self, rows: FloatArray, labels: IntArray, names: Sequence[Any] | None) -> str:
        """Learn from a holdout that is large enough; return why it cannot be used all the same, or ``""``."""
        k = rows.shape[1]
        chosen = _reference_rows(labels, k)
        compared_with = references(rows[chosen])
        edges, holdouts = (
            np.array([DOUBT_EDGES, strangeness_edges(compared_with)]),
            np.zeros((len(SCORES), k, k * RANGES)),
        )
        for c in range(k):
            of_class = labels == c
            counted, doubled = np.zeros((2, len(SCORES), 1, k * RANGES))
            count_cells(rows[of_class], *compared_with, edges, counted)
            # A reference row has no distance from itself, so references do not count for strangeness.
            count_cells(rows[of_class & chosen], *compared_with, edges, doubled)
            holdouts[:, c] = counted[:, 0]
            holdouts[1, c] -= doubled[1, 0]
        self._references, self._edges, self._holdouts = compared_with, edges, holdouts
        self._directions = Directions().fit(rows, labels)
        return too_alike(holdouts[1], names)

    def _start(self) -> None:
        self.rounds_, self._pending, self.alarm_ = 0, 0, False
        self.since_: int | None = None
        self._log_evidence = 0.0
        self._findings = np.zeros((0, NUMBERS))
        if self.testable_:
            self._directions.start()
            self._counts = np.zeros((len(SCORES), len(WINDOWS), self.n_classes_ * RANGES))
            self._sizes, self._turns, self._looks = np.zeros((3, len(WINDOWS)), dtype=np.int64)
            self._prepare()

    def _prepare(self) -> None:
        """Compute what follows from the holdout and is not saved."""
        self._due = [due(window, int(look)) for window, look in enumerate(self._looks)]
        self._room = self._until_next()
        self._tests: list[ScoreTest] = []
        for holdout, grades in zip(self._holdouts, (DOUBT_GRADES, EVEN_GRADES), strict=True):
            tested = regions(self.n_classes_, grades)
            self._tests.append(ScoreTest(tested, residuals(tested.values, holdout), np.log(tested.weights)))

    def get_state(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_state().items() if name not in ("_tests", "_due", "_room")}

    @property
    def log_evidence_(self) -> float:
        """The logarithm of `evidence_`."""
        check_fitted(self, "testable_")
        return self._log_evidence

    @property
    def evidence_(self) -> float:
        check_fitted(self, "testable_")
        return float(np.exp(min(self._log_evidence, 700.0)))

    def reset(self) -> None:
        """Forget the stream, and the alarm; keep the holdout.

        The bound on false alarms holds anew from each reset on.
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
        n = len(rows)
        if not self.testable_ or n == 0:
            return
        learned = self._directions
        add_rows(
            rows,
            *self._references,
            self._edges,
            self._counts,
            learned.slopes,
            learned.centres,
            learned.explained,
            learned.sums,
            learned.seen,
            learned.counts,
            learned.moments,
        )
        if learned.add_samples(n):
            self._test_direction()
        self._pending += n
        if self._pending >= self._room:
            self._test_windows()

    def _test_windows(self) -> None:
        self._sizes += self._pending
        self._pending = 0
        for window, (length, size) in enumerate(zip(WINDOWS, self._sizes.tolist(), strict=True)):
            if size >= self._due[window]:
                look = int(self._looks[window])
                while due(window, look + 1) <= size:
                    look += 1  # after a large batch, only the last look that is due
                self._test_window(window, look)
                self._looks[window] = look + 1
                self._due[window] = due(window, look + 1)
            if 0 < length <= size:
                self._counts[:, window] = 0.0
                self._sizes[window] = self._looks[window] = 0
                self._due[window] = due(window, 0)
                self._turns[window] += 1
        self._room = self._until_next()

    def _until_next(self) -> float:
        """Return the number of samples until a look is due or a window starts anew."""
        ends = [min(at, length or at) for at, length in zip(self._due, WINDOWS, strict=True)]
        return float(min(end - size for end, size in zip(ends, self._sizes.tolist(), strict=True)))

    def _test_window(self, window: int, look: int) -> None:
        share = spent(window, int(self._turns[window]), look) / (2 * len(SCORES))
        if share == 0.0:
            return
        logs: list[FloatArray | None] = []
        log_share, log_alpha = math.log(share), math.log(self.alpha)
        for score, test in enumerate(self._tests):
            stakes = log_share + test.log_weights
            found = log_evidence(self._counts[score, window], test.residuals, -stakes - log_alpha)
            logs.append(None if found is None else found + stakes[:, np.newaxis])
        leaning = [log.ravel() for log in logs if log is not None]
        if not leaning:
            return
        together = float(np.logaddexp.reduce(np.concatenate(leaning)))
        if together > self._log_evidence:
            self._log_evidence = together
            self._findings = strongest_regions(self._counts[:, window], self._tests, logs)
        self._alarm_if(together)

    def _test_direction(self) -> None:
        found = self._directions.look(self.alpha)
        if found > self._log_evidence:
            self._log_evidence = found
            self._findings = direction_finding(self._directions, found)
        self._alarm_if(found)

    def _alarm_if(self, log_evidence: float) -> None:
        if not self.alarm_ and log_evidence >= -np.log(self.alpha):
            self.alarm_, self.since_ = True, self.rounds_

    def explain(self) -> list[Finding]:
        """Return the largest deviations at the look that gave `evidence_`, strongest first; empty without evidence."""
        check_fitted(self, "testable_")
        return to_findings(self._findings, self._edges) if self.testable_ else []

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if state.get("testable_"):
            self._references = References(*self._references)
            self._prepare()
        return self


def _reference_rows(labels: np.ndarray[Any, Any], n_classes: int) -> np.ndarray[Any, Any]:
    """Return which samples of the holdout become references: the same share of each class."""
    chosen = np.zeros(len(labels), dtype=bool)
    step = max(_REFERENCE_STEP, -(-len(labels) // _MOST_REFERENCES))
    for c in range(n_classes):
        chosen[np.flatnonzero(labels == c)[::step]] = True
    return chosen
