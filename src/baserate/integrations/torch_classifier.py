"""TorchClassifier: a scikit-learn compatible wrapper of torch networks, so that learners can train them."""

import copy
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]

from baserate.integrations._tensors import Packed, packed, unpacked
from baserate.integrations.training_data import check_finite, check_trained
from baserate.protocols import FloatArray, IntArray
from baserate.validation import as_float_array, check_integer, check_real, check_rng

if TYPE_CHECKING:
    from baserate.integrations._torch import nn, torch

_AT_ONCE = 500  # rows in one forward pass


class TorchClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A torch network as a classifier, trained with cross-entropy by gradient descent with momentum.

    Needs torch: ``pip install 'baserate[deep]'``. Training starts from the weights of the network: a pre-trained
    one is fine-tuned, and two trainings start from the same weights.

    Parameters
    ----------
    module : torch.nn.Module
        Maps rows of float32 numbers, of shape (n, d), to k logits each. A network for images begins with
        ``nn.Unflatten(1, (3, 32, 32))``. It is copied, and never trained itself; the copy stays on its device.
    step_size, momentum, l2
        Parameters of gradient descent, without Nesterov momentum and without decay of the step size; `l2` is the weight
        decay. Changed values take effect with the next `partial_fit`.
    batch_size : int
        Largest number of rows in a gradient step.
    epochs : int
        Number of passes of `fit` over the data; `partial_fit` is one pass.
    random_state : int or numpy.random.Generator, optional
        Seed of dropout and other random layers, and of the order of the samples in `fit`. A generator is copied;
        torch's global random state is not changed.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained copy.
    optimizer_ : torch.optim.SGD
        Keeps the momentum from one `partial_fit` to the next.
    classes_ : (k,) array
        The labels, in the order of the logits.
    n_iter_ : int
        Number of gradient steps so far.

    Notes
    -----
    In a gradient step on a single row, batch normalisation is in evaluation mode, because one row has no variance. If
    training diverges or is interrupted, the model stays as it was before the call. On a CPU, the same seed and number
    of threads give the same bits.

    A learner is saved with only a fingerprint of its network: keep the classifier (it can be pickled), and pass it to
    ``load(path, estimator=estimator, model_=model)``.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import manual_seed, nn
    >>> from baserate.learners import ContinualTraining
    >>> rng = np.random.default_rng(0)
    >>> seeded = manual_seed(0)  # for the initial weights
    >>> network = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> learner = ContinualTraining(2, TorchClassifier(network), rng=0)
    >>> for _ in range(5):
    ...     y = rng.integers(2, size=50)
    ...     learner.update(rng.normal(2.0 * y - 1.0, 0.5)[:, np.newaxis], y)
    >>> learner.predict_proba([[-1.0], [1.0]]).argmax(axis=1)
    array([0, 1])
    """

    module_: "nn.Module"
    optimizer_: "torch.optim.SGD"
    classes_: NDArray[Any]
    n_iter_: int

    def __init__(
        self,
        module: "nn.Module",
        *,
        step_size: float = 0.1,
        momentum: float = 0.9,
        l2: float = 1e-4,
        batch_size: int = 200,
        epochs: int = 1,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.module = module
        self.step_size = step_size
        self.momentum = momentum
        self.l2 = l2
        self.batch_size = batch_size
        self.epochs = epochs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train from the weights of `module`.

        Parameters
        ----------
        X, y : (n, d) and (n,) arrays
            Samples, and their labels: 0..k-1, of which some may be missing, or any k others.
        sample_weight : (n,) array, optional
            Weights of the samples' losses, whose scale does not matter: their mean is made 1.
        """
        rows = _as_rows(X)
        weights = _check_weights(sample_weight, len(rows))
        if weights is not None:
            if not weights.any():
                raise ValueError("sample_weight is zero everywhere; at least one sample must count.")
            weights = weights / weights.mean()
        epochs, batch_size = check_integer(self.epochs, "epochs", 1), check_integer(self.batch_size, "batch_size", 1)
        begun = self._begun(rows, y, None)
        # Parts of nearly equal size, so that the last one is not too small for batch statistics.
        parts = math.ceil(len(rows) / batch_size)
        batches = (
            batch
            for epoch in range(epochs)
            for batch in np.array_split(np.random.default_rng([begun._seed, epoch]).permutation(len(rows)), parts)
        )
        begun._train(rows, y, weights, batches)
        self.__dict__.update(vars(begun))
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Continue training: one gradient step for each `batch_size` rows, in the given order.

        Parameters
        ----------
        X, y : (n, d) and (n,) arrays
            Samples, and their labels.
        classes : (k,) array, optional
            All labels there are. Needed in the first call only, and only where they are not 0..k-1.
        sample_weight : (n,) array, optional
            Weights of the samples' losses, as they are: weights of 2 make a gradient twice as long.
        """
        rows = _as_rows(X, getattr(self, "n_features_in_", None))
        weights = _check_weights(sample_weight, len(rows))
        size = check_integer(self.batch_size, "batch_size", 1)
        batches = [np.arange(len(rows))[first : first + size] for first in range(0, len(rows), size)]
        if not hasattr(self, "module_"):
            begun = self._begun(rows, y, classes)
            begun._train(rows, y, weights, batches)
            self.__dict__.update(vars(begun))
            return self
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes is {classes}; the calls before had {self.classes_}. Give the same, or none.")
        with _whole_or_not_at_all(self.module_, self.optimizer_):
            self._train(rows, y, weights, batches)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities of some samples, (n, k)."""
        check_trained(self, "module_")
        rows = _as_rows(X, self.n_features_in_)
        logits = np.empty((len(rows), len(self.classes_)))
        for first in range(0, len(rows), _AT_ONCE):
            logits[first : first + _AT_ONCE] = _logits(self.module_, rows[first : first + _AT_ONCE])
        if not np.isfinite(logits).all():
            raise FloatingPointError(
                "the network gives NaN or an infinity; scale the features, or train it anew with a smaller step_size."
            )
        return np.asarray(softmax(logits, axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable label of some samples."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _begun(self, rows: NDArray[np.float32], y: ArrayLike, classes: ArrayLike | None) -> Self:
        """Return a new classifier with an untrained copy of the module; an error then leaves the old one unchanged."""
        from baserate.integrations._torch import nn

        if not isinstance(self.module, nn.Module):
            raise TypeError(f"module is {self.module!r}; expected a network, an instance of torch.nn.Module.")
        if len(rows) == 0:
            raise ValueError("X has no rows; give at least one labelled sample to train on.")
        begun = type(self)(**self.get_params(deep=False))
        begun._seed = int(copy.deepcopy(check_rng(self.random_state, "random_state")).integers(2**63))
        begun.module_ = copy.deepcopy(self.module)
        begun.optimizer_ = _optimizer(begun.module_)
        begun.n_iter_ = 0
        begun.n_features_in_ = rows.shape[1]
        try:
            shape = _logits(begun.module_, rows[:1]).shape
        except (RuntimeError, ValueError, IndexError) as error:
            raise ValueError(
                f"the network cannot take float32 rows of {rows.shape[1]} numbers ({error}). For images, begin it with "
                "nn.Unflatten(1, (channels, height, width))."
            ) from error
        if len(shape) != 2 or shape[1] < 2:
            raise ValueError(f"the network makes {shape} of one row; expected (1, k): logits of at least 2 classes.")
        begun.classes_ = _classes(np.asarray(y), classes, shape[1])
        return begun

    def _train(
        self, rows: NDArray[np.float32], y: ArrayLike, weights: FloatArray | None, batches: Iterable[IntArray]
    ) -> None:
        from baserate.integrations._torch import nn, torch

        targets = self._targets(y, len(rows))
        step_size, l2 = check_real(self.step_size, "step_size", 0, np.inf), check_real(self.l2, "l2", 0, np.inf)
        momentum = check_real(self.momentum, "momentum", 0, 1)
        for group in self.optimizer_.param_groups:
            group.update(lr=step_size, momentum=momentum, weight_decay=l2)
        device = next(self.module_.parameters()).device
        seed = torch.default_generator.manual_seed if device.type == "cpu" else torch.manual_seed
        steps, size = self.n_iter_, 0.0
        forked = torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])
        with forked, torch.enable_grad(), _mode(self.module_, training=True):
            for batch in batches:
                # A seed per step, so that no generator's state has to be saved.
                seed(int(np.random.SeedSequence([self._seed, steps]).generate_state(1, np.uint64)[0]))
                self.optimizer_.zero_grad(set_to_none=True)
                with _mode(self.module_, training=False, only=nn.modules.batchnorm._BatchNorm, when=len(batch) == 1):
                    logits = self.module_(torch.from_numpy(rows[batch]).to(device))
                expected = torch.from_numpy(targets[batch]).to(device)
                if weights is None:
                    loss = nn.functional.cross_entropy(logits, expected)
                else:
                    losses = nn.functional.cross_entropy(logits, expected, reduction="none")
                    loss = (torch.from_numpy(weights[batch]).to(losses) * losses).mean()
                size = float(loss.detach())
                if not math.isfinite(size):
                    break
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimizer_.step()
                steps += 1
        self.optimizer_.zero_grad(set_to_none=True)  # copies need no gradients
        if not (math.isfinite(size) and all(math.isfinite(w.detach().sum()) for w in self.module_.parameters())):
            raise FloatingPointError(
                f"training diverged after {steps} steps; make step_size smaller, or scale X. Nothing was changed."
            )
        self.n_iter_ = steps

    def _targets(self, y: ArrayLike, n_samples: int) -> IntArray:
        """Return the index of each label in `classes_`."""
        labels = np.asarray(y)
        if labels.shape != (n_samples,):
            raise ValueError(f"y has shape {labels.shape}; expected ({n_samples},), one label per sample.")
        unknown = ~np.isin(labels, self.classes_)
        if unknown.any():
            raise ValueError(f"y holds {labels[unknown].tolist()[0]!r}; the classes are {self.classes_.tolist()}.")
        return np.searchsorted(self.classes_, labels).astype(np.int64)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        new = memo[id(self)] = type(self).__new__(type(self))
        new.__dict__.update(
            copy.deepcopy(vars(self), memo)
        )  # in one call, so that optimiser and network share their weights
        return new

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles and fingerprints, with tensors as arrays; torch's pickles hold addresses."""
        state = dict(vars(self))
        for name in {"module", "module_"} & set(state):
            if hasattr(state[name], "parameters"):
                state[name] = packed(state[name], [*state[name].parameters(), *state[name].buffers()])
        if "optimizer_" in state:
            kept = state["optimizer_"].state_dict()
            values = [value for entry in kept["state"].values() for value in entry.values()]
            state["optimizer_"] = packed(kept, [value for value in values if value is not None])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        found = {name: unpacked(value) if isinstance(value, Packed) else value for name, value in state.items()}
        if "optimizer_" in found:
            kept, found["optimizer_"] = found["optimizer_"], _optimizer(found["module_"])
            found["optimizer_"].load_state_dict(kept)
        self.__dict__.update(found)


def _as_rows(X: ArrayLike, columns: int | None = None) -> NDArray[np.float32]:
    plain = type(X) is np.ndarray and X.dtype.kind in "fiub" and X.ndim == 2
    array: NDArray[Any] = np.asarray(X) if plain else as_float_array(X, "X", 2, "samples, features")
    with np.errstate(over="ignore"):  # numbers that are too large become infinite, and are refused
        rows: NDArray[np.float32] = array.astype(np.float32, copy=False)
    if columns is not None and rows.shape[1] != columns:
        raise ValueError(f"X has {rows.shape[1]} columns; this model was trained on {columns}.")
    check_finite(rows)
    return rows


def _check_weights(weights: ArrayLike | None, n_samples: int) -> FloatArray | None:
    if weights is None:
        return None
    array = as_float_array(weights, "sample_weight", 1)
    if len(array) != n_samples:
        raise ValueError(f"sample_weight has {len(array)} weights; expected {n_samples}, one per sample.")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        raise ValueError(f"sample_weight holds {array[bad][0]:.6g}; give finite numbers of at least 0.")
    return array


def _classes(y: NDArray[Any], classes: ArrayLike | None, n_logits: int) -> NDArray[Any]:
    """Return the labels of the logits; if they are not given, class numbers if the labels in `y` can be such."""
    numbers = np.arange(n_logits)
    if classes is None and bool(np.isin(y, numbers).all()):
        return numbers
    labels = np.unique(y if classes is None else np.asarray(classes))
    if len(labels) != n_logits:
        where = "y" if classes is None else "classes"
        raise ValueError(
            f"the network gives {n_logits} logits, and {where} holds {len(labels)} labels, {labels.tolist()}; it takes "
            "one logit per class."
        )
    return labels


def _logits(module: "nn.Module", rows: NDArray[np.float32]) -> FloatArray:
    from baserate.integrations._torch import torch

    with torch.no_grad(), _mode(module, training=False):
        output = module(torch.from_numpy(np.array(rows, order="C")).to(next(module.parameters()).device))
    if not isinstance(output, torch.Tensor):
        raise ValueError(f"its output is a {type(output).__name__}, not a tensor")
    return np.asarray(output.cpu().numpy(), dtype=np.float64)


def _optimizer(module: "nn.Module") -> "torch.optim.SGD":
    from baserate.integrations._torch import torch

    weights = [weight for weight in module.parameters() if weight.requires_grad]
    if not weights:
        raise ValueError("the network has no weights to train; give one with some that require gradients.")
    return torch.optim.SGD(weights, lr=0.0)  # each training sets its own step size


@contextmanager
def _mode(module: "nn.Module", *, training: bool, only: type = object, when: bool = True) -> Iterator[None]:
    """Put layers into training or evaluation mode for a while; afterwards each is in its old mode."""
    layers = [layer for layer in module.modules() if isinstance(layer, only)] if when else []
    before = [layer.training for layer in layers]
    try:
        for layer in layers:
            layer.training = training
        yield
    finally:
        for layer, was in zip(layers, before, strict=True):
            layer.training = was


@contextmanager
def _whole_or_not_at_all(module: "nn.Module", optimizer: "torch.optim.SGD") -> Iterator[None]:
    """Restore weights, statistics and momentum after an error; cheaper than training a copy."""
    from baserate.integrations._torch import torch

    tensors = [*module.parameters(), *module.buffers()]
    before = [tensor.detach().clone() for tensor in tensors]
    momentum = {w: {n: v if v is None else v.clone() for n, v in kept.items()} for w, kept in optimizer.state.items()}
    try:
        yield
    except BaseException:
        with torch.no_grad():
            for tensor, was in zip(tensors, before, strict=True):
                tensor.copy_(was)
        optimizer.zero_grad(set_to_none=True)
        optimizer.state.clear()
        optimizer.state.update(momentum)
        raise
