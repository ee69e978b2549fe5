"""ResNet18 for small images, the base model of the image experiments."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from baserate.integrations.training_data import check_finite, check_trained
from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import (
    LONGEST,
    Array,
    Each,
    Either,
    Fields,
    Flag,
    Generator,
    Maybe,
    Number,
    Saved,
    Saves,
    Sizes,
    Text,
    Whole,
    ints,
)
from baserate.validation import check_integer, check_real, check_rng
from baserate_lab.models._training_data import check_training_labels
from baserate_lab.models.watching import Watcher, no_watcher

if TYPE_CHECKING:
    from baserate_lab.models._resnet_network import Network


class Until(NamedTuple):
    """A rule to stop by: after the first epoch whose error on samples that are not trained on lies in a range."""

    X: NDArray[Any]
    y: IntArray
    lowest: float
    highest: float

    def holds(self, network: "Network") -> bool:
        """True if the network's error on the samples lies in the range."""
        wrong = _in_parts(network, self.X, int(network.head.out_features)).argmax(axis=1) != self.y
        return bool(self.lowest <= wrong.mean() <= self.highest)


_SCHEDULES = ("one-cycle", "cosine", "constant", "drop")
_PRECISIONS = ("float32", "bfloat16")
_AT_ONCE = 500  # images per batch of prediction

_LARGEST = 1e6  # of weights and means in a state; trained ones are far smaller


class _Weights:
    """The declaration of a network's weights: their shapes follow from its width, which is declared before."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Refuse other names, shapes or types, and numbers that are not finite."""
        Fields(_layers(sizes.known["width"])).check(value, where, sizes)


def _layers(width: int) -> dict[str, Array]:
    """The weights of a network of some width, by torch's names."""
    layers = {
        "mean": Array("f4", (1, "channels", 1, 1), -1e30, 1e30),
        "std": Array("f4", (1, "channels", 1, 1), 1e-7, 1e30),
        "stem.0.weight": _weights(width, "channels", 3, 3),
        **_norm("stem.1", width),
    }
    inputs = width
    for block in range(8):
        name, outputs = f"stages.{block}", width * 2 ** (block // 2)
        layers[f"{name}.conv1.weight"] = _weights(outputs, inputs, 3, 3)
        layers[f"{name}.conv2.weight"] = _weights(outputs, outputs, 3, 3)
        layers |= _norm(f"{name}.norm1", outputs) | _norm(f"{name}.norm2", outputs)
        if inputs != outputs:
            layers[f"{name}.shortcut.0.weight"] = _weights(outputs, inputs, 1, 1)
            layers |= _norm(f"{name}.shortcut.1", outputs)
        inputs = outputs
    return layers | {"head.weight": _weights("k", inputs), "head.bias": _weights("k")}


def _weights(*shape: int | str) -> Array:
    return Array("f4", shape, -_LARGEST, _LARGEST)


def _norm(name: str, size: int) -> dict[str, Array]:
    return {
        f"{name}.weight": _weights(size),
        f"{name}.bias": _weights(size),
        f"{name}.running_mean": _weights(size),
        f"{name}.running_var": Array("f4", (size,), 0.0, _LARGEST**2),
        f"{name}.num_batches_tracked": Array("i8", (), 0, LONGEST),
    }


def _problem(saved: Saved) -> str:
    if saved.sizes["channels"] < 1 or not np.array_equal(saved.state["classes_"], np.arange(saved.sizes["k"])):
        return "has other classes than 0 to k-1, or no channels"
    return "" if saved.sizes["k"] > 0 else "has no classes"


class ResNet18(Component, saved_as="lab_resnet18", layout=2):
    """Residual network of 18 layers for images of about 32 x 32 pixels, trained by gradient descent with momentum.

    Needs torch: ``pip install 'baserate-lab[deep]'``. It runs on the CPU. Labels are not smoothed, because its
    probabilities should be calibrated.

    Parameters
    ----------
    width : int
        Channels of the first stage; the last layer has ``8 * width`` inputs. Time grows with the square of the width.
    epochs, batch_size, step_size, momentum, nesterov, l2
        Settings of gradient descent; `l2` is the weight decay.
    schedule : {"one-cycle", "cosine", "constant", "drop"}
        Step size over time: up to `step_size` in a quarter of the time and then down to zero along a cosine; only down
        along a cosine; constant; or constant for three quarters of the time and a tenth of that afterwards.
    augment : bool
        True: move training images by up to four pixels and mirror them, at random.
    precision : {"float32", "bfloat16"}
        Numbers that the training multiplies: bfloat16 takes half of the time on a processor that has it. Weights, sums
        and step sizes are float32 in either case, and so are predictions.
    rng : int or numpy.random.Generator, optional
        Seed of the starting weights, the order of the images and their augmentation.

    Attributes
    ----------
    weights_ : dict of arrays
        Weights of the network, by torch's names.
    history_ : list of dict
        Loss and accuracy on the training data in each epoch.

    References
    ----------
    He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016.
    """

    saves = Saves(
        params={
            "width": Whole(size="width"),
            "epochs": Whole(),
            "batch_size": Whole(),
            "step_size": Number(),
            "momentum": Number(),
            "nesterov": Flag(),
            "l2": Number(),
            "schedule": Text(_SCHEDULES),
            "augment": Flag(),
            "precision": Text(_PRECISIONS),
            "rng": Maybe(Either((Generator(), Whole(0, 2**256)))),
        },
        state={
            "weights_": _Weights(),
            "history_": Each(Fields({"loss": Number(), "accuracy": Number(0.0, 1.0)})),
            "classes_": ints("k"),
        },
        may_be_empty=True,
        check=_problem,
    )

    def __init__(
        self,
        *,
        width: int = 64,
        epochs: int = 70,
        batch_size: int = 200,
        step_size: float = 0.1,
        momentum: float = 0.9,
        nesterov: bool = True,
        l2: float = 5e-4,
        schedule: str = "one-cycle",
        augment: bool = True,
        precision: str = "float32",
        rng: int | np.random.Generator | None = None,
    ) -> None:
        self.width = width
        self.epochs = epochs
        self.batch_size = batch_size
        self.step_size = step_size
        self.momentum = momentum
        self.nesterov = nesterov
        self.l2 = l2
        self.schedule = schedule
        self.augment = augment
        self.precision = precision
        self.rng = rng

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read layout 1, which had no `precision`: all was float32."""
        return {**params, "precision": "float32"}, state

    def fit(
        self,
        X: NDArray[Any],
        y: ArrayLike,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        watch: Watcher = no_watcher,
        until: Until | None = None,
    ) -> Self:
        """Train on labelled images.

        Parameters
        ----------
        X : (n, height, width, channels) or (n, height, width) array
            Images, as bytes or real numbers of any scale.
        y : (n,) array of int
            Labels, 0..k-1.
        checkpoint : path, optional
            File written after each epoch. If it exists, training resumes from it and, with the same number of threads,
            gives the same bits as without the interruption; after a finished training, the model is read from it. It
            has torch's own format and is read as weights only, so no code in it is run. If it cannot be written, a line
            on standard error says so and training continues.
        watch : callable, optional
            Called after each batch with a `Moment`; an exception from it ends the training.
        until : Until, optional
            Stop after the first epoch whose error on other samples lies in a range, if that comes before the last one.
        """
        images = _as_images(X)
        labels = check_training_labels(y, len(images))
        if len(images) < 2:
            raise ValueError(f"X has {len(images)} image(s); a network that normalises by batches needs at least 2.")
        if self.schedule not in _SCHEDULES:
            raise ValueError(f"schedule is {self.schedule!r}; choose one of {', '.join(_SCHEDULES)}.")
        if self.precision not in _PRECISIONS:
            raise ValueError(f"precision is {self.precision!r}; choose one of {', '.join(_PRECISIONS)}.")
        rng = check_rng(self.rng)
        if self.rng is None and checkpoint is not None:
            raise ValueError("rng is None, so no checkpoint could ever be continued; give a seed.")
        momentum = check_real(self.momentum, "momentum", 0, 1)
        from baserate_lab.models import _resnet_training

        plan = _resnet_training.Plan(
            width=check_integer(self.width, "width", 1),
            epochs=check_integer(self.epochs, "epochs", 1),
            step_size=check_real(self.step_size, "step_size", 0, np.inf),
            momentum=momentum,
            nesterov=bool(self.nesterov) and momentum > 0,  # torch refuses Nesterov without momentum
            l2=check_real(self.l2, "l2", 0, np.inf),
            batch_size=check_integer(self.batch_size, "batch_size", 2),
            schedule=self.schedule,
            augment=bool(self.augment),
            seed=int(rng.integers(2**62)),
        )
        named: tuple[Any, ...] = (plan, images.shape, images.dtype.str)
        if self.precision != "float32":  # checkpoints from before this option do not name it
            named = (*named, self.precision)
        run = hashlib.sha256(repr(named).encode())
        run.update(np.ascontiguousarray(images).data)
        run.update(labels.data)
        file = None if checkpoint is None else Path(checkpoint)
        network, history = _resnet_training.train(
            images,
            labels,
            int(labels.max()) + 1,
            plan,
            file,
            run.hexdigest(),
            watch,
            (lambda _: False) if until is None else until.holds,
            mixed=self.precision == "bfloat16",
        )
        self.weights_ = {name: weight.contiguous().numpy() for name, weight in network.state_dict().items()}
        self.history_ = history
        self.classes_ = np.arange(labels.max() + 1)
        return self

    def predict_proba(self, X: NDArray[Any]) -> FloatArray:
        """Class probabilities of images."""
        return np.asarray(softmax(self.decision_function(X), axis=1))

    def decision_function(self, X: NDArray[Any]) -> FloatArray:
        """Logits of images."""
        network = self._network()
        return _in_parts(network, self._checked(X), len(self.classes_))

    def features(self, X: NDArray[Any]) -> FloatArray:
        """Inputs of the last layer for images, (n, 8 * width)."""
        network = self._network()
        return _in_parts(network.features, self._checked(X), 8 * self.width)

    @property
    def coef_(self) -> FloatArray:
        """Weights of the last layer, (k, 8 * width)."""
        return np.array(self.weights_["head.weight"], dtype=np.float64)

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts of the last layer, (k,)."""
        return np.array(self.weights_["head.bias"], dtype=np.float64)

    def _network(self) -> "Network":
        check_trained(self, "weights_")
        from baserate_lab.models._resnet_network import restore
        from baserate_lab.models._torch import torch

        return restore({name: torch.tensor(weight) for name, weight in self.weights_.items()}, self.width)

    def _checked(self, X: NDArray[Any]) -> NDArray[Any]:
        images, channels = _as_images(X), self.weights_["mean"].shape[1]
        if images.shape[3] != channels:
            raise ValueError(f"X has images of {images.shape[3]} channel(s); this model was trained on {channels}.")
        return images


def _as_images(X: NDArray[Any]) -> NDArray[Any]:
    images = np.asarray(X)
    if images.ndim == 3:
        images = images[..., np.newaxis]
    if images.ndim != 4 or images.dtype.kind not in "fiub":
        raise ValueError(
            f"X has shape {images.shape} and dtype {images.dtype}; expected images of numbers, of shape (samples, "
            "height, width, channels) or (samples, height, width)."
        )
    return check_finite(images)


def _in_parts(function: Any, images: NDArray[Any], columns: int) -> FloatArray:
    from baserate_lab.models._resnet_training import to_tensor
    from baserate_lab.models._torch import torch

    found = np.empty((len(images), columns))
    with torch.no_grad():
        for first in range(0, len(images), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            found[part] = function(to_tensor(images[part])).numpy()
    return found
