"""Training of scikit-learn's MLPClassifier epoch by epoch, with progress and checkpoints."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped]

from baserate.interrupts import ctrl_c_gets_through
from baserate.validation import check_integer
from baserate_lab.models._keeping import as_npz, keep
from baserate_lab.models.watching import Moment, Watcher, no_watcher


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
    """An unfitted multi-layer perceptron, as in the paper's runs.

    Parameters
    ----------
    hidden : tuple of int
        Sizes of the hidden layers (ReLU).
    epochs, step_size, momentum, batch_size
        Settings of gradient descent, without Nesterov momentum or decay of the step size.
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
    X: Any,
    y: ArrayLike,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    watch: Watcher = no_watcher,
) -> Any:
    """Fit an MLPClassifier for exactly `max_iter` epochs.

    Ctrl-C loses at most the running epoch. (scikit-learn's own `fit` would treat it as the end of training.)

    Parameters
    ----------
    model : MLPClassifier
        With ``solver="sgd"``, a constant learning rate, no early stopping and a whole number as `random_state`.
    X, y : arrays
        Training data; samples may be a data frame or sparse. Float32 samples give a float32 network.
    checkpoint : path, optional
        File written after each epoch. If it exists, training resumes from it, and gives the same bits as without the
        interruption. If it cannot be written, a line on standard error says so and training continues.
    watch : callable, optional
        Called after each epoch with a `Moment`; an exception from it ends the training.

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
    if hasattr(X, "tocsr"):
        X = X.tocsr()  # for row indexing
    elif not hasattr(X, "shape"):
        X = np.asarray(X)
    working = clone(model)
    run = _name_of_run(model, X, labels)
    file = None if checkpoint is None else Path(checkpoint)
    done = _resume(working, X, labels, file, run) if file is not None and file.exists() else 0
    for epoch in range(done, model.max_iter):
        # One seed per epoch, so that no generator state must be stored.
        working.random_state = seed if epoch == 0 else int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0])
        _run_epoch(working, X, labels)
        if file is not None:
            _write(file, run, working)
        watch(Moment(epoch + 1, model.max_iter, 1, 1, float(working.loss_)))
    working.random_state = model.random_state
    vars(model).update(vars(working))
    return model


def _run_epoch(model: Any, X: Any, y: NDArray[Any]) -> None:
    with ctrl_c_gets_through():
        model.partial_fit(X, y, classes=np.unique(y))


def _name_of_run(model: Any, X: Any, y: NDArray[Any]) -> str:
    samples = [X.data, X.indices, X.indptr] if hasattr(X, "indptr") else [np.asarray(X)]
    types = samples[0].dtype.str, y.dtype.str
    digest = hashlib.sha256(repr((sorted(model.get_params().items()), X.shape, *types)).encode())
    for array in (*samples, y):
        # The memory of an array of objects holds pointers, not the objects.
        plain = array.astype(str) if array.dtype.hasobject else array
        digest.update(np.ascontiguousarray(plain).data)
    return digest.hexdigest()


def _write(path: Path, run: str, model: Any) -> None:
    arrays = {f"weight{i}": array for i, array in enumerate(model.coefs_ + model.intercepts_)}
    velocities = {f"velocity{i}": array for i, array in enumerate(model._optimizer.velocities)}
    keep(path, as_npz({"run": np.array(run), "losses": np.array(model.loss_curve_), **arrays, **velocities}))


def _resume(model: Any, X: Any, y: NDArray[Any], path: Path, run: str) -> int:
    """Load a checkpoint into a model; returns the number of finished epochs."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
        layers = sum(name.startswith("weight") for name in found) // 2
        weights, velocities = ([found[f"{name}{i}"] for i in range(2 * layers)] for name in ("weight", "velocity"))
        found_run, losses = str(found["run"]), [float(loss) for loss in found["losses"]]
        best = min(losses)
    except Exception as error:  # a damaged archive can raise anything
        raise ValueError(
            f"the checkpoint {path} is damaged or not one of an MLP ({error}); delete it to train anew."
        ) from error
    if found_run != run:
        raise ValueError(
            f"the checkpoint {path} belongs to a training with other data, parameters or seed; name another file, or "
            "delete it to train anew."
        )
    rows = slice(0, max(model.batch_size, 1) if isinstance(model.batch_size, int) else 200)
    few = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    with ctrl_c_gets_through():
        model.partial_fit(few, y[rows], classes=np.unique(y))  # creates all arrays in the right shape
    if [array.shape for array in weights] != [array.shape for array in model.coefs_ + model.intercepts_]:
        raise ValueError(f"the checkpoint {path} is damaged: it lacks weights; delete it to train anew.")
    model.coefs_, model.intercepts_ = weights[:layers], weights[layers:]
    model._optimizer.velocities = velocities
    model.loss_curve_, model.loss_, model.best_loss_ = losses, losses[-1], best
    model.t_, model.n_iter_ = len(losses) * X.shape[0], 1
    return len(losses)
