"""The experiment of ``baserate demo``: real digits, the paper's four shifts, every method there is."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import baserate.adapters
import baserate.trackers
from baserate.adapters import Base, OptimalFixed, Oracle, RegressAndReweight
from baserate.backtesting.methods import DEFAULT, DESCRIPTIONS, TITLES, every_tracker
from baserate.datasets import digits
from baserate.evaluation import Evaluation, evaluate
from baserate.integrations import last_layer
from baserate.protocols import Adapter, Batch, FloatArray, IntArray
from baserate.shifts import Bernoulli, Monotone, Sinusoidal, Square, sample_stream
from baserate.trust import HoldoutWarning

MOVING = 8
"""The class whose share moves. Over many splits the model mistakes eights most often, 17 % of them, and zeros hardly
ever, so that nobody could gain anything on a stream of zeros."""

SHIFTS = (Monotone, Square, Sinusoidal, Bernoulli)
BASE, OPTIMAL, ORACLE = "Base", "OptimalFixed", "Oracle"
UNGATED = baserate.trackers.LikelihoodMixture.__name__
"""The default without its gate."""
REFERENCES = (BASE, OPTIMAL, ORACLE)
"""The methods that the others are compared with: one does nothing, two are told what nobody knows."""

_DESCRIPTIONS = {
    BASE: "The model left alone.",
    DEFAULT: DESCRIPTIONS[DEFAULT],
    OPTIMAL: "Re-weights every round to one and the same mix, chosen in hindsight with all labels. It can beat the "
    "oracle for two reasons. It is chosen on the very samples that it is scored on. And a model as weak as this one is "
    "not perfectly calibrated, so that the true mix is not the best one to re-weight to: this method may choose any.",
    ORACLE: "Told the true class mix of every round, which nobody knows: the best that re-weighting could do if the "
    "model's probabilities were perfectly calibrated.",
}
_SHORTER = {"RetrainLastLayer": {"epochs": 10}}  # for a tour; the default takes five times as long


class TrainedModel(NamedTuple):
    """A trained model, as its probabilities on a labelled holdout and on the labelled pool that streams come from.

    And what its last layer sees of both, and its weights and intercepts.
    """

    holdout_proba: FloatArray
    holdout_y: IntArray
    pool_proba: FloatArray
    pool_y: IntArray
    n_train: int
    class_names: tuple[str, ...]
    provenance: str
    holdout_features: FloatArray
    pool_features: FloatArray
    head: tuple[FloatArray, FloatArray]

    @property
    def largest_batch(self) -> int:
        """The most samples that a round can have: a round may be of one class alone."""
        return int(np.bincount(self.pool_y).min())


class Cell(NamedTuple):
    """One method on one shift."""

    shift: str
    method: str
    evaluation: Evaluation
    regret: float


class Demo(NamedTuple):
    """The whole experiment: its settings and its results."""

    n_rounds: int
    batch_size: int
    seed: int
    model: TrainedModel
    cells: list[Cell]


def train_model(seed: int = 0) -> TrainedModel:
    """Train the model.

    Few samples, so that it is wrong on about 8 % of an even mix; the regularisation is the one at which a temperature
    fitted on the pool is about 1, that is, at which its probabilities need no calibration. The holdout is no larger
    than what the model learned from: methods that retrain on it would otherwise win by having seen more.
    """
    data = digits.load()
    old_kind_of_seed = int(np.random.SeedSequence(seed).generate_state(1)[0])  # scikit-learn takes 32 bits
    train_X, holdout_X, train_y, holdout_y = train_test_split(
        data.source_X,
        data.source_y,
        train_size=200,
        test_size=200,
        stratify=data.source_y,
        random_state=old_kind_of_seed,
    )
    model = make_pipeline(StandardScaler(), LogisticRegression(C=3.0, max_iter=1000)).fit(train_X, train_y)
    layer = last_layer(model)
    return TrainedModel(
        model.predict_proba(holdout_X),
        holdout_y,
        model.predict_proba(data.target_X),
        data.target_y,
        len(train_y),
        data.class_names,
        data.provenance,
        layer.features(holdout_X),
        layer.features(data.target_X),
        (layer.coef, layer.intercept),
    )


def rivals(model: TrainedModel) -> dict[str, Adapter]:
    """Every method that uses only what is known in time: the default, each tracker, each adapter that is no reference.

    The default is as users have it, with its gate; the trackers are as they are written down, without.
    """
    found: dict[str, Adapter] = {DEFAULT: RegressAndReweight()}
    for name, tracker in every_tracker(len(model.class_names)).items():
        found[name] = RegressAndReweight(tracker, gate=False)
    for name in baserate.adapters.__all__:
        cls = getattr(baserate.adapters, name)
        if name not in (*REFERENCES, RegressAndReweight.__name__):
            layer = model.head if cls.input_kind == "features" else ()
            found[name] = cls(*layer, **_SHORTER.get(name, {}))
    return found


def reference(method: str, path: FloatArray, stream: Sequence[Batch]) -> Adapter:
    """A method that the others are compared with, for a certain stream."""
    if method == OPTIMAL:
        return OptimalFixed.from_stream(stream)
    return Base() if method == BASE else Oracle(path)


def describe(method: str) -> str:
    """Describe a method: the first words of its docstring."""
    if method in _DESCRIPTIONS:
        return _DESCRIPTIONS[method]
    name, _, mode = method.removesuffix(")").partition(" (")
    exported = {TITLES.get(n, n): getattr(m, n) for m in (baserate.trackers, baserate.adapters) for n in m.__all__}
    summary = " ".join((inspect.getdoc(exported[name]) or "").partition("\n\n")[0].split())
    if method in _SHORTER:
        options = " and ".join(f"{key} = {value}" for key, value in _SHORTER[method].items())
        summary += f" Here with {options}, to keep the tour short, which costs it accuracy."
    return f"{summary} Here in its mode `{mode}`." if mode else summary


def run_demo(
    model: TrainedModel,
    n_rounds: int = 1000,
    batch_size: int = 10,
    seed: int = 0,
    *,
    track: Callable[[Sequence[tuple[str, str]]], Iterable[tuple[str, str]]] = iter,
) -> Demo:
    """Run every method on the same streams.

    Parameters
    ----------
    model : TrainedModel
        From `train_model`.
    n_rounds, batch_size : int
        Length of each stream, and samples a round (at most `TrainedModel.largest_batch`).
    seed : int
        The seed of the paths and of the samples.
    track : callable, optional
        Wraps the sequence of (shift, method) to come, to show progress.
    """
    k = len(model.class_names)
    streams = {}
    for shift, sequence in zip(SHIFTS, np.random.SeedSequence(seed).spawn(len(SHIFTS)), strict=True):
        rng = np.random.default_rng(sequence)
        path = shift(second=np.eye(k)[MOVING]).path(n_rounds, k, rng)
        pool = model.pool_proba, model.pool_y
        stream = sample_stream(*pool, path, batch_size=batch_size, features=model.pool_features, rng=rng)
        streams[shift.__name__] = (path, list(stream))
    holdout = {"proba": model.holdout_proba, "features": model.holdout_features}
    pools = {"proba": (model.pool_proba, model.pool_y), "features": (model.pool_features, model.pool_y)}
    best: dict[str, Evaluation] = {}
    methods = rivals(model)
    cells = []
    for shift_name, method in track([(shift, name) for shift in streams for name in (BASE, *methods, OPTIMAL, ORACLE)]):
        path, batches = streams[shift_name]
        adapter = methods[method] if method in methods else reference(method, path, batches)
        kind: str = getattr(adapter, "input_kind", "proba")
        # The same bits on any machine, and no waiting for threads over small matrices; the small holdout is meant.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", HoldoutWarning)
            evaluation = evaluate(adapter.fit(holdout[kind], model.holdout_y), batches, pool=pools[kind])
            if shift_name not in best:
                oracle = Oracle(path).fit(model.holdout_proba, model.holdout_y)
                best[shift_name] = evaluate(oracle, batches, pool=pools["proba"])
        regret = float(evaluation.dynamic_regret(best[shift_name])[-1])
        cells.append(Cell(shift_name, method, evaluation, regret))
    return Demo(n_rounds, batch_size, seed, model, cells)
