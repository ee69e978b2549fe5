"""A method along a log: each round is predicted from the rounds before it, and labels are for the score alone."""

from collections.abc import Callable
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from baserate.adapters import RegressAndReweight
from baserate.backtesting.played import Log, Played, score_rounds
from baserate.decisions import DecisionRule
from baserate.protocols import Adapter, FloatArray, IdlingTracker, IntArray

N_BANDS = 200
"""The number of times that the band of the class mix is computed; each takes about a millisecond."""
LEVEL = 0.9
"""The level of that band."""


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
    untested : str
        The reason why label shift could not be tested; empty if it was.
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
    untested: str
    alpha: float


ProgressCallback = Callable[[int], None]
"""A function that is told how many rounds were replayed since its last call."""


def replay(
    adapter: Adapter,
    log: Log,
    inputs: FloatArray | None = None,
    *,
    rule: DecisionRule,
    nothing: IntArray,
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
    rule : DecisionRule
        What is decided by the adapted probabilities.
    nothing : (n,) array of int
        What it decides by the model's own.
    progress : callable
        Is told about the progress.
    trust : bool
        Note the warnings and bands of the adapter, a `RegressAndReweight`, as well.
    """
    diary = _Diary(adapter, log.n_rounds) if trust and isinstance(adapter, RegressAndReweight) else None
    inputs = log.proba if inputs is None else inputs
    found, priors = np.empty_like(log.proba), []
    every = max(log.n_rounds // 100, 1)
    for t, (start, end) in enumerate(zip(log.starts[:-1].tolist(), log.starts[1:].tolist(), strict=True)):
        if log.idle is not None and log.idle[t] and _can_idle(adapter):
            adapter.idle(int(log.idle[t]))
        if diary is not None:
            diary.before(t)
        found[start:end], prior, _ = adapter.step(inputs[start:end])
        if diary is not None:
            diary.after(t)
        priors.append(prior)
        if t % every == every - 1:
            progress(every)
    played = score_rounds(found, np.array(priors), log, rule, nothing)
    return played, None if diary is None else diary.trust()


def _can_idle(adapter: Adapter) -> TypeGuard[RegressAndReweight]:
    """Tell whether an adapter can be told of empty rounds; others count rounds with samples alone."""
    return isinstance(adapter, RegressAndReweight) and isinstance(adapter.tracker_, IdlingTracker)


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
            self._adapter.assumption_untested_,
            float(self._adapter.alpha or 0.0),
        )
