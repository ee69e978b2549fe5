"""Online Feature Updates: self-supervised updates of the feature extractor along the stream, under any tracker.

Not in the paper; by some of its authors, a year later (Wu et al. 2024). Needs torch: ``pip install
'baserate-lab[deep]'``.
"""

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate.adapters import RegressAndReweight
from baserate.integrations.linear_head import last_layer_of
from baserate.protocols import FloatArray, Step
from baserate.validation import check_all_classes_present, check_integer, check_labels, check_option, check_real

if TYPE_CHECKING:
    from baserate_lab.models._torch import torch

_AT_ONCE = 500


class OnlineFeatureUpdates:
    """An adapter for torch networks that goes on learning features from the stream's unlabelled samples.

    Every `every` samples, after they were predicted: (1) the feature extractor takes `steps` gradient steps on a
    self-supervised loss of them; (2) the last layer is fitted anew to labelled samples under the new features;
    (3) the adapter learns the new network's calibration and confusion matrix from the rest of the holdout, and keeps
    the class mix that it has tracked. What predicts a batch never depends on that batch, so the estimates stay
    unbiased.

    The last layer and the confusion matrix need different labelled samples: a layer is too sure of those it was fitted
    to. `fit` takes the training data for the first; without them, it gives the layer half of the holdout.

    Parameters
    ----------
    network : torch.nn.Module
        Has ``features(x)`` of shape (n, d) and a ``head``, a `torch.nn.Linear`. It is copied, and not changed.
    adapter : RegressAndReweight, optional
        Follows the class mix with any tracker, and re-weights. It is copied. Default: the library's, without its gate.
    every : int
        Samples between two updates (tau).
    loss : {"entropy", "rotation"}
        The entropy of the predictions; or, of square images, telling by how many quarters each was turned, from the
        features by a linear layer that `fit` trains on turned labelled images.
    step_size, steps : float, int
        Of gradient descent on that loss; no step leaves the features as they are, and only refits the layer.
    c : float
        Inverse strength of the last layer's l2 penalty, as in scikit-learn.
    refit : bool
        False: the last layer stays as it was trained, and only (1) and (3) are done.
    rng : int
        Seed of the split of the holdout.

    Attributes
    ----------
    network_ : torch.nn.Module
        The network as it is now.
    adapter_ : RegressAndReweight
        The adapter as it is now.
    updates_ : int
        Number of updates so far.

    References
    ----------
    Wu, Datta, Su, Baby, Wang, Weinberger, "Online Feature Updates Improve Online (Generalized) Label Shift Adaptation",
    NeurIPS 2024.
    """

    input_kind = "features"

    def __init__(
        self,
        network: "torch.nn.Module",
        adapter: RegressAndReweight | None = None,
        *,
        every: int = 100,
        loss: Literal["entropy", "rotation"] = "entropy",
        step_size: float = 1e-3,
        steps: int = 1,
        c: float = 1.0,
        refit: bool = True,
        rng: int = 0,
    ) -> None:
        self.network = network
        self.adapter = adapter
        self.every = every
        self.loss = loss
        self.step_size = step_size
        self.steps = steps
        self.c = c
        self.refit = refit
        self.rng = rng

    def fit(self, X: ArrayLike, y: ArrayLike, train: tuple[ArrayLike, ArrayLike] | None = None) -> Self:
        """Start from the network as trained.

        Parameters
        ----------
        X, y : (m, ...) array, (m,) array of int
            Inputs and labels of the holdout; every class at least once, or twice without `train`.
        train : (X, y), optional
            Labelled samples that the last layer is fitted to. Default: half of the holdout.
        """
        check_integer(self.every, "every", 1)
        check_integer(self.steps, "steps", 0)
        check_option(self.loss, "loss", ["entropy", "rotation"])
        check_real(self.step_size, "step_size", 0.0, np.inf)
        check_real(self.c, "c", 0.0, np.inf, closed=False)
        network = copy.deepcopy(self.network).eval()
        k = int(network.head.out_features)  # type: ignore[union-attr, arg-type]
        samples = _as_samples(X)
        labels = check_labels(y, len(samples), k)
        check_all_classes_present(labels, k)
        rows = np.arange(len(labels)), np.arange(len(labels))
        if train is None and self.refit:
            if np.bincount(labels, minlength=k).min() < 2:
                raise ValueError("the holdout has fewer than two samples of a class; give train=(X, y) as well.")
            rows = train_test_split(rows[0], test_size=0.5, stratify=labels, random_state=self.rng)
        if train is None:
            fitted_to = samples[rows[0]], labels[rows[0]]
        else:
            inputs = _as_samples(train[0])
            fitted_to = inputs, check_labels(train[1], len(inputs), k)
            check_all_classes_present(fitted_to[1], k)
        self._turns = _head_of_turns(network, fitted_to[0], self.c) if self.loss == "rotation" and self.steps else None
        adapter = RegressAndReweight(gate=False) if self.adapter is None else copy.deepcopy(self.adapter)
        self.network_, self._train, self._holdout = network, fitted_to, (samples[rows[1]], labels[rows[1]])
        self.adapter_ = adapter.fit(self._outputs(self._holdout[0]), self._holdout[1])
        self._waiting: list[NDArray[Any]] = []
        self.updates_ = 0
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of a batch of inputs, re-weighted to the tracked class mix; changes nothing."""
        return self.adapter_.predict_proba(self._outputs(_as_samples(X)))

    def update(self, X: ArrayLike, y: ArrayLike | None = None) -> None:
        """Learn from a batch of inputs: the class mix at once, the features when `every` samples have come."""
        self.step(X, y)

    def step(self, X: ArrayLike, y: ArrayLike | None = None) -> Step:
        """Predict a batch, then learn from it; returns what was used to predict it."""
        samples = _as_samples(X)
        used = self.adapter_.step(self._outputs(samples), y)
        self._waiting.append(samples)
        if sum(map(len, self._waiting)) >= self.every:
            self._update_features(np.concatenate(self._waiting))
            self._waiting = []
        return used

    @property
    def prior_(self) -> FloatArray:
        """The class mix as tracked now."""
        return self.adapter_.prior_

    def _update_features(self, samples: NDArray[Any]) -> None:
        if self.steps:
            if self._turns is None:
                _minimise_entropy(self.network_, samples, self.step_size, self.steps)
            else:
                _tell_turns(self.network_, self._turns, samples, self.step_size, self.steps)
        if self.steps or not self.updates_:  # with the same features, the same layer would be fitted again
            if self.refit:
                self._refit_head()
            self.adapter_.refit(self._outputs(self._holdout[0]), self._holdout[1])
        self.updates_ += 1

    def _refit_head(self) -> None:
        from baserate_lab.models._torch import torch

        features = _features(self.network_, self._train[0])
        with threadpool_limits(1):  # threads would mostly wait for each other
            layer = last_layer_of(LogisticRegression(C=self.c, max_iter=1000).fit(features, self._train[1]))
        with torch.no_grad():
            head: Any = self.network_.head
            head.weight.copy_(torch.from_numpy(layer.coef))
            if head.bias is not None:
                head.bias.copy_(torch.from_numpy(layer.intercept))

    def _outputs(self, samples: NDArray[Any]) -> FloatArray:
        head: Any = self.network_.head
        logits = _features(self.network_, samples) @ head.weight.detach().numpy().T.astype(np.float64)
        if head.bias is not None:
            logits = logits + head.bias.detach().numpy()
        return np.asarray(softmax(logits, axis=1))


def _as_samples(X: ArrayLike) -> NDArray[Any]:
    samples = np.asarray(X)
    if samples.ndim < 2 or samples.dtype.kind not in "fiub":
        raise ValueError(f"X has shape {samples.shape} and dtype {samples.dtype}; expected rows of numbers.")
    return samples


def _to_tensor(samples: NDArray[Any]) -> "torch.Tensor":
    """Inputs in torch's order: images of shape (n, height, width, channels) get their channels first."""
    from baserate_lab.models._torch import torch

    found = torch.from_numpy(np.ascontiguousarray(samples, dtype=np.float32))
    return found.permute(0, 3, 1, 2) if found.ndim == 4 else found


def _features(network: Any, samples: NDArray[Any]) -> FloatArray:
    from baserate_lab.models._torch import torch

    parts = []
    with torch.no_grad():
        for first in range(0, max(len(samples), 1), _AT_ONCE):
            parts.append(network.features(_to_tensor(samples[first : first + _AT_ONCE])).numpy().astype(np.float64))
    return np.concatenate(parts)


def _minimise_entropy(network: Any, samples: NDArray[Any], step_size: float, steps: int) -> None:
    """Gradient steps of the feature extractor on the mean entropy of the predictions; the head stays as it is."""
    from baserate_lab.models._torch import torch

    inputs = _to_tensor(samples)

    def entropy() -> Any:
        logs = torch.log_softmax(network.head(network.features(inputs)), dim=1)
        return -(logs.exp() * logs).sum(dim=1).mean()

    _descend(network, [], entropy, step_size, steps)


def _turned(images: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Each image in its four turns, and by how many quarters it was turned."""
    if images.ndim != 4 or images.shape[1] != images.shape[2]:
        raise ValueError(f"X has shape {images.shape}; to be turned, it must hold square images.")
    turned = [np.rot90(images, turns, axes=(1, 2)) for turns in range(4)]
    return np.concatenate(turned), np.repeat(np.arange(4), len(images))


def _head_of_turns(network: Any, images: NDArray[Any], c: float) -> Any:
    """A linear layer that tells turns from the features of images."""
    from baserate_lab.models._torch import nn, torch

    turned, turns = _turned(images)
    with threadpool_limits(1):
        layer = last_layer_of(LogisticRegression(C=c, max_iter=1000).fit(_features(network, turned), turns))
    head = nn.Linear(*layer.coef.shape[::-1])
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(layer.coef))
        head.bias.copy_(torch.from_numpy(layer.intercept))
    return head


def _tell_turns(network: Any, head: Any, images: NDArray[Any], step_size: float, steps: int) -> None:
    """Gradient steps of the feature extractor and of the layer of turns on how well it tells the turns of images."""
    from baserate_lab.models._torch import nn, torch

    turned, turns = _turned(images)
    inputs, targets = _to_tensor(turned), torch.from_numpy(turns)
    _descend(
        network,
        list(head.parameters()),
        lambda: nn.functional.cross_entropy(head(network.features(inputs)), targets),
        step_size,
        steps,
    )


def _descend(network: Any, others: list[Any], loss: Callable[[], Any], step_size: float, steps: int) -> None:
    """Gradient steps of the feature extractor and other weights; the head stays as it is.

    The network stays in evaluation mode: means and deviations of batch normalisation are those of the training data,
    as a batch under label shift has others.
    """
    from baserate_lab.models._torch import torch

    head = {id(weight) for weight in network.head.parameters()}
    learnt = [weight for weight in network.parameters() if id(weight) not in head]
    optimiser = torch.optim.SGD([*learnt, *others], lr=step_size)
    for _ in range(steps):
        optimiser.zero_grad(set_to_none=True)
        loss().backward()
        optimiser.step()
    optimiser.zero_grad(set_to_none=True)
