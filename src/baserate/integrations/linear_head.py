"""The last linear layer of scikit-learn models, for methods that retrain only that layer."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]

from baserate.integrations.training_data import check_trained
from baserate.protocols import FloatArray

_ACTIVATIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "identity": lambda x: x,
    "logistic": expit,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
}


_SPREAD = 3.0  # of the logits at which a model is tested: near 0, and far from it, softmax and one-vs-rest agree


class NoLastLayerError(TypeError):
    """Error: a model's probabilities are not the softmax of a linear layer; says why, and what to use instead."""


class LastLayer(NamedTuple):
    """A model as features and a linear layer; its probabilities are ``softmax(features(X) @ coef.T + intercept)``.

    Attributes
    ----------
    features : callable
        Maps samples to an (n, d) array of float64.
    coef : (k, d) array
        Weights, one row per class.
    intercept : (k,) array
        One number per class.
    """

    features: Callable[[Any], FloatArray]
    coef: FloatArray
    intercept: FloatArray

    def logits(self, features: FloatArray) -> FloatArray:
        """Return the logits of samples, given their features."""
        return np.asarray(features @ self.coef.T + self.intercept)


def last_layer_of(model: Any) -> LastLayer:
    """Split a fitted scikit-learn model, or one that provides its last layer itself.

    Parameters
    ----------
    model : estimator
        `LogisticRegression`, `LogisticRegressionCV`, `LinearDiscriminantAnalysis` or `MLPClassifier`, a pipeline that
        ends in one of them, a search over their parameters, or an object that has `features(X)`, `coef_` and
        `intercept_`.

    Raises
    ------
    NoLastLayerError
        A TypeError, if the model's probabilities are not the softmax of a linear layer.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> layer = last_layer_of(LogisticRegression().fit(X, y))
    >>> layer.coef.shape, layer.intercept.shape
    ((2, 1), (2,))
    """
    if isinstance(model, Pipeline):
        inner = last_layer_of(model[-1])
        before = model[:-1]
        return inner._replace(features=lambda X: inner.features(before.transform(X) if len(before) else X))
    if hasattr(model, "best_estimator_"):  # a search over parameters predicts with the best model it found
        return last_layer_of(model.best_estimator_)
    if hasattr(model, "refit") and hasattr(model, "estimator"):  # a search that has no best model
        if not model.refit:
            raise NoLastLayerError(_refusal(model, "with refit=False it keeps no model; fit it with refit=True"))
        check_trained(model, "best_estimator_")
    if isinstance(model, LogisticRegression | LinearDiscriminantAnalysis):
        check_trained(model, "coef_")
        return _checked(model, as_numbers, model.coef_, model.intercept_, _probe(model.coef_, model.intercept_))
    if isinstance(model, MLPClassifier):
        check_trained(model, "coefs_")
        if model.out_activation_ == "logistic" and model.n_outputs_ > 1:
            raise NoLastLayerError(
                _refusal(model, "it was fitted to several labels per sample, each with a probability")
            )
        probe = _probe(model.coefs_[0].T[:32], model.intercepts_[0][:32])  # some of its units are enough
        return _checked(model, lambda X: _hidden(model, X), model.coefs_[-1].T, model.intercepts_[-1], probe)
    if callable(getattr(model, "features", None)):
        check_trained(model, "coef_")
        return LastLayer(model.features, np.array(model.coef_, np.float64), np.array(model.intercept_, np.float64))
    raise NoLastLayerError(_refusal(model, "it has no last linear layer whose softmax is its probabilities"))


def two_rows(coef: NDArray[Any], intercept: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Return the layer in float64; a binary model's single row gets a row of zeros for the first class."""
    if len(coef) == 1:
        coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
    return np.array(coef, dtype=np.float64, order="C"), np.array(intercept, dtype=np.float64)


def as_numbers(X: Any) -> FloatArray:
    """Return samples as features, with a sparse matrix made dense."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def _hidden(model: Any, X: Any) -> FloatArray:
    """Return the input of the last layer of a scikit-learn network, computed in the network's own precision."""
    x = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if x.dtype != np.float32:
        x = x.astype(np.float64)
    activation = _ACTIVATIONS[model.activation]
    for weights, intercepts in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        x = activation(x @ weights + intercepts)
    return x.astype(np.float64)


def _probe(weights: NDArray[Any], intercept: NDArray[Any]) -> FloatArray:
    """Return artificial samples for which a linear layer has logits of a few units, whatever its scale."""
    wanted = _SPREAD * np.random.default_rng(0).standard_normal((16, len(weights)))
    sizes = np.linalg.norm(weights.astype(np.float64), axis=0)
    sizes[sizes == 0] = 1
    # Directions to which the layer hardly reacts are left out: they would need samples of absurd size.
    return np.asarray((wanted - intercept) @ np.linalg.pinv(weights / sizes, rcond=1e-3).T / sizes)


def _checked(
    model: Any, features: Callable[[Any], FloatArray], coef: NDArray[Any], intercept: NDArray[Any], probe: FloatArray
) -> LastLayer:
    """Return the layer, if it gives the model's own probabilities; a model of this class may be one-vs-rest instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model may have been fitted on a frame, and warn of missing names
        expected = model.predict_proba(probe)
    forms = [two_rows(coef, intercept)]
    if len(coef) == 1:  # a multinomial regression on two classes has the opposite logit for the first one
        forms.append(two_rows(np.vstack([-coef, coef]), np.append(-intercept, intercept)))
    for form in forms:
        layer = LastLayer(features, *form)
        found = softmax(layer.logits(features(probe)), axis=1)
        if expected.shape == found.shape and np.allclose(expected, found, atol=1e-5):
            return layer
    raise NoLastLayerError(
        _refusal(
            model,
            "its probabilities are not the softmax of its linear layer (as of one that was fitted one class against "
            "the rest)",
        )
    )


def _refusal(model: Any, reason: str) -> str:
    return (
        f"the last layer of {type(model).__name__} cannot be taken: {reason}. Use a method that needs probabilities "
        "only, such as RegressAndReweight or ROGD."
    )
