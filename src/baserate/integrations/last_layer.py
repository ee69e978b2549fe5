"""The last layer of any model that has one, whichever library it is of."""

import sys
from typing import Any

from baserate.models.last_layer import LastLayer, last_layer_of


def last_layer(model: Any) -> LastLayer:
    """Take a fitted classifier apart: ``softmax(features(X) @ coef.T + intercept)`` is its probabilities.

    Parameters
    ----------
    model : estimator or torch.nn.Module
        Of scikit-learn: `LogisticRegression`, `LogisticRegressionCV`, `LinearDiscriminantAnalysis`, `MLPClassifier`,
        pipelines that end in one of them, and searches over their parameters. Of torch: a module that ends in an
        `nn.Linear`, whose output is the module's own; a single output is taken for the logit of the second of two
        classes. Of this library: every model of `baserate.models`.

    Returns
    -------
    LastLayer
        `features` (a function of samples), `coef` (k, d) and `intercept` (k,). A binary model has two rows, the first
        of them zeros.

    Raises
    ------
    TypeError
        If the probabilities of the model are not the softmax of a linear layer: forests, boosted trees, support vector
        machines, one-vs-rest and calibrated models. Methods that need probabilities only work with those.

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
    torch = sys.modules.get("torch")  # who has a module of torch has imported it
    if torch is not None and isinstance(model, torch.nn.Module):
        from baserate.integrations.torch_modules import last_layer_of_module

        return last_layer_of_module(model)
    return last_layer_of(model)
