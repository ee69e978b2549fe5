"""AssumptionCheck: whether a stream is still label shift, or something else has changed."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray, IntArray
from baserate.state import Component, check_array
from baserate.trust.assumption.directions import Directions
from baserate.trust.assumption.findings import NUMBERS, SCORES, Finding, ScoreTest, along, in_words, strongest
from baserate.trust.assumption.regions import (
    DOUBT_EDGES,
    DOUBT_GRADES,
    EVEN_GRADES,
    RANGES,
    References,
    count_cells,
    references,
    regions,
    strangeness_edges,
    take_rows,
)
from baserate.trust.assumption.schedule import WINDOWS, due, spent
from baserate.trust.assumption.two_samples import log_evidence, residuals
from baserate.validation import check_fitted, check_holdout, check_proba, check_real

__all__ = ["FEWEST", "AssumptionCheck", "Finding"]

FEWEST = 20
"""Samples of a class in the holdout below which nothing is tested."""
_LEAST_SINGULAR = 0.1  # of the confusion matrix: below, classes are too much alike to say what label shift can explain
MOST_CLASSES = 300
"""Beyond these nothing is tested: what there is to compare grows with their square."""
_ASIDE = 4  # one in so many samples of the holdout is laid aside, to tell what is strange
_MOST_ASIDE = 500  # each row of the stream is compared with all of them


class AssumptionCheck(Component, saved_as="assumption_check"):
    """Watches a model's outputs for changes that no class mix explains: new classes, noise, drifting classes.

    Label shift moves the class mix and leaves each class as it is. It fixes the share of doubtful, or strange, rows
    among the predictions of each class, wherever the mix goes: those shares are compared with the labelled holdout's,
    at looks that get rarer as the stream grows. So are scores along directions that the past of the stream points to,
    by samples that come later; they find classes that the model has never seen. A look's evidence is a product of bets
    on the stream and on the holdout together, so that the holdout's own error counts, and a long stream does not find
    it out.

    The probability of ever raising a false alarm, over an endless stream with any path of the class mix, is at most
    `alpha`, but for two approximations: the correction for the predicted class is estimated from the holdout, and
    errors of second order in it are left out; and the size of a bet follows the variance at the look. Samples must be
    independent of one another, given the class mix; and the path of the class mix, and when rounds end, must not depend
    on the model's outputs of the round.

    Not every change can be seen. One that is also a change of the class mix, as far as the outputs can tell, is none to
    this check: it stays silent if the new outputs look like a mixture of the classes' old ones, whatever has happened
    to the accuracy. Silence is no proof of label shift.

    Parameters
    ----------
    alpha : float
        The probability of a false alarm that is acceptable over the whole life of the check.

    Attributes
    ----------
    evidence_ : float
        The strongest evidence of all looks so far: 1 for none, `alarm_` from 1 / alpha on. Its inverse is a p-value,
        valid at any time.
    alarm_ : bool
        Whether there has been an alarm; it stays.
    since_ : int or None
        The number of rounds seen at the alarm.
    rounds_ : int
        Rounds seen so far.
    testable_ : bool
        Whether the holdout is large enough to test with. If not, the evidence stays at 1, and `reason_` says why.
    reason_ : str
        Why nothing is tested; empty if it is.

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

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = alpha

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Learn the classes from a labelled holdout, and start anew.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities of the holdout: any, as long as the stream's are made in the same way. Where a
            calibrator was fitted on this holdout, uncalibrated ones are the better choice.
        y : (n,) array of int
            Labels. A holdout that is too small is not refused: see `testable_`.
        """
        check_real(self.alpha, "alpha", 0.0, 1.0, closed=False)
        rows, labels = check_holdout(proba, y, every_class=False)
        k = rows.shape[1]
        if k > MOST_CLASSES:
            reason = f"there are {k} classes; label shift is tested for up to {MOST_CLASSES}."
        else:
            reason = _too_few(np.bincount(labels, minlength=k)) or self._learn(rows, labels)
        self.n_classes_ = k
        self.testable_, self.reason_ = not reason, reason
        self._start()
        return self

    def _learn(self, rows: FloatArray, labels: IntArray) -> str:
        """Learn from a holdout that is large enough; why it cannot be tested with all the same, if so."""
        k = rows.shape[1]
        aside = _laid_aside(labels, k)
        laid_aside = references(rows[aside])
        edges, holdouts = np.array([DOUBT_EDGES, strangeness_edges(laid_aside)]), np.zeros((len(SCORES), k, k * RANGES))
        for c in range(k):
            of_class = labels == c
            count_cells(rows[of_class], *laid_aside, edges, holdouts[:, c : c + 1])
            # What was laid aside is near to itself, and tells nothing of strangeness.
            doubled = np.zeros((len(SCORES), 1, k * RANGES))
            count_cells(rows[of_class & aside], *laid_aside, edges, doubled)
            holdouts[1, c] -= doubled[1, 0]
        self._references, self._edges, self._holdouts = laid_aside, edges, holdouts
        self._directions = Directions().fit(rows, labels)
        return _too_alike(holdouts[1])

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
        """What follows from the holdout, and is worked out anew rather than saved."""
        self._due = [due(window, int(look)) for window, look in enumerate(self._looks)]
        self._room = self._until_next()
        self._tests: list[ScoreTest] = []
        for holdout, grades in zip(self._holdouts, (DOUBT_GRADES, EVEN_GRADES), strict=True):
            tested = regions(self.n_classes_, grades)
            self._tests.append(ScoreTest(tested, residuals(tested.values, holdout), np.log(tested.weights)))

    def get_state(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_state().items() if name not in ("_tests", "_due", "_room")}

    @property
    def evidence_(self) -> float:
        check_fitted(self, "testable_")
        return float(np.exp(min(self._log_evidence, 700.0)))

    def reset(self) -> None:
        """Forget the stream, and the alarm; keep the holdout.

        The promise about false alarms is one for each start.
        """
        check_fitted(self, "testable_")
        self._start()

    def update(self, proba: ArrayLike) -> None:
        """Take in one round; it may be empty.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities, made as those of the holdout.
        """
        check_fitted(self, "testable_")
        self.take_in(check_proba(proba, self.n_classes_))

    def take_in(self, rows: FloatArray, rounds: int = 1) -> None:
        """`update` without its checks, for callers that have made them: float64, each row's numbers side by side.

        Several rounds may be taken in at once; looks then come after the last of them.
        """
        self.rounds_ += rounds
        n = len(rows)
        if not self.testable_ or n == 0:
            return
        learned = self._directions
        take_rows(
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
        if learned.grow(n):
            self._weigh_direction()
        self._pending += n
        if self._pending >= self._room:
            self._look_at_windows()

    def _look_at_windows(self) -> None:
        self._sizes += self._pending
        self._pending = 0
        for window, length in enumerate(WINDOWS):
            if self._sizes[window] >= self._due[window]:
                look = int(self._looks[window])
                while due(window, look + 1) <= self._sizes[window]:  # a large batch is one look, the last that is due
                    look += 1
                self._look(window, look)
                self._looks[window] = look + 1
                self._due[window] = due(window, look + 1)
            if 0 < length <= self._sizes[window]:
                self._counts[:, window] = 0.0
                self._sizes[window] = self._looks[window] = 0
                self._due[window] = due(window, 0)
                self._turns[window] += 1
        self._room = self._until_next()

    def _until_next(self) -> float:
        """Samples until a look is due, or a window starts anew."""
        ends = [min(at, length or at) for at, length in zip(self._due, WINDOWS, strict=True)]
        return float(min(end - size for end, size in zip(ends, self._sizes, strict=True)))

    def _look(self, window: int, look: int) -> None:
        share = spent(window, int(self._turns[window]), look) / (2 * len(SCORES))
        if share == 0.0:
            return
        logs: list[FloatArray | None] = []
        for stream, test in zip(self._counts[:, window], self._tests, strict=True):
            stakes = np.log(share) + test.log_weights
            found = log_evidence(stream, test.residuals, -stakes - np.log(self.alpha))
            logs.append(None if found is None else found + stakes[:, np.newaxis])
        leaning = [log.ravel() for log in logs if log is not None]
        if not leaning:
            return
        together = float(np.logaddexp.reduce(np.concatenate(leaning)))
        if together > self._log_evidence:
            self._log_evidence = together
            self._findings = strongest(self._counts[:, window], self._tests, logs)
        self._raise(together)

    def _weigh_direction(self) -> None:
        found = self._directions.look(self.alpha)
        if found > self._log_evidence:
            self._log_evidence = found
            self._findings = along(self._directions, found)
        self._raise(found)

    def _raise(self, log_evidence: float) -> None:
        if not self.alarm_ and log_evidence >= -np.log(self.alpha):
            self.alarm_, self.since_ = True, self.rounds_

    def explain(self) -> list[Finding]:
        """What looked most wrong at the look that gave `evidence_`, strongest first; empty without evidence."""
        check_fitted(self, "testable_")
        return in_words(self._findings, self._edges) if self.testable_ else []

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if getattr(self, "testable_", False):
            k = int(self.n_classes_)
            cells = k * RANGES
            check_array(self._counts, "_counts", np.empty((len(SCORES), len(WINDOWS), cells)))
            columns, starts = self._references
            self._references = References(columns, starts)
            check_array(columns, "_references", np.empty((k, int(starts[-1]))))
            check_array(starts, "_references", np.empty(k + 1, dtype=np.int64))
            if starts[0] != 0 or (np.diff(starts) < 0).any():
                raise ValueError("the references do not belong together")
            check_array(self._edges, "_edges", np.empty((len(SCORES), RANGES - 1)))
            check_array(self._holdouts, "_holdouts", np.empty((len(SCORES), k, cells)))
            for name in ("_sizes", "_turns", "_looks"):
                check_array(getattr(self, name), name, np.empty(len(WINDOWS), dtype=np.int64))
            check_array(self._findings, "_findings", np.empty((len(self._findings), NUMBERS)))
            self._prepare()
        return self


def _laid_aside(labels: np.ndarray[Any, Any], n_classes: int) -> np.ndarray[Any, Any]:
    """Which samples of the holdout are laid aside: the same share of each class."""
    aside = np.zeros(len(labels), dtype=bool)
    step = max(_ASIDE, -(-len(labels) // _MOST_ASIDE))
    for c in range(n_classes):
        aside[np.flatnonzero(labels == c)[::step]] = True
    return aside


def _too_few(sizes: np.ndarray[Any, Any]) -> str:
    few = int(sizes.argmin())
    if sizes[few] < FEWEST:
        return (
            f"the holdout has {sizes[few]} samples of class {few}; testing label shift takes at least {FEWEST} of "
            "every class."
        )
    return ""


def _too_alike(holdout: FloatArray) -> str:
    k = len(holdout)
    confusion = holdout.reshape(k, k, RANGES).sum(axis=2) / holdout.sum(axis=1, keepdims=True)
    least = np.linalg.svd(confusion, compute_uv=False)[-1]
    if least < _LEAST_SINGULAR:
        return (
            f"the model confuses classes too much (least singular value of the confusion matrix {least:.2g}, at least "
            f"{_LEAST_SINGULAR} is needed): almost anything could be a change of the class mix."
        )
    return ""
