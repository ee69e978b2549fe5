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
from baserate.learners._learner import BaseLearner
from baserate.learners._pool import Pool
from baserate.protocols import Batch, FloatArray, IntArray
from baserate.shifts import Bernoulli, Monotone, sample_stream
from baserate.trackers import FLHFTL, FollowTheHistory
from baserate_lab import datasets
from baserate_lab.models import features, mlp
from baserate_lab.paper.runs.cells import PaperCell, PaperResult
from baserate_lab.paper.runs.tuned_layer import TunedLayer

NETWORK, LINEAR, TRAINED = "mlp", "logistic", "resnet18-plain"
LAST_LAYER = f"{TRAINED} last layer"
"""The model of a trained network whose last layer alone learns along the stream."""
HIDDEN = (100, 100, 20)
N_COMPONENTS = 40
N_ROUNDS, BATCH_SIZE = 200, 50
POOL = N_ROUNDS * BATCH_SIZE // 4

_SHIFTS = {"ber": Bernoulli, "mon": Monotone}
_Builder = Callable[[int, Any, FloatArray, int], BaseLearner]
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
    stream, k, (X, y) = _stream(
        cell.dataset, cell.model, cell.shift, cell.seed, cell.batch_size, cell.n_rounds, cell.holdout
    )
    path = np.array([batch.q for batch in stream])
    with threadpool_limits(1):  # bit-identical on any machine, and faster for small matrices
        learner = LEARNERS[cell.method](k, _model(cell), path, cell.seed)
        if len(y):
            learner._pool = ValidatedApart.on(X, y, k)
        found = evaluate(learner, stream)
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


def _model(cell: PaperCell) -> Any:
    if cell.model == LAST_LAYER:
        layer = features(cell.dataset, TRAINED, progress=False).last_layer
        return TunedLayer(layer.coef, layer.intercept)
    return LogisticRegression(max_iter=1000) if cell.model == LINEAR else mlp(HIDDEN, epochs=1, rng=cell.seed)


class ValidatedApart(Pool):
    """Pool whose validation samples were there before the stream: all samples of the stream are trained on."""

    @classmethod
    def on(cls, X: NDArray[Any], y: IntArray, n_classes: int) -> "ValidatedApart":
        """A pool with nothing but validation samples; they do not count as seen."""
        n = len(y)
        return cls.empty(n_classes)._replace(
            X=X, y=y, held=np.ones(n, dtype=np.bool_), propensity=np.full(n, 1 / n_classes), key=np.zeros(n)
        )

    def multiplicity(self) -> FloatArray:
        """Each sample represents itself: none is dropped."""
        return np.ones(len(self.y))

    def _quota(self, n: int, rng: np.random.Generator) -> int:
        return 0


@lru_cache(maxsize=1)
def _stream(
    dataset: str, model: str, shift: str, seed: int, batch_size: int, n_rounds: int, n_apart: int = 0
) -> tuple[list[Batch], int, tuple[NDArray[Any], IntArray]]:
    """Stream drawn without replacement, the number of classes, and samples that are set apart before.

    The stream ends early when a class has run out.
    """
    samples, labels, k = _samples(dataset, model)
    rng = np.random.default_rng([seed, zlib.crc32(b"labels")])
    order = np.random.default_rng([seed, zlib.crc32(b"apart")]).permutation(len(labels))
    apart, rows = order[:n_apart], np.sort(order[n_apart:])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the pool has run out of class")
        stream = sample_stream(
            np.full((len(rows), k), 1 / k),  # there is no model before the stream begins
            labels[rows],
            _SHIFTS[shift](),
            n_rounds=n_rounds,
            batch_size=batch_size,
            features=samples[rows],
            exhaust=True,
            rng=rng,
        )
        return list(stream), k, (samples[apart], labels[apart])


def _samples(dataset: str, model: str) -> tuple[NDArray[Any], IntArray, int]:
    """Samples that streams are drawn from, their labels, and the number of classes."""
    if model == LAST_LAYER:  # of samples that the network was not trained on
        seen = features(dataset, TRAINED, progress=False)
        rows = np.concatenate([seen.holdout, seen.target])
        return rows, np.concatenate([seen.holdout_y, seen.target_y]), len(seen.last_layer.intercept)
    data = datasets.load(dataset)
    samples = _rows(data.source_X) if model == NETWORK else _components(data)
    return samples, data.source_y, len(data.class_names)


def _components(data: Dataset) -> NDArray[Any]:
    """Principal components, fitted on samples outside the stream; few enough to train in every round."""
    with threadpool_limits(1):
        found = PCA(N_COMPONENTS, svd_solver="covariance_eigh").fit(_rows(data.target_X))
        return np.asarray(found.transform(_rows(data.source_X)), dtype=np.float64)


def _rows(X: NDArray[Any]) -> NDArray[Any]:
    samples = np.reshape(X, (len(X), -1))
    return samples.astype(np.float32) / 255 if samples.dtype == np.uint8 else samples
