"""A cell with labels: a network that learns along the stream."""

import warnings
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate import datasets
from baserate.evaluation import evaluate
from baserate.learners import ContinualTraining, ContinualTrainingResampled, TrainByWeights
from baserate.models import mlp
from baserate.paper.runs.cells import Cell, Result
from baserate.protocols import Batch, FloatArray, Learner
from baserate.shifts import Bernoulli, sample_stream
from baserate.trackers import FLHFTL, FollowTheHistory

NETWORK = "mlp"
HIDDEN = (100, 100, 20)
N_ROUNDS, BATCH_SIZE = 200, 50

_Builder = Callable[[int, Any, FloatArray, int], Learner]
LEARNERS: dict[str, _Builder] = {
    "CT": lambda k, net, _, rng: ContinualTraining(k, net, rng=rng),
    "CT-RS/FTH": lambda k, net, _, rng: ContinualTrainingResampled(k, net, FollowTheHistory(k), rng=rng),
    "CT-RS/FLH-FTL": lambda k, net, _, rng: ContinualTrainingResampled(k, net, FLHFTL(k, experts="window"), rng=rng),
    "w-ERM": lambda k, net, path, rng: TrainByWeights(k, net, priors=path, by="sampling", rng=rng),
}
"""From the number of classes, a network, the true path and a seed to a learner; w-ERM is told the path."""


def run(cell: Cell) -> Result:
    """Run a cell. All methods see the same stream."""
    stream, k = _stream(cell.dataset, cell.seed, cell.batch_size, cell.n_rounds)
    path = np.array([batch.q for batch in stream])
    with threadpool_limits(1):  # the same bits on any machine, and no waiting for threads over small matrices
        network = mlp(HIDDEN, epochs=1, rng=cell.seed)
        found = evaluate(LEARNERS[cell.method](k, network, path, cell.seed), stream)
    tracked = cell.method.startswith("CT-RS")
    return Result(
        100 * found.error_rate,
        found.mse_to_frequencies if tracked else None,
        found.mse if tracked else None,
        float(found.seconds.sum()),
    )


@lru_cache(maxsize=1)
def _stream(dataset: str, seed: int, batch_size: int, n_rounds: int) -> tuple[list[Batch], int]:
    """Rounds drawn without replacement; it ends early when a class has run out."""
    data = datasets.load(dataset)
    k = len(data.class_names)
    samples = np.reshape(data.source_X, (len(data.source_y), -1))
    if samples.dtype == np.uint8:
        samples = samples.astype(np.float32) / 255
    rng = np.random.default_rng([seed, zlib.crc32(b"labels")])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the pool has run out of class")
        stream = sample_stream(
            np.full((len(samples), k), 1 / k),  # no model speaks before the stream begins
            data.source_y,
            Bernoulli(),
            n_rounds=n_rounds,
            batch_size=batch_size,
            features=samples,
            exhaust=True,
            rng=rng,
        )
        return list(stream), k
