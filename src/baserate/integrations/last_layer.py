"""The last layer of any model that has one, whichever library it is of."""

import sys
from typing import Any

from baserate.integrations.linear_head import LastLayer, last_layer_of


def last_layer(model: Any, samples: Any = None) -> LastLayer:
    """Take a fitted classifier apart: ``softmax(features(X) @ coef.T + intercept)`` is its probabilities.

    Parameters
    ----------
    model : estimator or torch.nn.Module
        Of scikit-learn: `LogisticRegression`, `LogisticRegressionCV`, `LinearDiscriminantAnalysis`, `MLPClassifier`,
        pipelines that end in one of them, and searches over their parameters. Of torch: a module that returns what
        an `nn.Linear` gave; a single output is taken for the logit of the second of two classes. Any
        other object that has `features(X)`, `coef_` and `intercept_`.
    samples : array or tensor, optional
        A few samples for a torch module, to find out at once which of its linear layers is the last. Default: the one
        that it names last, and whether that is right is found out when `features` is called first, which raises if it
        is not. Other models do not need any.

    Returns
    -------
    LastLayer
        `features` (a function of samples), `coef` (k, d) and `intercept` (k,). A binary model has two rows, the first
        of them zeros.

    Raises
    ------
    NoLastLayerError
        A TypeError (in `baserate.integrations.linear_head`). If the probabilities of the model are not the softmax of a
        linear layer: forests, boosted trees, support vector machines, one-vs-rest and calibrated models. Methods that
        need probabilities only work with those.

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

        return last_layer_of_module(model, samples)
    return last_layer_of(model)
