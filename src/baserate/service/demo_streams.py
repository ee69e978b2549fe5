"""The streams of ``baserate serve --demo``: real digits whose mix drifts, and one model that breaks."""

import asyncio
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from baserate.demo.experiment import MOVING, TrainedModel, train_model
from baserate.protocols import FloatArray, IntArray, Shift
from baserate.service.definitions import Options, define
from baserate.service.entries import Labels, rows_entry
from baserate.service.problems import ProblemError
from baserate.service.streams import Streams
from baserate.shifts import Bernoulli, Sinusoidal, sample_stream

ROWS, PER_SECOND = 20, 8
LABELLED = 0.05
"""Share of the rows whose labels come late."""


class _Fed(NamedTuple):
    """A stream to feed."""

    name: str
    batches: Iterator[tuple[FloatArray, IntArray]]


async def feed(streams: Streams) -> None:
    """Make the streams, and feed them until the server ends."""
    model = await asyncio.to_thread(train_model, 0)
    classes = list(model.class_names)
    labels = [classes[c] for c in model.holdout_y]
    fed = [
        _Fed("digits-seasonal", _batches(model, Sinusoidal(length=120, **_mixes(MOVING)), 1)),
        _Fed("digits-jumps", _batches(model, Bernoulli(flip=1 / 80, **_mixes(MOVING - 5)), 2)),
        _Fed("digits-broken-scanner", _broken(model, 3)),
    ]
    run = f"{time.time():.0f}"
    rng = np.random.default_rng(4)
    for one in fed:
        await streams.put(one.name, define(classes, model.holdout_proba, labels, Options()), refit=True)  # type: ignore[arg-type]
    number = 0
    waiting: dict[str, list[tuple[str, int]]] = {one.name: [] for one in fed}
    while True:
        begun = time.monotonic()
        for one in fed:
            proba, y = next(one.batches)
            ids: list[str | None] = [f"{run}-{number}-{i}" for i in range(len(proba))]
            try:
                stream = await streams.get(one.name)
                await stream.learn(rows_entry(time.time(), proba, None, ids))
                waiting[one.name] += [(str(ids[i]), int(y[i])) for i in np.flatnonzero(rng.random(len(y)) < LABELLED)]
                if number % 40 == 39:
                    due, waiting[one.name] = waiting[one.name][:-20], waiting[one.name][-20:]
                    told = np.array([label for _, label in due], dtype=np.int64)
                    await stream.learn(Labels(time.time(), [name for name, _ in due], told.tobytes()))
            except ProblemError:  # somebody has deleted the stream: it rests
                continue
        number += 1
        await asyncio.sleep(max(0.0, 1.0 / PER_SECOND - (time.monotonic() - begun)))


def _mixes(digit: int) -> dict[str, FloatArray]:
    """Return an even mix, and one in which a digit has two thirds and others are rare."""
    many = np.geomspace(1.0, 0.02, 10)
    many = np.roll(many / many[1:].sum() / 3.0, digit)
    many[digit] = 2.0 / 3.0
    return {"first": np.full(10, 0.1), "second": many}


def _batches(model: TrainedModel, shift: Shift, seed: int) -> Iterator[tuple[FloatArray, IntArray]]:
    """Batches whose mix moves as the shift says, again and again."""
    while True:
        for batch in sample_stream(model.pool_proba, model.pool_y, shift, n_rounds=2_400, batch_size=ROWS, rng=seed):
            yield batch.proba, batch.y
        seed += 10


def _broken(model: TrainedModel, seed: int) -> Iterator[tuple[FloatArray, IntArray]]:
    """Batches of an even mix whose pictures get noisy after a while, which is no label shift: an alarm is due."""
    rng = np.random.default_rng(seed)
    weights, intercepts = model.head
    number = 0
    while True:
        rows = rng.integers(0, len(model.pool_y), ROWS)
        noise = 3.0 if 160 <= number % 960 < 800 else 0.0
        seen = model.pool_features[rows] + noise * rng.normal(size=(ROWS, model.pool_features.shape[1]))
        logits = seen @ weights.T + intercepts
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        yield odds / odds.sum(axis=1, keepdims=True), model.pool_y[rows]
        number += 1
