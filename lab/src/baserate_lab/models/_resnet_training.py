"""Training loop of `ResNet18`, with a checkpoint after each epoch from which it resumes bit for bit.

Every epoch has its own random generator, and the step size depends only on the number of the batch. A checkpoint is
therefore the network, the optimiser's velocities and the number of finished epochs.
"""

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import FloatArray, IntArray
from baserate_lab.models._keeping import keep
from baserate_lab.models._resnet_network import Network, channels_last, start
from baserate_lab.models._torch import nn, torch
from baserate_lab.models.watching import Moment, Watcher

_CROP = 4  # the most pixels by which a training image is moved
_AT_ONCE = 1000  # images in double precision at a time
_DROP_AT, _DROP = 0.75, 0.1  # share of the steps after which a schedule with a drop goes on, and with what share
_WARM_UP = 0.25  # share of the steps in which a one-cycle schedule rises to its peak


class Plan(NamedTuple):
    """Hyper-parameters of the training. Its repr, with the name of the class, is part of a checkpoint's identity."""

    width: int
    epochs: int
    step_size: float
    momentum: float
    nesterov: bool
    l2: float
    batch_size: int
    schedule: str
    augment: bool
    seed: int


def step_size_at(plan: Plan, done: float) -> float:
    """Step size after a share of the training."""
    if plan.schedule == "constant":
        return plan.step_size
    if plan.schedule == "drop":
        return plan.step_size if done <= _DROP_AT else _DROP * plan.step_size
    warm_up = _WARM_UP if plan.schedule == "one-cycle" else 0.0
    if done < warm_up:
        return plan.step_size * done / warm_up
    return plan.step_size * 0.5 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))


def to_tensor(images: NDArray[Any]) -> torch.Tensor:
    """Convert images of shape (n, height, width, channels) to torch's order; channels stay last in memory."""
    return torch.from_numpy(np.ascontiguousarray(images, dtype=np.float32)).permute(0, 3, 1, 2)


def moved(images: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Shift each image by up to four pixels, filled with black, and mirror half of them."""
    n, height, width = images.shape[:3]
    padded = np.pad(images, ((0, 0), (_CROP, _CROP), (_CROP, _CROP), (0, 0)))
    moves = rng.integers(0, 2 * _CROP + 1, (2, n))
    mirrored = rng.random((n, 1)) >= 0.5
    rows = np.arange(height) + moves[0][:, np.newaxis]
    columns = np.arange(width) + moves[1][:, np.newaxis]
    columns = np.where(mirrored, columns[:, ::-1], columns)
    return np.asarray(padded[np.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]])


def mean_and_std(images: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each channel over all pixels; works in parts, as a copy may not fit into memory."""
    parts = [images[first : first + _AT_ONCE] for first in range(0, len(images), _AT_ONCE)]
    pixels = images.size / images.shape[3]
    mean = sum(part.sum(axis=(0, 1, 2), dtype=np.float64) for part in parts) / pixels
    squares = sum(((part - mean) ** 2).sum(axis=(0, 1, 2)) for part in parts)
    return np.asarray(mean), np.maximum(np.sqrt(squares / pixels), 1e-6)


def train(
    images: NDArray[Any],
    labels: IntArray,
    classes: int,
    plan: Plan,
    checkpoint: Path | None,
    run: str,
    watch: Watcher,
    is_done: Callable[[Network], bool] = lambda _: False,
    *,
    mixed: bool = False,
) -> tuple[Network, list[dict[str, float]]]:
    """Train or resume training; returns the network, and loss and accuracy of each epoch.

    Parameters
    ----------
    images, labels, classes
        Training data: (n, height, width, channels), class indices, and the number of classes.
    plan : Plan
        Hyper-parameters.
    checkpoint : path or None
        File written after each epoch; if it exists, training resumes from it.
    run : str
        Name of data and plan: a checkpoint of another run is refused.
    watch : callable
        Called after each batch.
    is_done : callable
        Asked after each epoch, with the network in evaluation mode, whether to stop before the last one.
    mixed : bool
        Multiply bfloat16 numbers; weights and sums stay float32.
    """
    network = start(images.shape[3], classes, plan.width, plan.seed)
    mean, std = mean_and_std(images)
    network.mean[0, :, 0, 0], network.std[0, :, 0, 0] = torch.from_numpy(mean), torch.from_numpy(std)
    channels_last(network)
    optimiser = torch.optim.SGD(
        network.parameters(), lr=0.0, momentum=plan.momentum, nesterov=plan.nesterov, weight_decay=plan.l2
    )
    history: list[dict[str, float]] = []
    if checkpoint is not None and checkpoint.exists():
        history = _read(checkpoint, run, network, optimiser)
    for epoch in range(len(history), plan.epochs):
        if history and is_done(network.eval()):  # also of the last epoch of a checkpoint
            break
        history.append(_run_epoch(network, optimiser, images, labels, plan, epoch, watch, mixed=mixed))
        if checkpoint is not None:
            _write(checkpoint, run, network, optimiser, history)
    return network.eval(), history


def _run_epoch(
    network: Network,
    optimiser: torch.optim.Optimizer,
    images: NDArray[Any],
    labels: IntArray,
    plan: Plan,
    epoch: int,
    watch: Watcher,
    *,
    mixed: bool,
) -> dict[str, float]:
    network.train()
    rng = np.random.default_rng([plan.seed, epoch])
    # Batches of nearly equal size: the last one must not be too small for its batch statistics.
    batches = np.array_split(rng.permutation(len(images)), math.ceil(len(images) / plan.batch_size))
    loss_sum, right, seen = 0.0, 0, 0
    for step, rows in enumerate(batches):
        batch = moved(images[rows], rng) if plan.augment else images[rows]
        targets = torch.from_numpy(labels[rows])
        for group in optimiser.param_groups:
            group["lr"] = step_size_at(plan, (epoch + (step + 1) / len(batches)) / plan.epochs)
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            logits = network(to_tensor(batch)).float()
        loss = nn.functional.cross_entropy(logits, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        loss_sum += float(loss.detach()) * len(rows)
        right += int((logits.detach().argmax(dim=1) == targets).sum())
        seen += len(rows)
        if not math.isfinite(loss_sum):
            raise FloatingPointError(f"the training diverged in epoch {epoch + 1}; make step_size smaller.")
        watch(Moment(epoch + 1, plan.epochs, step + 1, len(batches), loss_sum / seen, right / seen))
    return {"loss": loss_sum / seen, "accuracy": right / seen}


def _write(
    path: Path, run: str, network: Network, optimiser: torch.optim.Optimizer, history: list[dict[str, float]]
) -> None:
    buffer = io.BytesIO()
    torch.save(
        {"run": run, "network": network.state_dict(), "optimiser": optimiser.state_dict(), "history": history}, buffer
    )
    keep(path, buffer.getvalue())


def _read(path: Path, run: str, network: Network, optimiser: torch.optim.Optimizer) -> list[dict[str, float]]:
    try:
        stored = torch.load(path, weights_only=True)
        if stored["run"] == run:
            network.load_state_dict(stored["network"])
            optimiser.load_state_dict(stored["optimiser"])
            return list(stored["history"])
    except Exception as error:  # a damaged file can raise anything
        raise ValueError(
            f"the checkpoint {path} is damaged, or not one of a ResNet18; delete it to train anew."
        ) from error
    raise ValueError(
        f"the checkpoint {path} belongs to a training with other data, parameters or seed; name another file, or "
        "delete it to train anew."
    )
