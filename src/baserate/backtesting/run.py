"""`backtest`: replay a labelled log, and say whether it would have helped."""

import math
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate.adapters import RegressAndReweight
from baserate.backtesting.blocks import RESAMPLES, Change, draw_blocks
from baserate.backtesting.hindsight import hindsight
from baserate.backtesting.measures import MEASURES, Measure
from baserate.backtesting.methods import CALIBRATED, DEFAULT, HINDSIGHT, NOTHING, TUNED, Method, chosen
from baserate.backtesting.played import Log, Played, score_rounds
from baserate.backtesting.replay import Trust, replay
from baserate.backtesting.scores import Score, score
from baserate.backtesting.sentence import SIMPLER, Anchor, advice, simpler, verdict
from baserate.backtesting.tuned import tuned_rule
from baserate.decisions import DecisionRule, decision_rule
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.smoothing import Smoothed, smooth
from baserate.validation import (
    check_all_classes_present,
    check_held_proba,
    check_integer,
    check_labels,
    check_option,
    check_proba,
    check_real,
    check_starts,
)

FEWEST = 20
"""Rounds below which limits would say nothing."""
_ROUNDS, _SMALLEST, _LARGEST = 200, 10, 5000  # rounds that are aimed at, and rows of a round


class Backtest(NamedTuple):
    """The result of a backtest.

    Attributes
    ----------
    scores : list of Score
        Doing nothing first, then the default; the class mix in hindsight last.
    played : dict of str to Played
        The score of each round, by method.
    beyond_calibration : Change
        The change from calibration alone to the default, in the measure of the verdict: the part that following the
        class mix adds.
    trust : Trust
        The warnings and bands of the default adapter.
    log : Log
        The log that was replayed, without the holdout.
    names : tuple of str
        The names of the classes.
    source_prior : (k,) array
        The holdout's class mix.
    n_holdout : int
        Its samples.
    neighbours : int
        The number of rounds before and after each that the class mix in hindsight is estimated from.
    left_out : dict of str to str
        Methods that were too slow, and why.
    notes : tuple of str
        The warnings of the default adapter's `fit`.
    block, resamples, level, seed
        The settings of the bootstrap: rounds in a block, the number of resamples, the level of the limits, the seed.
    by : str
        The measure of the verdict: ``"error"``, ``"cost"``, ``"log-loss"`` or ``"brier"``.
    rule : DecisionRule
        The rule that decides by probabilities; with a threshold, it has the costs that this implies.
    tuned : DecisionRule or None
        The threshold that was tuned on the holdout, with costs of two classes or a threshold.
    beyond_tuned : Change or None
        The change from that threshold to the default, in the measure of the verdict.
    smoothed : Smoothed
        The class mix of each round from the outputs of all rounds, without labels: `baserate.smooth`.
    """

    scores: list[Score]
    played: dict[str, Played]
    beyond_calibration: Change
    trust: Trust
    log: Log
    names: tuple[str, ...]
    source_prior: FloatArray
    n_holdout: int
    neighbours: int
    left_out: dict[str, str]
    notes: tuple[str, ...]
    block: int
    resamples: int
    level: float
    seed: int
    by: str
    rule: DecisionRule
    tuned: DecisionRule | None
    beyond_tuned: Change | None
    smoothed: Smoothed

    @property
    def measure(self) -> Measure:
        """The measure of the verdict."""
        return MEASURES[self.by]

    def score(self, method: str) -> Score:
        """The score of a method, by its name."""
        return next(score for score in self.scores if score.method == method)

    @property
    def verdict(self) -> str:
        """``"use"``, ``"no difference"`` or ``"do not use"``: what the default adapter did to the measure.

        Or ``"something simpler"``: what is done once helps, and the default is not clearly better.
        """
        enough = simpler(self.measure, self.anchors)
        return verdict(self.measure.change_of(self.score(DEFAULT))) if enough is None else SIMPLER

    @property
    def anchors(self) -> list[Anchor]:
        """Simpler things to do: to calibrate the model, or to move its threshold, once, on the holdout."""
        found = [Anchor("Calibrate the model once", self.score(CALIBRATED), self.beyond_calibration)]
        if self.tuned is not None and self.beyond_tuned is not None and self.by in ("error", "cost"):
            at = f", to {self.tuned.threshold:.3g}" if math.isfinite(self.tuned.threshold or 0.0) else " out of reach"
            found.append(Anchor(f"Move the threshold once{at}", self.score(TUNED), self.beyond_tuned))
        return found

    @property
    def sentence(self) -> str:
        """The advice, in one sentence. It is about the default adapter, whichever of the others looks best."""
        nothing, default, known = (self.score(name) for name in (NOTHING, DEFAULT, HINDSIGHT))
        return advice(self.measure, nothing, default, known, self.anchors, self.trust, self.names, self.level)


def backtest(
    proba: ArrayLike,
    y: ArrayLike,
    *,
    holdout: float | tuple[ArrayLike, ArrayLike] = 0.2,
    rounds: int | ArrayLike | None = None,
    idle: ArrayLike | None = None,
    methods: Collection[str] | None = None,
    names: Sequence[str] | None = None,
    costs: ArrayLike | None = None,
    threshold: float | None = None,
    positive: int | str | None = None,
    decisions: Sequence[str] = (),
    by: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    watch: Callable[[str, int, int], None] = lambda *_: None,
) -> Backtest:
    """Say whether it would have helped on a log of a model's predictions.

    Every round is predicted from the rounds before it; no method but the class mix in hindsight sees a label after the
    holdout. What differs from doing nothing gets limits by a bootstrap of blocks of about sqrt(T) rounds.

    Parameters
    ----------
    proba : (n, k) array
        The model's probabilities, in the order of time.
    y : (n,) array of int
        Labels, -1 where there is none; rows without are predicted, and not scored.
    holdout : float or (proba, y)
        The part of the log, its first rows, that is the holdout; or one of its own.
    rounds : int or array of int, optional
        Rows of a round, or the row that each round starts with after the holdout, and at the end their number. Default:
        a two-hundredth of the log, but 10 at least and 5,000 at most.
    idle : (T,) array of int, optional
        The number of rounds without a sample just before each, where rounds are of equal time.
    methods : collection of str, optional
        The trackers to compare with, by name. Default: all, but not those that take too long for so many rounds.
    names : sequence of str, optional
        The names of the classes. Default: their numbers.
    costs : (k, m) array or (2,) array, optional
        The costs of decisions, ``costs[true, decided]``, of which the first k are the classes; or, of two classes, what
        it costs to call a negative positive and to miss a positive. Every method takes the decision that costs least by
        its probabilities. Default: the most probable class.
    threshold : float, optional
        Of two classes: decide for the positive one where its probability is at least this. It stands for costs: a
        false alarm costs 1, a missed positive (1 - threshold) / threshold.
    positive : int or str, optional
        The positive class of two, by number or name: that of `threshold`, of a pair of costs, and of precision, recall
        and F1. Default: the second for the first two, and precision, recall and F1 are means over the classes.
    decisions : sequence of str
        The names of decisions that are no classes, the further columns of `costs`.
    by : {"error", "cost", "log-loss", "brier"}, optional
        The measure of the verdict. Default: the cost if there are costs or a threshold, else the error.
    level : float
        The level of the limits.
    seed : int
        The seed of the bootstrap.
    watch : callable, optional
        Is told the method, the rounds that are done, and the rounds of all methods.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(4000) < np.where(np.arange(4000) < 1000, 0.5, 0.95)).astype(int)
    >>> odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, 1.0))
    >>> found = backtest(np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y, methods=[])
    >>> print(found.sentence)
    Use it: error ... % -> ... % (... points, 95 % interval ... to ...).
    """
    level = check_real(level, "level", 0.0, 1.0, closed=False)
    checked = check_held_proba(proba, y)
    k = checked.shape[1]
    labels = check_labels(y, len(checked), k, missing=True)
    if names is not None and len(names) != k:
        raise ValueError(f"names has {len(names)} entries; expected {k}, one for each column of proba.")
    called = tuple(map(str, range(k) if names is None else names))
    rule = decision_rule(called, costs=costs, threshold=threshold, positive=positive, decisions=decisions)
    by = ("error" if rule.costs is None else "cost") if by is None else by
    check_option(by, "by", MEASURES)
    if by == "cost" and rule.costs is None:
        raise ValueError("by is 'cost', and there are no costs; give costs or a threshold, or another measure.")
    held, held_y, first = _holdout(checked, labels, holdout)
    log = _cut(checked[first:], labels[first:], rounds, idle)
    prior = np.bincount(held_y, minlength=k) / len(held_y)
    seen = hindsight(log.counts(), prior)
    adapters, left_out = chosen(seen.path, methods)
    tuned = tuned_rule(held, held_y, rule)
    played, trust, notes = _replay_all(adapters, log, (held, held_y), rule, tuned, names, watch)
    default = adapters[DEFAULT]
    assert isinstance(default, RegressAndReweight)
    smoothed = smooth(default, log.proba, log.starts)
    blocks = draw_blocks(log.n_rounds, level, np.random.default_rng(seed))

    def beyond(anchor: str) -> Change:
        """The change from another method to the default."""
        sums = (MEASURES[by].sums(played[name]) for name in (DEFAULT, anchor))
        return blocks.change(np.subtract(*sums), played[DEFAULT].n)

    return Backtest(
        [score(name, one, played[NOTHING], blocks, rule.positive) for name, one in played.items()],
        played,
        beyond(CALIBRATED),
        trust,
        log,
        called,
        prior,
        len(held_y),
        seen.width,
        left_out,
        notes,
        blocks.length,
        RESAMPLES,
        level,
        seed,
        by,
        rule,
        tuned,
        None if tuned is None else beyond(TUNED),
        smoothed,
    )


def _replay_all(
    adapters: dict[str, Method],
    log: Log,
    holdout: tuple[FloatArray, IntArray],
    rule: DecisionRule,
    tuned: DecisionRule | None,
    names: Sequence[str] | None,
    watch: Callable[[str, int, int], None],
) -> tuple[dict[str, Played], Trust, tuple[str, ...]]:
    """Replay the log through each method; also the notes on the default adapter, and its warnings."""
    played: dict[str, Played] = {}
    trust: Trust | None = None
    notes: list[str] = []
    prior: FloatArray | None = None
    inputs, (held, held_y) = log.proba, holdout
    nothing = rule.decide(log.proba)[0]
    done, total = 0, log.n_rounds * len(adapters)

    def advance(n: int) -> None:
        nonlocal done
        done += n
        watch(name, done, total)

    # The same bits on any machine, and no waiting for threads over small matrices.
    with threadpool_limits(1):
        for name, adapter in adapters.items():
            watch(name, done, total)
            if prior is not None:
                adapter.set_params(source_prior=prior)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                if isinstance(adapter, RegressAndReweight):
                    adapter.fit(held, held_y, names=names)
                else:
                    adapter.fit(held, held_y)
            played[name], said = replay(
                adapter, log, inputs, rule=rule, nothing=nothing, progress=advance, trust=name == DEFAULT
            )
            if name == DEFAULT and isinstance(adapter, RegressAndReweight):
                trust = said
                notes = [str(warning.message) for warning in told if issubclass(warning.category, UserWarning)]
                # Those that come after it expect calibrated probabilities: see `chosen`.
                inputs, held, prior = adapter.calibrate(inputs), adapter.calibrate(held), adapter.source_prior_
                if tuned is not None:
                    played[TUNED] = score_rounds(log.proba, played[NOTHING].prior, log, tuned, nothing, rule.costs)
    assert trust is not None
    return played, trust, tuple(dict.fromkeys(notes))


def _holdout(
    proba: FloatArray, y: IntArray, holdout: float | tuple[ArrayLike, ArrayLike]
) -> tuple[FloatArray, IntArray, int]:
    """The holdout's labelled samples, and the row that the log starts with."""
    k = proba.shape[1]
    if isinstance(holdout, tuple):
        held = check_proba(holdout[0], k, "the holdout's proba")
        held_y, first = check_labels(holdout[1], len(held), k, "the holdout's y", missing=True), 0
    else:
        share = check_real(holdout, "holdout", 0.0, 1.0, closed=False)
        first = int(share * len(proba))
        held, held_y = proba[:first], y[:first]
    known = held_y != UNLABELLED
    check_all_classes_present(held_y[known], k, "the holdout's y")
    return held[known], held_y[known], first


def _cut(proba: FloatArray, y: IntArray, rounds: int | ArrayLike | None, idle: ArrayLike | None) -> Log:
    n = len(proba)
    if rounds is None:
        rounds = default_rows(n)
    if isinstance(rounds, int | np.integer):
        rows = check_integer(rounds, "rounds", 1)
        starts = np.append(np.arange(0, n, rows), n).astype(np.int64)
    else:
        starts = check_starts(rounds, n, "rounds")
    log = Log(proba, y, starts, None if idle is None else _check_idle(idle, len(starts) - 1))
    if log.n_rounds < FEWEST:
        raise ValueError(
            f"the log has {n:,} rows after the holdout, in {log.n_rounds} rounds; at least {FEWEST} are needed to "
            "tell a difference from chance. Give a longer log, or make rounds smaller."
        )
    if len(np.unique(y[y != UNLABELLED])) < 2:
        raise ValueError("y has no two classes after the holdout; there is nothing to compare. Give a longer log.")
    return log


def _check_idle(idle: ArrayLike, n_rounds: int) -> IntArray:
    found = np.asarray(idle)
    if found.shape != (n_rounds,) or found.dtype.kind not in "iu" or (found < 0).any():
        raise ValueError(
            f"idle is not a whole number of at least 0 for each of the {n_rounds:,} rounds; give how many were empty "
            "just before each."
        )
    return found.astype(np.int64)


def default_rows(n: int) -> int:
    """Rows of a round in a log of n rows, where nobody has chosen."""
    return min(max(n // _ROUNDS, _SMALLEST), _LARGEST)
