"""`backtest`: replay a labelled log, and say whether it would have helped."""

import warnings
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate.adapters import RegressAndReweight
from baserate.backtesting.blocks import RESAMPLES, Blocks, Change, draw_blocks, with_few_mistakes
from baserate.backtesting.hindsight import hindsight
from baserate.backtesting.methods import CALIBRATED, DEFAULT, HINDSIGHT, NOTHING, Method, chosen
from baserate.backtesting.replay import Log, Played, Trust, replay
from baserate.backtesting.sentence import advice, verdict
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.validation import (
    check_all_classes_present,
    check_integer,
    check_labels,
    check_proba,
    check_real,
    check_starts,
)

FEWEST = 20
"""Rounds below which limits would say nothing."""
_ROUNDS, _SMALLEST, _LARGEST = 200, 10, 5000  # rounds that are aimed at, and rows of a round


class Score(NamedTuple):
    """The score of one method.

    Attributes
    ----------
    method : str
        Its name.
    error, log_loss : float
        Means over the samples that have a label.
    better, worse : int
        Mistakes of the model that it avoided, and mistakes that only it made.
    error_change, log_loss_change : Change
        The changes compared with doing nothing.
    """

    method: str
    error: float
    log_loss: float
    better: int
    worse: int
    error_change: Change
    log_loss_change: Change


class Backtest(NamedTuple):
    """The result of a backtest.

    Attributes
    ----------
    scores : list of Score
        Doing nothing first, then the default; the class mix in hindsight last.
    played : dict of str to Played
        The score of each round, by method.
    beyond_calibration : Change
        The change of the error rate from calibration alone to the default: the part that following the class mix adds.
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

    def score(self, method: str) -> Score:
        """The score of a method, by its name."""
        return next(score for score in self.scores if score.method == method)

    @property
    def verdict(self) -> str:
        """``"use"``, ``"no difference"`` or ``"do not use"``: what the default adapter did to the error rate."""
        return verdict(self.score(DEFAULT).error_change)

    @property
    def sentence(self) -> str:
        """The advice, in one sentence. It is about the default adapter, whichever of the others looks best."""
        nothing, default = self.score(NOTHING), self.score(DEFAULT)
        return advice(
            (nothing.error, default.error),
            default.error_change,
            (nothing.log_loss, default.log_loss),
            default.log_loss_change,
            self.score(HINDSIGHT).error_change,
            self.trust,
            self.names,
            self.level,
        )


def backtest(
    proba: ArrayLike,
    y: ArrayLike,
    *,
    holdout: float | tuple[ArrayLike, ArrayLike] = 0.2,
    rounds: int | ArrayLike | None = None,
    idle: ArrayLike | None = None,
    methods: Collection[str] | None = None,
    names: Sequence[str] | None = None,
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
    checked = check_proba(proba)
    k = checked.shape[1]
    labels = check_labels(y, len(checked), k, missing=True)
    if names is not None and len(names) != k:
        raise ValueError(f"names has {len(names)} entries; expected {k}, one for each column of proba.")
    called = tuple(map(str, range(k) if names is None else names))
    held, held_y, first = _holdout(checked, labels, holdout)
    log = _cut(checked[first:], labels[first:], rounds, idle)
    prior = np.bincount(held_y, minlength=k) / len(held_y)
    seen = hindsight(log.counts(), prior)
    adapters, left_out = chosen(seen.path, methods)
    played, trust, notes = _replay_all(adapters, log, (held, held_y), watch)
    blocks = draw_blocks(log.n_rounds, level, np.random.default_rng(seed))
    beyond = blocks.change(played[DEFAULT].wrong - played[CALIBRATED].wrong, played[DEFAULT].n)
    return Backtest(
        [_score(name, one, played[NOTHING], blocks) for name, one in played.items()],
        played,
        beyond,
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
    )


def _replay_all(
    adapters: dict[str, Method],
    log: Log,
    holdout: tuple[FloatArray, IntArray],
    watch: Callable[[str, int, int], None],
) -> tuple[dict[str, Played], Trust, tuple[str, ...]]:
    """Replay the log through each method; also the notes on the default adapter, and its warnings."""
    played: dict[str, Played] = {}
    trust: Trust | None = None
    notes: list[str] = []
    prior: FloatArray | None = None
    inputs, (held, held_y) = log.proba, holdout
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
                adapter.fit(held, held_y)
            played[name], said = replay(adapter, log, inputs, progress=advance, trust=name == DEFAULT)
            if name == DEFAULT and isinstance(adapter, RegressAndReweight):
                trust = said
                notes = [str(warning.message) for warning in told if issubclass(warning.category, UserWarning)]
                # Those that come after it expect calibrated probabilities: see `chosen`.
                inputs, held, prior = adapter.calibrate(inputs), adapter.calibrate(held), adapter.source_prior_
    assert trust is not None
    return played, trust, tuple(dict.fromkeys(notes))


def _score(name: str, one: Played, nothing: Played, blocks: Blocks) -> Score:
    n, better, worse = int(one.n.sum()), int(one.better.sum()), int(one.worse.sum())
    change = blocks.change(one.wrong - nothing.wrong, one.n)
    return Score(
        name,
        float(one.wrong.sum() / n),
        float(one.log_loss.sum() / n),
        better,
        worse,
        with_few_mistakes(change, better, worse, n, blocks.level),
        blocks.change(one.log_loss - nothing.log_loss, one.n),
    )


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
