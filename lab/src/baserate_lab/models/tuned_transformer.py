"""A transformer that is trained together with a linear softmax head, on short texts such as titles."""

import hashlib
import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from baserate.integrations.training_data import check_trained
from baserate.protocols import FloatArray, IntArray
from baserate.validation import check_integer, check_real
from baserate_lab.models._keeping import keep
from baserate_lab.models._training_data import check_training_labels
from baserate_lab.models.watching import Moment, Watcher, no_watcher

_BETWEEN_CHECKPOINTS = 200  # batches
_SORTED_AT_ONCE = 50  # batches whose texts are sorted by length, so that little is padded
_AT_ONCE = 256  # texts of a batch of prediction
_FASTER = 10.0  # step size of the head, which starts at zero, over that of the encoder
_WARM_UP = 0.06  # share of the steps in which the step size rises


class TunedTransformer:
    """Transformer with a linear softmax head on the mean of its last layer, all of it trained.

    Needs torch and transformers: ``pip install 'baserate-lab[deep]'``. AdamW, with a step size that rises for 6 % of
    the steps and then falls to zero in a line, and is ten times larger for the head. Nothing is dropped out, so that a
    training has the same bits however often it was interrupted. Products are in bfloat16 while it trains; weights, sums
    and predictions in float32.

    Parameters
    ----------
    encoder : str
        As in `TransformerHead`.
    max_tokens : int
        Longest text, in tokens; longer texts are truncated.
    epochs, batch_size, step_size, l2
        Settings of AdamW; `l2` is its weight decay.
    rng : int
        Seed of the order of the texts; the head starts at zero.

    Attributes
    ----------
    coef_, intercept_ : (k, d) and (k,) arrays
        The head.
    """

    def __init__(
        self,
        encoder: str = "distilbert-base-uncased",
        *,
        max_tokens: int = 32,
        epochs: int = 1,
        batch_size: int = 32,
        step_size: float = 5e-5,
        l2: float = 0.01,
        rng: int = 0,
    ) -> None:
        self.encoder = encoder
        self.max_tokens = max_tokens
        self.epochs = epochs
        self.batch_size = batch_size
        self.step_size = step_size
        self.l2 = l2
        self.rng = rng

    def fit(
        self,
        X: Sequence[str] | NDArray[Any],
        y: ArrayLike,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        watch: Watcher = no_watcher,
    ) -> Self:
        """Train on labelled texts.

        Parameters
        ----------
        X : sequence of str
            Texts.
        y : (n,) array of int
            Labels, 0..k-1.
        checkpoint : path, optional
            File written every 200 batches and at the end. If it exists, training resumes from it and, with the same
            number of threads, gives the same bits as without the interruption. It has torch's own format and is read as
            weights only, so no code in it is run.
        watch : callable, optional
            Called after each batch with a `Moment`; an exception from it ends the training.
        """
        from baserate_lab.models._encoder import Encoder

        labels = check_training_labels(y, len(X))
        encoder = Encoder(self.encoder, check_integer(self.max_tokens, "max_tokens", 1))
        tokens = encoder.tokens(X)
        k = int(labels.max()) + 1
        file = None if checkpoint is None else Path(checkpoint)
        run = hashlib.sha256(repr((self._plan(), k, encoder.identity())).encode())
        for numbers in tokens:
            run.update(np.array([len(numbers), *numbers], dtype="<i8").data)
        run.update(labels.data)
        head = self._train(encoder, tokens, labels, k, file, run.hexdigest(), watch)
        self.coef_, self.intercept_ = (np.array(w.detach().numpy(), dtype=np.float64) for w in head.parameters())
        self.classes_ = np.arange(k)
        self._encoder = encoder
        return self

    def features(self, X: Sequence[str] | NDArray[Any], *, watch: Watcher = no_watcher) -> FloatArray:
        """Inputs of the head for texts, in float32 as they come; `watch` as in `fit`."""
        check_trained(self, "coef_")
        if isinstance(X, str):
            raise TypeError("X is a single text; give a list of texts.")
        tokens = self._encoder.tokens(X)
        order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        found = np.empty((len(tokens), self._encoder.size), dtype=np.float64)
        parts = [order[first : first + _AT_ONCE] for first in range(0, len(order), _AT_ONCE)]
        for number, rows in enumerate(parts, 1):
            found[rows] = self._encoder.vectors([tokens[row] for row in rows])
            watch(Moment(1, 1, number, len(parts)))
        return found

    def predict_proba(self, X: Sequence[str] | NDArray[Any]) -> FloatArray:
        """Class probabilities of texts."""
        return np.asarray(softmax(self.features(X) @ self.coef_.T + self.intercept_, axis=1))

    def _plan(self) -> tuple[Any, ...]:
        return (
            self.encoder,
            self.max_tokens,
            check_integer(self.epochs, "epochs", 1),
            check_integer(self.batch_size, "batch_size", 1),
            check_real(self.step_size, "step_size", 0, np.inf),
            check_real(self.l2, "l2", 0, np.inf),
            check_integer(self.rng, "rng", 0),
        )

    def _train(
        self,
        encoder: Any,
        tokens: list[list[int]],
        labels: IntArray,
        k: int,
        checkpoint: Path | None,
        run: str,
        watch: Watcher,
    ) -> Any:
        from baserate_lab.models._torch import nn, torch

        head = nn.Linear(encoder.size, k)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        both = nn.ModuleDict({"encoder": encoder.network, "head": head})  # in evaluation mode: nothing is dropped out
        groups = [{"params": list(part.parameters())} for part in (encoder.network, head)]
        optimiser = torch.optim.AdamW(groups, lr=0.0, weight_decay=self.l2)
        state: dict[str, Any] = {"done": 0, "loss": 0.0, "right": 0, "seen": 0}
        if checkpoint is not None and checkpoint.exists():
            state = _read(checkpoint, run, both, optimiser)
        per_epoch = math.ceil(len(tokens) / self.batch_size)
        total = per_epoch * self.epochs
        batches: list[IntArray] = []
        for step in range(state["done"], total):
            if step % per_epoch == 0 or not batches:
                lengths = np.array([len(numbers) for numbers in tokens])
                batches = _batches(lengths, self.batch_size, np.random.default_rng([self.rng, step // per_epoch]))
            if step % per_epoch == 0:
                state |= {"loss": 0.0, "right": 0, "seen": 0}
            rows = batches[step % per_epoch]
            for group, faster in zip(optimiser.param_groups, (1.0, _FASTER), strict=True):
                group["lr"] = faster * self.step_size * _share(step / total)
            loss, right = _descend(encoder, head, optimiser, [tokens[row] for row in rows], labels[rows])
            state = {
                "done": step + 1,
                "loss": state["loss"] + loss * len(rows),
                "right": state["right"] + right,
                "seen": state["seen"] + len(rows),
            }
            if not math.isfinite(loss):
                raise FloatingPointError(f"the training diverged in step {step + 1}; make step_size smaller.")
            if checkpoint is not None and ((step + 1) % _BETWEEN_CHECKPOINTS == 0 or step + 1 == total):
                _write(checkpoint, run, both, optimiser, state)
            epoch, within = divmod(step, per_epoch)
            mean, accuracy = state["loss"] / state["seen"], state["right"] / state["seen"]
            watch(Moment(epoch + 1, self.epochs, within + 1, per_epoch, mean, accuracy))
        return head


def _share(done: float) -> float:
    """Share of the step size after a share of the training."""
    return (done + 1e-3) / (_WARM_UP + 1e-3) if done < _WARM_UP else (1 - done) / (1 - _WARM_UP)


def _batches(lengths: IntArray, size: int, rng: np.random.Generator) -> list[IntArray]:
    """Rows of one epoch in batches of texts of similar length, in random order."""
    order = rng.permutation(len(lengths))
    batches: list[IntArray] = []
    for first in range(0, len(order), size * _SORTED_AT_ONCE):
        some = order[first : first + size * _SORTED_AT_ONCE]
        some = some[np.argsort(lengths[some], kind="stable")]
        batches += [some[start : start + size] for start in range(0, len(some), size)]
    return [batches[number] for number in rng.permutation(len(batches))]


def _descend(encoder: Any, head: Any, optimiser: Any, tokens: list[list[int]], y: IntArray) -> tuple[float, int]:
    """One step; returns the mean loss and the number of right predictions before it."""
    from baserate_lab.models._torch import nn, torch

    batch = encoder.tokenizer.pad({"input_ids": tokens}, return_tensors="pt")
    targets = torch.from_numpy(y)
    optimiser.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = encoder.network(**batch).last_hidden_state
    mask = batch["attention_mask"][:, :, None].float()
    logits = head((hidden.float() * mask).sum(dim=1) / mask.sum(dim=1))
    loss = nn.functional.cross_entropy(logits, targets)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return float(loss.detach()), int((logits.detach().argmax(dim=1) == targets).sum())


def _write(path: Path, run: str, both: Any, optimiser: Any, state: dict[str, Any]) -> None:
    from baserate_lab.models._torch import torch

    buffer = io.BytesIO()
    torch.save({"run": run, "weights": both.state_dict(), "optimiser": optimiser.state_dict(), **state}, buffer)
    keep(path, buffer.getvalue())


def _read(path: Path, run: str, both: Any, optimiser: Any) -> dict[str, Any]:
    from baserate_lab.models._torch import torch

    try:
        stored = torch.load(path, weights_only=True)
        if stored["run"] == run:
            both.load_state_dict(stored["weights"])
            optimiser.load_state_dict(stored["optimiser"])
            return {name: stored[name] for name in ("done", "loss", "right", "seen")}
    except Exception as error:  # a damaged file can raise anything
        raise ValueError(f"the checkpoint {path} is damaged, or not one of this model; delete it.") from error
    raise ValueError(
        f"the checkpoint {path} belongs to a training with other data, parameters or seed; name another file, or "
        "delete it to train anew."
    )
