"""Runs of cells with labels: a model that learns along the stream."""

import warnings
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate.datasets import Dataset
from baserate.evaluation import evaluate
from baserate.learners import ContinualTraining, ContinualTrainingResampled, LazyTrainByWeights, TrainByWeights
from baserate.protocols import Batch, FloatArray, Learner
from baserate.shifts import Bernoulli, Monotone, sample_stream
from baserate.trackers import FLHFTL, FollowTheHistory
from baserate_lab import datasets
from baserate_lab.models import mlp
from baserate_lab.paper.runs.cells import PaperCell, PaperResult

NETWORK, NETWORK_ON_COMPONENTS, LINEAR = "mlp", "pca-mlp", "logistic"
HIDDEN = (100, 100, 20)
N_COMPONENTS = {NETWORK_ON_COMPONENTS: 100, LINEAR: 40}
N_ROUNDS, BATCH_SIZE = 200, 50
POOL = N_ROUNDS * BATCH_SIZE // 4

_SHIFTS = {"ber": Bernoulli, "mon": Monotone}
_Builder = Callable[[int, Any, FloatArray, int], Learner]
LEARNERS: dict[str, _Builder] = {
    "CT": lambda k, net, _, rng: ContinualTraining(k, net, epoch_steps=1, rng=rng),
    "CT-RS/FTH": lambda k, net, _, rng: ContinualTrainingResampled(k, net, FollowTheHistory(k), epoch_steps=1, rng=rng),
    "CT-RS/FLH-FTL": lambda k, net, _, rng: ContinualTrainingResampled(
        k, net, FLHFTL(k, experts="window"), epoch_steps=1, rng=rng
    ),
    "w-ERM": lambda k, net, path, rng: TrainByWeights(k, net, priors=path, by="sampling", rng=rng),
    "CT-RS": lambda k, net, _, rng: ContinualTrainingResampled(k, net, rng=rng),
    "CT-RS, 25 % pool": lambda k, net, _, rng: ContinualTrainingResampled(k, net, max_pool=POOL, rng=rng),
    "TrainByWeights": lambda k, net, _, rng: TrainByWeights(k, net, rng=rng),
    "Lazy": lambda k, net, _, rng: LazyTrainByWeights(k, net, rng=rng),
    "Lazy, literal": lambda k, net, _, rng: LazyTrainByWeights(k, net, reweight=False, rng=rng),
}
"""Builders of learners by label; called with the number of classes, a model, the true path and a seed.

The first four are as in the paper's text: after every gradient step, validation decides whether to take another. w-ERM
is given the true path. All others have the library's defaults.
"""


def run_learning(cell: PaperCell) -> PaperResult:
    """Run a cell. All methods are given the same stream."""
    stream, k = _stream(cell.dataset, cell.model, cell.shift, cell.seed, cell.batch_size, cell.n_rounds)
    path = np.array([batch.q for batch in stream])
    with threadpool_limits(1):  # bit-identical on any machine, and faster for small matrices
        model = LogisticRegression(max_iter=1000) if cell.model == LINEAR else mlp(HIDDEN, epochs=1, rng=cell.seed)
        found = evaluate(LEARNERS[cell.method](k, model, path, cell.seed), stream)
    tracked = cell.method not in ("CT", "w-ERM")
    end = slice(-(len(stream) // 4), None)
    return PaperResult(
        100 * found.error_rate,
        found.mse_to_frequencies if tracked else None,
        found.mse if tracked else None,
        float(found.seconds.sum()),
        end_error=100 * float(found.wrong[end].sum() / found.n[end].sum()),
        steps=getattr(found.method, "gradient_steps_", None),
        calls=getattr(found.method, "erm_calls_", None),
    )


@lru_cache(maxsize=1)
def _stream(dataset: str, model: str, shift: str, seed: int, batch_size: int, n_rounds: int) -> tuple[list[Batch], int]:
    """Stream drawn without replacement, and the number of classes; ends early when a class has run out."""
    data = datasets.load(dataset)
    k = len(data.class_names)
    rng = np.random.default_rng([seed, zlib.crc32(b"labels")])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the pool has run out of class")
        stream = sample_stream(
            np.full((len(data.source_y), k), 1 / k),  # there is no model before the stream begins
            data.source_y,
            _SHIFTS[shift](),
            n_rounds=n_rounds,
            batch_size=batch_size,
            features=_rows(data.source_X) if model == NETWORK else _components(data, model),
            exhaust=True,
            rng=rng,
        )
        return list(stream), k


def _components(data: Dataset, model: str) -> NDArray[Any]:
    """Principal components, fitted on samples outside the stream; few enough to train in every round."""
    with threadpool_limits(1):
        found = PCA(N_COMPONENTS[model], svd_solver="covariance_eigh").fit(_rows(data.target_X))
        parts = np.asarray(found.transform(_rows(data.source_X)), dtype=np.float64)
    if model == LINEAR:
        return parts
    scale = float(np.sqrt(found.explained_variance_.mean()))
    return np.asarray(parts / scale, dtype=np.float32)  # of about unit variance, for a network


def _rows(X: NDArray[Any]) -> NDArray[Any]:
    samples = np.reshape(X, (len(X), -1))
    return samples.astype(np.float32) / 255 if samples.dtype == np.uint8 else samples
