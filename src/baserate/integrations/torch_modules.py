"""The last linear layer of a torch module, and its input."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from baserate.integrations._torch import nn, torch
from baserate.integrations.linear_head import LastLayer, NoLastLayerError, two_rows
from baserate.protocols import FloatArray

_AT_ONCE = 512  # samples in one forward pass
_NOT_THE_LAST = (
    "its output is not that of the nn.Linear that it names last; if it is that of another one, last_layer(module, "
    "samples) finds it"
)


def last_layer_of_module(module: nn.Module, samples: Any = None) -> LastLayer:
    """Split a module at the `nn.Linear` whose output is the module's own.

    A module may use its parts in another order than it names them. With `samples` the layer is found by running them;
    without, it is the `nn.Linear` that is named last. Either way `features` compares the layer's output with the
    module's, by value, and raises an error if they differ.

    Samples may be arrays or tensors. Real numbers are converted to the precision of the layer; whole numbers, such as
    token ids, are passed on as they are. The module is in evaluation mode while it computes.
    """
    layers = [part for part in module.modules() if isinstance(part, nn.Linear)]
    if not layers:
        raise NoLastLayerError(_refusal(module, "it has no nn.Linear"))
    last = layers[-1] if samples is None else _find(module, layers, samples)
    intercept = torch.zeros(last.out_features) if last.bias is None else last.bias
    rows = two_rows(*(values.detach().cpu().double().numpy() for values in (last.weight, intercept)))
    return LastLayer(lambda X: _features(module, last, X), *rows)


def _find(module: nn.Module, layers: list[nn.Linear], samples: Any) -> nn.Linear:
    """Return the layer whose output is that of the module."""
    if len(samples) == 0:
        raise ValueError("samples is empty; give at least one, or leave it out.")
    refusals = []
    for layer in reversed(layers):
        try:
            _features(module, layer, samples)
        except NoLastLayerError as error:
            refusals.append(error)
        else:
            return layer
    raise NoLastLayerError(_refusal(module, "its output is that of none of its linear layers")) from refusals[0]


def _features(module: nn.Module, last: nn.Linear, X: Any) -> FloatArray:
    seen: list[torch.Tensor] = []

    def remember(_: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], __: Any) -> None:
        given = inputs[0] if inputs else named["input"]
        seen[:] = [given.detach().clone()]  # the module may change it in place later

    samples = X if isinstance(X, torch.Tensor) else np.asarray(X)
    found: list[FloatArray] = [np.empty((0, last.in_features))]
    hook = last.register_forward_hook(remember, with_kwargs=True)
    try:
        with _evaluating(module), torch.no_grad():
            for first in range(0, len(samples), _AT_ONCE):
                part = _as_tensor(samples[first : first + _AT_ONCE], last.weight)
                n = len(part)
                seen.clear()
                reason = _why_not(last, seen, module(part), n)
                if reason:
                    raise NoLastLayerError(_refusal(module, reason))
                found.append(seen[0].cpu().double().numpy())
    finally:
        hook.remove()
    return np.concatenate(found)


def _why_not(last: nn.Linear, seen: list[torch.Tensor], output: Any, n: int) -> str | None:
    """Return why a module's output is not that of a layer applied to its input; None if it is."""
    if not seen:
        return f"{_NOT_THE_LAST} (that one is not used)"
    if seen[0].ndim != 2:
        return f"its last layer is used on shape {tuple(seen[0].shape)}"
    if not isinstance(output, torch.Tensor) or not output.is_floating_point():
        return f"its output is {type(output).__name__}, not a tensor of real numbers"
    features, weight = seen[0].double(), last.weight.double()
    bias = torch.zeros_like(weight[:, 0]) if last.bias is None else last.bias.double()
    logits = output.double().reshape(-1, 1) if weight.shape[0] == 1 and output.ndim == 1 else output.double()
    expected = features @ weight.T + bias
    if logits.shape != expected.shape or len(features) != n:
        return _NOT_THE_LAST
    # Rounding error of the result, and of a sum of that many terms, which half precision adds up in single.
    single = torch.finfo(torch.float32).eps
    eps = torch.finfo(output.dtype).eps
    bound = (8 * eps + last.in_features * min(eps, single)) * (features.abs() @ weight.abs().T + bias.abs())
    return _NOT_THE_LAST if bool(((logits - expected).abs() > bound).any()) else None


def _as_tensor(part: Any, like: torch.Tensor) -> torch.Tensor:
    """Return a copy of a part of the samples, because a module may change its input in place."""
    samples = part.detach() if isinstance(part, torch.Tensor) else torch.as_tensor(np.array(part))
    dtype = like.dtype if samples.is_floating_point() else samples.dtype
    return samples.to(device=like.device, dtype=dtype, copy=isinstance(part, torch.Tensor))


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode for a while; afterwards every part is in its old mode."""
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
