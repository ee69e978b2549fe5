"""last_layer: the last linear layer of a scikit-learn or torch model."""

import sys
from typing import Any

from baserate.integrations.linear_head import LastLayer, last_layer_of


def last_layer(model: Any, samples: Any = None) -> LastLayer:
    """Split a fitted classifier so that its probabilities are ``softmax(features(X) @ coef.T + intercept)``.

    Parameters
    ----------
    model : estimator or torch.nn.Module
        From scikit-learn: `LogisticRegression`, `LogisticRegressionCV`, `LinearDiscriminantAnalysis`, `MLPClassifier`,
        pipelines that end in one of them, and searches over their parameters. From torch: a module that returns the
        output of an `nn.Linear`; a single output is the logit of the second of two classes. Any other object with
        `features(X)`, `coef_` and `intercept_`.
    samples : array or tensor, optional
        A few samples for a torch module, to find its last linear layer by running them. Default: the layer that is
        named last is used, and the first call of `features` raises an error if that is wrong. Other models need none.

    Returns
    -------
    LastLayer
        `features` (a function of samples), `coef` (k, d) and `intercept` (k,). A binary model has two rows, the first
        of them zeros.

    Raises
    ------
    NoLastLayerError
        A TypeError (in `baserate.integrations.linear_head`), if the model's probabilities are not the softmax of a
        linear layer: forests, boosted trees, support vector machines, one-vs-rest and calibrated models. For these, use
        methods that only need probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> model = LogisticRegression().fit(X, y)
    >>> layer = last_layer(model)
    >>> proba = softmax(layer.features(X) @ layer.coef.T + layer.intercept, axis=1)
    >>> bool(np.allclose(proba, model.predict_proba(X)))
    True
    """
    if isinstance(model, type):
        raise TypeError(f"model is the class {model.__name__}, not an instance; give a fitted model.")
    torch = sys.modules.get("torch")  # if the model is a torch module, torch has been imported
    if torch is not None and isinstance(model, torch.nn.Module):
        from baserate.integrations.torch_modules import last_layer_of_module

        return last_layer_of_module(model, samples)
    return last_layer_of(model)
