"""Kinds of base models: building them from plain parameters, and fitting them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD  # type: ignore[import-untyped]
from sklearn.ensemble import RandomForestClassifier  # type: ignore[import-untyped]
from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline, make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import FunctionTransformer, StandardScaler  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate.protocols import IntArray
from baserate_lab.models.linear_sgd import LinearSGD
from baserate_lab.models.perceptron import fit_in_epochs, mlp
from baserate_lab.models.resnet18 import ResNet18, Until
from baserate_lab.models.transformer_head import TransformerHead
from baserate_lab.models.tuned_transformer import TunedTransformer
from baserate_lab.models.watching import Watcher


def _normalise(X: NDArray[Any], *, mean: float, std: float) -> NDArray[Any]:
    """Normalise all features by the same two numbers; float32 samples stay float32."""
    return np.asarray((X - mean) / std)


def _normalised_mlp(rng: int, *, mean: float, std: float, **parameters: Any) -> Any:
    """MLP on samples normalised by the mean and deviation of all pixels together, not of each pixel."""
    return make_pipeline(
        FunctionTransformer(_normalise, kw_args={"mean": mean, "std": std}), mlp(**parameters, rng=rng)
    )


def _logistic(rng: int, *, C: float, tol: float = 1e-8) -> Any:
    """Softmax regression fitted to convergence: an early stop would depend on the number of threads."""
    return LogisticRegression(C=C, tol=tol, max_iter=10_000, random_state=rng)


def _tfidf(rng: int, *, words: int, dimensions: int, C: float, tol: float = 1e-8) -> Any:
    """Softmax regression on tf-idf features, reduced to a few hundred dimensions to keep the last layer small."""
    return make_pipeline(
        TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5, max_features=words),
        TruncatedSVD(dimensions, random_state=rng),
        _logistic(rng, C=C, tol=tol),
    )


KINDS: dict[str, Callable[..., Any]] = {
    "linear": lambda rng, **p: LinearSGD(**p, rng=rng),
    "scaled linear": lambda rng, **p: make_pipeline(StandardScaler(), LinearSGD(**p, rng=rng)),
    "mlp": lambda rng, **p: mlp(**p, rng=rng),
    "scaled mlp": lambda rng, **p: make_pipeline(StandardScaler(), mlp(**p, rng=rng)),
    "normalised mlp": _normalised_mlp,
    "forest": lambda rng, **p: RandomForestClassifier(**p, random_state=rng),
    "logistic": _logistic,
    "scaled logistic": lambda rng, **p: make_pipeline(StandardScaler(), _logistic(rng, **p)),
    "tfidf": _tfidf,
    "resnet18": lambda rng, **p: ResNet18(**p, rng=rng),
    "transformer": lambda _, **p: TransformerHead(**p),
    "tuned transformer": lambda rng, **p: TunedTransformer(**p, rng=rng),
}
"""Builders by kind; called with a seed and the recipe's parameters."""


def fit(
    model: Any,
    X: NDArray[Any],
    y: IntArray,
    checkpoint: Path,
    embeddings: Path,
    watch: Watcher,
    until: Until | None = None,
) -> Any:
    """Fit a model; training in epochs calls `watch`, resumes from its checkpoint, and may stop early by a rule."""
    if isinstance(model, Pipeline):
        inner = model[:-1].fit_transform(X, y)
        fit(model[-1], inner, y, checkpoint, embeddings, watch)
    elif isinstance(model, MLPClassifier):
        fit_in_epochs(model, X, y, checkpoint=checkpoint, watch=watch)
    elif isinstance(model, ResNet18):
        model.fit(X, y, checkpoint=checkpoint, watch=watch, until=until)
    elif isinstance(model, TransformerHead):
        model.fit(X, y, checkpoint=embeddings, watch=watch)
    elif isinstance(model, TunedTransformer):
        model.fit(X, y, checkpoint=checkpoint, watch=watch)
    else:
        # In single precision a regression would stop early too.
        samples = np.asarray(X, dtype=np.float64) if isinstance(model, LogisticRegression) else X
        with threadpool_limits(1):  # threads would mostly wait for each other
            model.fit(samples, y)
    return model
