"""A method along a log: each round is predicted from the rounds before it, and labels are for the score alone."""

from collections.abc import Callable
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, Adapter, FloatArray, IdlingTracker, IntArray

SMALLEST = 1e-6
"""Smaller probabilities count as this in the log loss: one that is 0 by rounding must not outweigh all others."""
N_BANDS = 200
"""The number of times that the band of the class mix is computed; each takes about a millisecond."""
LEVEL = 0.9
"""The level of that band."""


class Log(NamedTuple):
    """A labelled log, cut into rounds.

    Parameters
    ----------
    proba : (n, k) array
        The model's probabilities, in the order of time.
    y : (n,) array of int
        Labels, -1 where there is none.
    starts : (T + 1,) array of int
        Round t is the rows ``starts[t]:starts[t + 1]``.
    idle : (T,) array of int, optional
        The number of rounds without a sample just before each, where rounds are of equal time.
    """

    proba: FloatArray
    y: IntArray
    starts: IntArray
    idle: IntArray | None = None

    @property
    def n_rounds(self) -> int:
        """T."""
        return len(self.starts) - 1

    def counts(self) -> IntArray:
        """(T, k) how many samples of each class a round has, of those with a label."""
        k = self.proba.shape[1]
        known = self.y != UNLABELLED
        rounds = np.repeat(np.arange(self.n_rounds), np.diff(self.starts))[known]
        return np.bincount(rounds * k + self.y[known], minlength=self.n_rounds * k).reshape(-1, k)


class Played(NamedTuple):
    """The score of each round, as arrays over rounds, of the samples that have a label.

    Attributes
    ----------
    n, wrong : (T,) arrays of int
        Samples, and how many of them were wrong.
    better, worse : (T,) arrays of int
        Samples that were right where the model was wrong, and the other way round.
    log_loss : (T,) array
        Sum of minus the log of the true label's probability, or of one in a million if that is larger.
    prior : (T, k) array
        The class mix behind the predictions.
    """

    n: IntArray
    wrong: IntArray
    better: IntArray
    worse: IntArray
    log_loss: FloatArray
    prior: FloatArray


class Trust(NamedTuple):
    """The warnings and bands of the default adapter before each round.

    Attributes
    ----------
    evidence : (T,) array
        Evidence against label shift.
    weight : (T,) array
        The part of the correction that was used.
    held_back, alarm : (T,) arrays of bool
        True where the gate reduced the correction, and where there was an alarm.
    looks : (m,) array of int
        Rounds, from 0, that the band is of.
    low, high : (m, k) arrays
        The band of the class mix.
    since : int or None
        The round, from 0, after which the first alarm was raised.
    why : str
        The strongest finding then.
    alpha : float
        The check raises a false alarm with at most this probability.
    """

    evidence: FloatArray
    weight: FloatArray
    held_back: NDArray[np.bool_]
    alarm: NDArray[np.bool_]
    looks: IntArray
    low: FloatArray
    high: FloatArray
    since: int | None
    why: str
    alpha: float


ProgressCallback = Callable[[int], None]
"""A function that is told how many rounds were replayed since its last call."""


def replay(
    adapter: Adapter,
    log: Log,
    inputs: FloatArray | None = None,
    *,
    progress: ProgressCallback = lambda _: None,
    trust: bool = False,
) -> tuple[Played, Trust | None]:
    """Replay a log through a fitted adapter, which is moved.

    Parameters
    ----------
    adapter : Adapter
        It never sees a label.
    log : Log
        The log to replay.
    inputs : (n, k) array, optional
        The input of the adapter, if it is not the model's probabilities: the same, calibrated.
    progress : callable
        Is told about the progress.
    trust : bool
        Note the warnings and bands of the adapter, a `RegressAndReweight`, as well.
    """
    diary = _Diary(adapter, log.n_rounds) if trust and isinstance(adapter, RegressAndReweight) else None
    inputs = log.proba if inputs is None else inputs
    rows, priors = [], []
    every = max(log.n_rounds // 100, 1)
    for t, (start, end) in enumerate(zip(log.starts[:-1].tolist(), log.starts[1:].tolist(), strict=True)):
        if log.idle is not None and log.idle[t] and _can_idle(adapter):
            adapter.idle(int(log.idle[t]))
        if diary is not None:
            diary.before(t)
        proba, prior, _ = adapter.step(inputs[start:end])
        if diary is not None:
            diary.after(t)
        rows.append(_score(proba, log.proba[start:end], log.y[start:end]))
        priors.append(prior)
        if t % every == every - 1:
            progress(every)
    n, wrong, better, worse, log_loss = zip(*rows, strict=True)
    counts = [np.array(column, dtype=np.int64) for column in (n, wrong, better, worse)]
    played = Played(counts[0], counts[1], counts[2], counts[3], np.array(log_loss), np.array(priors))
    return played, None if diary is None else diary.trust()


def _can_idle(adapter: Adapter) -> TypeGuard[RegressAndReweight]:
    """Tell whether an adapter can be told of empty rounds; others count rounds with samples alone."""
    return isinstance(adapter, RegressAndReweight) and isinstance(adapter.tracker_, IdlingTracker)


def _score(proba: FloatArray, model: FloatArray, y: IntArray) -> tuple[int, int, int, int, float]:
    known = y != UNLABELLED
    truth = y[known]
    right = proba[known].argmax(axis=1) == truth
    model_right = model[known].argmax(axis=1) == truth
    log_loss = -np.log(np.maximum(proba[known, truth], SMALLEST)).sum()
    better, worse = int((right & ~model_right).sum()), int((~right & model_right).sum())
    return len(truth), int((~right).sum()), better, worse, float(log_loss)


class _Diary:
    """Notes of the warnings and bands of an adapter, round by round."""

    def __init__(self, adapter: RegressAndReweight, n_rounds: int) -> None:
        self._adapter = adapter
        self._every = -(-n_rounds // N_BANDS)
        self._said: list[tuple[float, float, bool, bool]] = []
        self._looks: list[int] = []
        self._bands: list[FloatArray] = []
        self._since: int | None = None
        self._why = ""

    def before(self, t: int) -> None:
        """Note what the adapter says before a round."""
        a = self._adapter
        self._said.append((a.assumption_evidence_, a.correction_weight_, a.fallback_active_, a.assumption_alarm_))
        if t % self._every == 0:
            self._looks.append(t)
            self._bands.append(a.prior_interval(LEVEL))

    def after(self, t: int) -> None:
        """Note the first alarm, after the round that raised it."""
        if self._since is None and self._adapter.assumption_alarm_:
            self._since = t
            self._why = str(self._adapter.assumption_findings_[0]) if self._adapter.assumption_findings_ else ""

    def trust(self) -> Trust:
        """Everything that was noted."""
        evidence, weight, held_back, alarm = zip(*self._said, strict=True)
        bands = np.array(self._bands)
        return Trust(
            np.array(evidence),
            np.array(weight),
            np.array(held_back, dtype=bool),
            np.array(alarm, dtype=bool),
            np.array(self._looks, dtype=np.int64),
            bands[:, :, 0],
            bands[:, :, 1],
            self._since,
            self._why,
            float(self._adapter.alpha or 0.0),
        )
