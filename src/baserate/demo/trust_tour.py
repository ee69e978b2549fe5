"""The warnings and bands of the default adapter, on a stream that is label shift first, and then is not."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from baserate.adapters import RegressAndReweight
from baserate.datasets import synthetic
from baserate.protocols import FloatArray
from baserate.shifts import sample_stream

MOVING = 1
"""The class whose share grows."""
_TRAIN, _HOLDOUT = 500, 2000
_BREAKS = 0.6  # of the stream, from which on samples are noisy
_GROWN = 0.8  # what the moving class's share becomes
_NOISE = 0.7  # standard deviation, on top of 0.46
_POINTS = 200
_SMOOTHED = 500  # samples that the true accuracy is averaged over


class Tour(NamedTuple):
    """The truth and what the adapter said of it, at some rounds.

    Attributes
    ----------
    breaks : int
        The round from which on samples are noisy, and the stream is no label shift.
    rounds : (m,) array of int
        The rounds at which the adapter was asked.
    truth, right : (m,) arrays
        The share of the moving class, and of right predictions of late.
    share, accuracy : (m, 3) arrays
        The adapter's estimates of both, and their limits.
    evidence, weight : (m,) arrays
        The evidence against label shift, and the part of the correction that was used.
    held_back : (m,) array of bool
        True where the gate reduced the correction.
    alarm : int
        The round of the first alarm; 0 if there was none.
    why : str
        The strongest finding then.
    alpha : float
        The check raises a false alarm with at most this probability.
    """

    breaks: int
    rounds: NDArray[np.int64]
    truth: FloatArray
    right: FloatArray
    share: FloatArray
    accuracy: FloatArray
    evidence: FloatArray
    weight: FloatArray
    held_back: NDArray[np.bool_]
    alarm: int
    why: str
    alpha: float


def tour(n_rounds: int, batch_size: int, seed: int = 0) -> Tour:
    """Three classes of the paper's synthetic data: let one grow, then let noise set in."""
    rng = np.random.default_rng([seed, n_rounds])
    data = synthetic.load(rng)
    rows = rng.permutation(len(data.source_y))[: _TRAIN + _HOLDOUT]
    train, held = rows[:_TRAIN], rows[_TRAIN:]
    model = LogisticRegression().fit(data.source_X[train], data.source_y[train])
    adapter = RegressAndReweight().fit(model.predict_proba(data.source_X[held]), data.source_y[held])
    breaks = int(_BREAKS * n_rounds)
    k = len(data.class_names)
    moving = 1.0 / k + (_GROWN - 1.0 / k) * np.minimum(np.arange(n_rounds) / max(breaks - 1, 1), 1.0)
    path = np.repeat((1.0 - moving[:, np.newaxis]) / (k - 1), k, axis=1)
    path[:, MOVING] = moving
    pool = model.predict_proba(data.target_X)
    asked, said, right = [], [], []
    alarm, why = 0, ""
    every = -(-n_rounds // _POINTS)
    for batch in sample_stream(pool, data.target_y, path, batch_size=batch_size, rng=rng):
        seen = data.target_X[batch.rows]
        if batch.index >= breaks:
            seen = seen + _NOISE * rng.standard_normal(seen.shape)
        step = adapter.step(model.predict_proba(seen))
        right.append(float((step.labels == batch.y).mean()))
        if adapter.assumption_alarm_ and not alarm:
            alarm, why = batch.index + 1, str(adapter.assumption_findings_[0])
        if batch.index % every == every - 1 or batch.index == n_rounds - 1:
            asked.append(batch.index + 1)
            share = adapter.prior_[MOVING], *adapter.prior_interval()[MOVING]
            flags = adapter.assumption_evidence_, adapter.correction_weight_, float(adapter.fallback_active_)
            said.append([*share, *adapter.estimated_accuracy(), *flags])
    rounds, table = np.array(asked), np.array(said)
    window = max(_SMOOTHED // batch_size, 1)
    recent = np.array([np.mean(right[max(t - window, 0) : t]) for t in asked])
    return Tour(
        breaks,
        rounds,
        moving[rounds - 1],
        recent,
        table[:, :3],
        table[:, 3:6],
        table[:, 6],
        table[:, 7],
        table[:, 8] > 0.0,
        alarm,
        why,
        float(adapter.alpha or 0.0),
    )
