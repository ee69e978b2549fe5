"""Every unsupervised method on real data, under every shift: the table of ``docs/results/unsupervised.md``.

``python -m baserate.paper.unsupervised`` prints it (about an hour on two cores, once the models are trained).
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate.adapters import ATLAS, ROGD, UOGD, Base, OptimalFixed, Oracle, RegressAndReweight, RetrainLastLayer
from baserate.evaluation import evaluate
from baserate.models import LastLayer, features, outputs
from baserate.models.last_layer import NoLastLayerError
from baserate.protocols import Adapter, Batch, FloatArray, IntArray
from baserate.shifts import Bernoulli, Monotone, Sinusoidal, Square, frequencies, replay_stream, sample_stream
from baserate.trackers import FLHFTL, Arrows, FollowTheFixedWindow, FollowTheHistory, LastSighting

PROBLEMS = (
    ("mnist", "mlp"),
    ("mnist", "forest"),
    ("fashion", "mlp"),
    ("cifar10", "resnet18-narrow"),
    ("arxiv", "minilm"),
    ("hapt", "linear"),
)
SHIFTS = {"Mon": Monotone(), "Squ": Square(), "Sin": Sinusoidal(), "Ber": Bernoulli()}
REAL = "real"
N_ROUNDS, BATCH_SIZE, HOLDOUT = 1000, 10, 1000
ROGD_LIPSCHITZ = 0.7  # of the published runs' joint confusion matrix, which is 1/k of the conditional one's


class Problem(NamedTuple):
    """A trained model: what it says of holdout and target, and what its last layer sees, if it has one."""

    name: tuple[str, str]
    holdout: FloatArray
    holdout_y: IntArray
    target: FloatArray
    target_y: IntArray
    layer: LastLayer | None
    holdout_features: NDArray[np.float32] | None
    target_features: NDArray[np.float32] | None
    accuracy: float
    in_time_order: bool
    about: str


class Result(NamedTuple):
    """One method on one stream: error in %, and the squared distance of its mix to the true one."""

    method: str
    error: float
    mse: float


def load(dataset: str, model: str) -> Problem:
    """Load or train a base model."""
    said = outputs(dataset, model)
    try:
        seen = features(dataset, model)
    except NoLastLayerError:
        seen = None
    if seen is not None and not np.array_equal(seen.target_y, said.target_y):
        raise ValueError(f"the outputs of {dataset} {model} that come with the package are of other data than yours.")
    about = said.provenance + (f" A stand-in for {said.stand_in_for}." if said.stand_in_for else "")
    return Problem(
        (dataset, model),
        said.holdout_proba,
        said.holdout_y,
        said.target_proba,
        said.target_y,
        None if seen is None else seen.last_layer,
        None if seen is None else seen.holdout,
        None if seen is None else seen.target,
        said.accuracy,
        said.in_time_order,
        about,
    )


def methods(problem: Problem, stream: list[Batch]) -> Iterator[tuple[str, Adapter]]:
    """Every method, those that are told the truth for this very stream."""
    k = problem.holdout.shape[1]
    window = FLHFTL(k, experts="window")
    yield "Base", Base()
    yield "OFC", OptimalFixed.from_stream(stream)
    yield "FTH", RegressAndReweight(FollowTheHistory(k))
    yield "FTFWH", RegressAndReweight(FollowTheFixedWindow(k))
    yield "BBSE", RegressAndReweight(LastSighting(k))
    yield "ROGD", ROGD(horizon=len(stream), lipschitz=ROGD_LIPSCHITZ * k)
    if problem.layer is not None:
        layer = problem.layer.coef, problem.layer.intercept
        yield "UOGD", UOGD(*layer, horizon=len(stream))
        yield "ATLAS", ATLAS(*layer, horizon=len(stream))
        yield "RT-FLH-FTL", RetrainLastLayer(*layer, window)
    yield "FLH-FTL", RegressAndReweight(FLHFTL(k))
    yield "FLH-FTL (window)", RegressAndReweight(window)
    yield "Arrows", RegressAndReweight(Arrows(k))
    yield "Oracle (batch)", Oracle(frequencies(stream))
    yield "Oracle", Oracle([batch.q for batch in stream])


def make_stream(problem: Problem, shift: str, rng: np.random.Generator) -> list[Batch]:
    """A simulated shift, or the target as it came."""
    pool, seen = (problem.target, problem.target_y), problem.target_features
    if shift == REAL:
        return list(replay_stream(*pool, batch_size=BATCH_SIZE, features=seen))
    made = sample_stream(*pool, SHIFTS[shift], n_rounds=N_ROUNDS, batch_size=BATCH_SIZE, features=seen, rng=rng)
    return list(made)


def run(problem: Problem, shift: str, seed: int) -> list[Result]:
    """All methods on one stream, with a holdout of `HOLDOUT` samples drawn anew for each seed."""
    rng = np.random.default_rng([seed, [*SHIFTS, REAL].index(shift)])
    rows = np.arange(len(problem.holdout_y))
    if len(rows) > HOLDOUT:
        rows, _ = train_test_split(
            rows, train_size=HOLDOUT, stratify=problem.holdout_y, random_state=int(rng.integers(2**31))
        )
    labels = problem.holdout_y[rows]
    stream = make_stream(problem, shift, rng)
    found = []
    with threadpool_limits(1):
        for name, method in methods(problem, stream):
            if getattr(method, "input_kind", "proba") == "features":
                assert problem.holdout_features is not None
                method.fit(problem.holdout_features[rows], labels)
            else:
                method.fit(problem.holdout[rows], labels)
            result = evaluate(method, stream)
            found.append(Result(name, 100 * result.error_rate, result.mse))
    return found


def table(problem: Problem, n_seeds: int, console: Console) -> str:
    """The results on one problem, as Markdown."""
    shifts = [*SHIFTS, *([REAL] if problem.in_time_order else [])]
    todo = [(shift, seed) for shift in shifts for seed in range(n_seeds)]
    work = Parallel(n_jobs=-1, return_as="generator")(delayed(run)(problem, *one) for one in todo)
    title = " ".join(problem.name)
    done = list(track(work, title, total=len(todo), console=console))
    names = list(dict.fromkeys(result.method for results in done for result in results))
    lines = [
        f"## {title}",
        "",
        f"{problem.about} Accuracy on the target as it is: {100 * problem.accuracy:.1f} %.",
        "",
        f"| | {' | '.join(shifts)} |",
        f"|---|{'---|' * len(shifts)}",
    ]
    for name in names:
        cells = []
        for shift in shifts:
            values = [r for (s, _), rs in zip(todo, done, strict=True) for r in rs if s == shift and r.method == name]
            errors, mses = np.array([r.error for r in values]), np.array([r.mse for r in values])
            mse = "" if np.isnan(mses).any() else f" ({mses.mean():.3f})"
            cells.append(f"{errors.mean():.2f} ± {errors.std():.2f}{mse}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = [f"{dataset}/{model}" for dataset, model in PROBLEMS]
    parser.add_argument("problems", nargs="*", metavar="DATASET/MODEL", help=f"of {', '.join(choices)}; all by default")
    parser.add_argument("--seeds", type=int, default=3, help="streams of each kind (default: 3)")
    options = parser.parse_args()
    for unknown in set(options.problems) - set(choices):
        parser.error(f"there is no {unknown}; choose from {', '.join(choices)}")
    if options.seeds < 1:
        parser.error("--seeds is below 1")
    console = Console(stderr=True)
    for name in options.problems or choices:
        print(table(load(*name.split("/")), options.seeds, console), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
