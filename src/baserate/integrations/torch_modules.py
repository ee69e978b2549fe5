"""The last linear layer of a torch module, and what goes into it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from baserate.models._torch import nn, torch
from baserate.models.last_layer import LastLayer
from baserate.protocols import FloatArray

_AT_ONCE = 512  # samples through the module in one go


def last_layer_of_module(module: nn.Module) -> LastLayer:
    """Take a module apart at its last layer, which must be an `nn.Linear`.

    Samples may be arrays or tensors. Real numbers are converted to the precision of the layer, whole numbers (the
    numbers of tokens, say) are handed on as they are. The module is put into evaluation mode while it computes.
    """
    leaves = [part for part in module.modules() if not any(True for _ in part.children())]
    last = leaves[-1]
    if not isinstance(last, nn.Linear):
        raise TypeError(_refusal(module, f"its last part is {type(last).__name__}, not Linear"))
    coef = last.weight.detach().cpu().double().numpy().copy()
    intercept = np.zeros(len(coef)) if last.bias is None else last.bias.detach().cpu().double().numpy().copy()
    if len(coef) == 1:
        coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
    return LastLayer(lambda X: _features(module, last, X), coef, intercept)


def _features(module: nn.Module, last: nn.Linear, X: Any) -> FloatArray:
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    hook = last.register_forward_hook(lambda _, inputs, output: seen.append((inputs[0], output)))
    found: list[FloatArray] = [np.empty((0, last.in_features))]
    try:
        with _evaluating(module), torch.no_grad():
            samples = _as_tensor(X, last.weight)
            for first in range(0, len(samples), _AT_ONCE):
                seen.clear()
                output = module(samples[first : first + _AT_ONCE])
                # The order of parts says nothing about the order in which they are used: this does.
                if len(seen) != 1 or seen[0][1] is not output:
                    raise TypeError(_refusal(module, "its output is not that of its last linear layer"))
                if seen[0][0].ndim != 2:
                    raise TypeError(_refusal(module, f"its last layer is used on shape {tuple(seen[0][0].shape)}"))
                found.append(seen[0][0].cpu().double().numpy())
    finally:
        hook.remove()
    return np.concatenate(found)


def _as_tensor(X: Any, like: torch.Tensor) -> torch.Tensor:
    samples = X if isinstance(X, torch.Tensor) else torch.as_tensor(np.array(X))
    dtype = like.dtype if samples.is_floating_point() else samples.dtype
    return samples.to(device=like.device, dtype=dtype)


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while; then every part is back in the mode that it had."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        yield
    finally:
        for part, training in modes:
            part.training = training


def _refusal(module: nn.Module, reason: str) -> str:
    return (
        f"the last layer of {type(module).__name__} cannot be taken: {reason}. Give a module that returns the logits "
        "of an nn.Linear, without a softmax, or use a method that needs probabilities only, such as RegressAndReweight "
        "or ROGD."
    )
