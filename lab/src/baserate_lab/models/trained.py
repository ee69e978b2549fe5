"""Trained base models by name, with their outputs and features: from the package, the cache, or by training.

Results of training are cached under a name made of data, parameters and seed, so that nothing is trained twice. A model
that trains in epochs is cached itself. A model that scikit-learn fits in one call is fitted again when needed, and only
its outputs and features are cached. Arrays are stored as numpy files without pickle; the checkpoint of a `ResNet18` has
torch's own format, read as weights only.
"""

import contextlib
import hashlib
import io
import json
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.datasets import Dataset
from baserate.integrations.linear_head import LastLayer, NoLastLayerError, last_layer_of
from baserate.protocols import FloatArray, IntArray
from baserate.validation import check_integer, check_real
from baserate_lab.cache import cache_folder
from baserate_lab.models import _kinds, output_files, recipes
from baserate_lab.models._keeping import keep, say
from baserate_lab.models._split import TRAIN_SHARE, split
from baserate_lab.models.output_files import Outputs
from baserate_lab.models.recipes import Recipe
from baserate_lab.models.resnet18 import Until
from baserate_lab.models.transformer_head import TransformerHead
from baserate_lab.models.tuned_transformer import TunedTransformer
from baserate_lab.models.watching import Watcher, no_watcher, progress_bar

_VERSION = 1  # of cached and packaged files: raise it when the same parameters would give another model
NEVER = -1e4
"""Logit of a probability of 0: finite, and 0 again after the softmax."""


class Features(NamedTuple):
    """Inputs of a trained model's last layer on holdout and target (float32), their labels, and that layer."""

    holdout: NDArray[np.float32]
    holdout_y: IntArray
    target: NDArray[np.float32]
    target_y: IntArray
    last_layer: LastLayer


def train(dataset: str, model: str, *, seed: int = 0, train_share: float = TRAIN_SHARE, progress: bool = True) -> Any:
    """Train a base model, or load it from the cache.

    Parameters
    ----------
    dataset, model : str
        A pair of `baserate_lab.models.RECIPES`.
    seed : int
        Seed of the split of the source into training and holdout, and of the training.
    train_share : float
        Share of every class of the source that is trained on; the rest is the holdout.
    progress : bool
        True: show progress on standard error.

    Returns
    -------
    estimator
        Has `predict_proba`. Ctrl-C loses at most the running epoch: the next call resumes.
    """
    run = _Run(dataset, model, seed, train_share)
    with _watching(f"{dataset} {model}", progress) as watch:
        return run.fitted(watch)


def outputs(
    dataset: str,
    model: str,
    *,
    seed: int = 0,
    train_share: float = TRAIN_SHARE,
    progress: bool = True,
    packaged: bool = True,
) -> Outputs:
    """Outputs of a trained base model on holdout and target.

    Parameters
    ----------
    dataset, model, seed, train_share, progress
        As in `train`.
    packaged : bool
        True: use the files of the package if possible, which need neither data nor training.
    """
    recipe, seed = recipes.find(dataset, model), check_integer(seed, "seed", 0)
    file = output_files.COMMITTED / output_files.file_name(dataset, model, seed)
    if packaged and file.exists():
        found, made_by = output_files.read(file)
        wanted = {"version": _VERSION, **_plain(recipe, seed, train_share)}
        made_by = {"version": 1, **made_by}  # the first files have no version
        if all(made_by.get(key) == value for key, value in wanted.items()):
            return found
    data = _Run(dataset, model, seed, train_share).outputs(progress)
    return output_files.from_bytes(data, file.name)[0]


def outputs_as_bytes(dataset: str, model: str, *, seed: int = 0, progress: bool = True) -> bytes:
    """Bytes of the file that `outputs` writes to the cache, for the package."""
    return _Run(dataset, model, seed).outputs(progress)


def features(
    dataset: str, model: str, *, seed: int = 0, train_share: float = TRAIN_SHARE, progress: bool = True
) -> Features:
    """Inputs of the last layer of a trained base model on holdout and target.

    Parameters
    ----------
    dataset, model, seed, train_share, progress
        As in `train`.

    Raises
    ------
    NoLastLayerError
        A TypeError, if the model has no last linear layer (a random forest, for example).
    """
    run = _Run(dataset, model, seed, train_share)
    stored, layer = run.kept_features(), None
    if stored is None:
        with _watching(f"{dataset} {model}", progress) as watch:
            trained = run.fitted(watch)
            layer = run.spread(trained, last_layer_of(trained))
            seen = {name: run.see(trained, layer, part, watch) for name, part in run.parts().items()}
        stored = {name: array.astype(np.float32) for name, array in seen.items()}
        stored |= {"coef": layer.coef, "intercept": layer.intercept}
        for name, array in stored.items():
            keep(run.folder / f"{name}.npy", _as_npy(array))

    def see(X: Any) -> FloatArray:
        nonlocal layer
        if layer is None:  # everything else came from the cache
            layer = last_layer_of(train(dataset, model, seed=seed, train_share=train_share, progress=False))
        return layer.features(X)

    return Features(
        stored["holdout"],
        run.data.source_y[run.held],
        stored["target"],
        run.data.target_y,
        LastLayer(see, stored["coef"], stored["intercept"]),
    )


class _Run:
    """One data set, one recipe, one seed, one split."""

    def __init__(self, dataset: str, model: str, seed: int, train_share: float = TRAIN_SHARE) -> None:
        self.recipe = recipes.find(dataset, model)
        self.seed = check_integer(seed, "seed", 0)
        self.train_share = check_real(train_share, "train_share", 0.0, 1.0, closed=False)
        self.name = dataset, model
        self.data = recipes.load(dataset)
        self.checksum = checksum(self.data)
        named = {"version": _VERSION, "data": self.checksum, "model": model, **self._plain()}
        key = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()
        # Created with the first file, so that reading needs no write permission.
        self.folder = cache_folder() / "models" / f"{dataset}-{model}-{key[:32]}"
        self.rows, self.held = split(self.data.source_y, self.seed, self.train_share)

    def _plain(self) -> dict[str, Any]:
        return _plain(self.recipe, self.seed, self.train_share)

    def parts(self) -> dict[str, NDArray[Any]]:
        return {"holdout": self.data.source_X[self.held], "target": self.data.target_X}

    def fitted(self, watch: Watcher) -> Any:
        parameters = {name: tuple(v) if isinstance(v, list) else v for name, v in self.recipe.parameters.items()}
        between = parameters.pop("until_error", None)
        until = None if between is None else Until(self.parts()["holdout"], self.data.source_y[self.held], *between)
        return _kinds.fit(
            _kinds.KINDS[self.recipe.kind](self.seed, **parameters),
            self.data.source_X[self.rows],
            self.data.source_y[self.rows],
            self.folder / "checkpoint",
            _embeddings(),
            watch,
            until,
        )

    def kept_features(self) -> dict[str, NDArray[Any]] | None:
        """Features and last layer from the cache, if all are there and valid."""
        n, m, k = len(self.held), len(self.data.target_y), len(self.data.class_names)
        found: dict[str, NDArray[Any]] = {}
        for name, rows in {"holdout": n, "target": m, "coef": k, "intercept": k}.items():
            file = self.folder / f"{name}.npy"
            if not file.exists():
                return None
            try:
                with file.open("rb") as raw:
                    found[name] = np.load(raw, allow_pickle=False)
                dtype = np.float32 if name in ("holdout", "target") else np.float64
                shape = (rows,) if name == "intercept" else (rows, *found["holdout"].shape[1:])
                if found[name].shape != shape or found[name].dtype != dtype or len(found["holdout"].shape) != 2:
                    raise ValueError(f"it has shape {found[name].shape} and dtype {found[name].dtype}")
            except Exception as error:  # a damaged file can raise anything
                say(f"baserate: {file} is damaged ({error}); it is made anew.")
                return None
        return found

    def outputs(self, progress: bool) -> bytes:
        """Bytes of the file of outputs, from the cache if it exists."""
        file = self.folder / "outputs.npz"
        if file.exists():
            try:
                data = file.read_bytes()
                output_files.from_bytes(data, str(file))
                return data
            except ValueError as error:
                say(f"baserate: {error} It is made anew.")
        with _watching(" ".join(self.name), progress) as watch:
            trained = self.fitted(watch)
            holdout, target = (self._logits(trained, X, watch) for X in self.parts().values())
        made = Outputs(
            holdout,
            self.data.source_y[self.held],
            target,
            self.data.target_y,
            self.data.class_names,
            self.data.provenance,
            float((target.argmax(axis=1) == self.data.target_y).mean()),
            self.data.in_time_order,
            self.data.stand_in_for,
        )
        data = output_files.to_bytes(made, self._made_by())
        keep(file, data)
        return data

    def _logits(self, trained: Any, X: NDArray[Any], watch: Watcher) -> NDArray[np.float32]:
        try:
            layer = self.spread(trained, last_layer_of(trained))
        except NoLastLayerError:  # probabilities only
            with np.errstate(divide="ignore"):
                logs = np.maximum(np.log(trained.predict_proba(X)), NEVER)
            logits = np.full((len(X), len(self.data.class_names)), NEVER)
            logits[:, trained.classes_] = logs
        else:
            logits = layer.logits(self.see(trained, layer, X, watch))
        return logits.astype(np.float32)

    def see(self, trained: Any, layer: LastLayer, X: NDArray[Any], watch: Watcher) -> FloatArray:
        if isinstance(trained, TransformerHead):
            return trained.features(X, checkpoint=_embeddings(), watch=watch)
        if isinstance(trained, TunedTransformer):
            return trained.features(X, watch=watch)
        return layer.features(X)

    def spread(self, trained: Any, layer: LastLayer) -> LastLayer:
        """The layer with one row per class; a class without training samples has probability 0.

        Some models have no row for such a class, others have an untrained one.
        """
        seen = np.unique(self.data.source_y[self.rows])
        rows = np.searchsorted(getattr(trained, "classes_", np.arange(len(layer.coef))), seen)
        k = len(self.data.class_names)
        coef, intercept = np.zeros((k, layer.coef.shape[1])), np.full(k, NEVER)
        coef[seen], intercept[seen] = layer.coef[rows], layer.intercept[rows]
        return LastLayer(layer.features, coef, intercept)

    def _made_by(self) -> dict[str, Any]:
        dataset, model = self.name
        libraries = ["baserate", "numpy", "scikit-learn"]
        libraries += ["torch"] if self.recipe.kind == "resnet18" else []
        libraries += ["torch", "transformers"] if self.recipe.kind.endswith("transformer") else []
        versions = {"python": platform.python_version()}
        for library in libraries:
            with contextlib.suppress(PackageNotFoundError):
                versions[library] = version(library)
        return {
            "dataset": dataset,
            "model": model,
            "version": _VERSION,
            **self._plain(),
            "data_sha256": self.checksum,
            "command": f"python -m baserate_lab.models {dataset} {model} --seed {self.seed}",
            "versions": versions,
        }


def checksum(data: Dataset) -> str:
    """SHA-256 of all samples and labels of a data set."""
    digest = hashlib.sha256()
    for array in (data.source_X, data.source_y, data.target_X, data.target_y):
        digest.update(repr((array.shape, array.dtype.str)).encode())
        if array.dtype.kind in "OU":  # texts
            for text in array.ravel():
                encoded = str(text).encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "little"))
                digest.update(encoded)
        else:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _plain(recipe: Recipe, seed: int, train_share: float) -> dict[str, Any]:
    named = {"kind": recipe.kind, "parameters": recipe.parameters, "seed": seed}
    if train_share != TRAIN_SHARE:  # files from before this option do not name it
        named["train_share"] = train_share
    found: dict[str, Any] = json.loads(json.dumps(named))
    return found


@contextlib.contextmanager
def _watching(title: str, progress: bool) -> Iterator[Watcher]:
    if not progress:
        yield no_watcher
        return
    with progress_bar(title) as watch:
        yield watch


def _embeddings() -> Path:
    return cache_folder() / "embeddings"


def _as_npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
