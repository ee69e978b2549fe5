"""scikit-learn's MLPClassifier, trained epoch by epoch: with progress, and from a checkpoint."""

import hashlib
import io
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped]

from baserate.models.watching import Moment, Watcher, no_watcher
from baserate.state import write_atomically
from baserate.validation import check_integer


def mlp(
    hidden: tuple[int, ...],
    *,
    epochs: int,
    step_size: float = 0.1,
    momentum: float = 0.9,
    l2: float = 1e-4,
    batch_size: int = 200,
    rng: int = 0,
) -> Any:
    """A multi-layer perceptron as the paper's runs had it, not fitted yet.

    Parameters
    ----------
    hidden : tuple of int
        Sizes of the hidden layers, which are rectified.
    epochs, step_size, momentum, batch_size
        Of the gradient descent, which is plain: no Nesterov, no decay.
    l2 : float
        Weight decay. scikit-learn divides its `alpha` by the batch size, so `alpha` is this times the batch size.
    rng : int
        Seed of the starting weights and the order of the samples.

    Examples
    --------
    >>> mlp((20,), epochs=1).alpha
    0.02
    """
    return MLPClassifier(
        hidden,
        solver="sgd",
        learning_rate_init=step_size,
        momentum=momentum,
        nesterovs_momentum=False,
        alpha=l2 * batch_size,
        batch_size=batch_size,
        max_iter=epochs,
        random_state=rng,
    )


def fit_in_epochs(
    model: Any,
    X: NDArray[Any],
    y: ArrayLike,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    watch: Watcher = no_watcher,
) -> Any:
    """Fit an MLPClassifier for exactly `max_iter` epochs.

    Ctrl-C loses the running epoch at most: scikit-learn's own `fit` would take it for the end of the training.

    Parameters
    ----------
    model : MLPClassifier
        With ``solver="sgd"``, a constant learning rate, no early stopping and a whole number as `random_state`.
    X, y : arrays
        Training data. With float32 samples the network is float32, too.
    checkpoint : path, optional
        A file that is written after each epoch. If it is there, training goes on from it, to the same bits as if it
        had never stopped.
    watch : callable, optional
        Called after each epoch with a `Moment`; what it raises ends the training.

    Returns
    -------
    MLPClassifier
        The same object, fitted.
    """
    if model.solver != "sgd" or model.learning_rate != "constant" or model.early_stopping:
        raise ValueError(
            f"the model is {model!r}; expected solver='sgd', learning_rate='constant' and early_stopping=False, "
            "because a checkpoint keeps nothing else."
        )
    seed = check_integer(model.random_state, "random_state", 0)
    labels = np.asarray(y)
    working = clone(model)
    run = _name_of_run(model, X, labels)
    file = None if checkpoint is None else Path(checkpoint)
    done = _resume(working, X, labels, file, run) if file is not None and file.exists() else 0
    for epoch in range(done, model.max_iter):
        # A seed per epoch: then the state of no generator has to be kept.
        working.random_state = seed if epoch == 0 else int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0])
        _run_epoch(working, X, labels)
        if file is not None:
            _write(file, run, working)
        watch(Moment(epoch + 1, model.max_iter, 1, 1, float(working.loss_)))
    working.random_state = model.random_state
    vars(model).update(vars(working))
    return model


def _run_epoch(model: Any, X: NDArray[Any], y: NDArray[Any]) -> None:
    before = len(getattr(model, "loss_curve_", ()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Training interrupted by user")
        model.partial_fit(X, y, classes=np.unique(y))
    if len(model.loss_curve_) == before:  # scikit-learn swallows Ctrl-C, and stops in the middle of the epoch
        raise KeyboardInterrupt


def _name_of_run(model: Any, X: NDArray[Any], y: NDArray[Any]) -> str:
    digest = hashlib.sha256(repr((sorted(model.get_params().items()), X.shape, X.dtype.str, y.dtype.str)).encode())
    digest.update(np.ascontiguousarray(X).data)
    digest.update(np.ascontiguousarray(y).data)
    return digest.hexdigest()


def _write(path: Path, run: str, model: Any) -> None:
    buffer = io.BytesIO()
    arrays = {f"weight{i}": array for i, array in enumerate(model.coefs_ + model.intercepts_)}
    velocities = {f"velocity{i}": array for i, array in enumerate(model._optimizer.velocities)}
    np.savez(buffer, allow_pickle=False, run=run, losses=model.loss_curve_, **arrays, **velocities)
    write_atomically(path, buffer.getvalue())


def _resume(model: Any, X: NDArray[Any], y: NDArray[Any], path: Path, run: str) -> int:
    """Put a checkpoint into a model; gives the number of epochs done."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
        found_run, losses = str(found["run"]), [float(loss) for loss in found["losses"]]
    except Exception as error:  # a damaged archive can trip any part of the reader
        raise ValueError(
            f"the checkpoint {path} is damaged or not one of an MLP ({error}); delete it to train anew."
        ) from error
    if found_run != run:
        raise ValueError(
            f"the checkpoint {path} belongs to a training with other data, parameters or seed; name another file, or "
            "delete it to train anew."
        )
    rows = slice(0, max(model.batch_size, 1) if isinstance(model.batch_size, int) else 200)
    model.partial_fit(X[rows], y[rows], classes=np.unique(y))  # makes everything of the right shape
    layers = len(model.coefs_)
    weights = [found[f"weight{i}"] for i in range(2 * layers)]
    model.coefs_, model.intercepts_ = weights[:layers], weights[layers:]
    model._optimizer.velocities = [found[f"velocity{i}"] for i in range(2 * layers)]
    model.loss_curve_, model.loss_, model.best_loss_ = losses, losses[-1], min(losses)
    model.t_, model.n_iter_ = len(losses) * len(X), 1
    return len(losses)
