"""Replacement of tensors inside objects by plain arrays; torch's own pickles hold addresses and differ each time."""

import copy
from typing import Any, NamedTuple

from numpy.typing import NDArray

_MEMO = "tensors by their places"


class _Place:
    """Placeholder for a tensor; copying it gives the tensor."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        return memo[_MEMO][self.place]


class Packed(NamedTuple):
    """An object without its tensors, and the tensors as arrays."""

    shell: Any
    arrays: list[NDArray[Any]]
    kinds: list[tuple[str, bool, bool]]
    """For each array: device, whether it is a parameter, and whether it is trained."""


def packed(value: Any, tensors: list[Any]) -> Packed:
    """Return a copy with placeholders for these tensors; a tensor that occurs twice has one placeholder."""
    from baserate.integrations._torch import nn

    once = list({id(tensor): tensor for tensor in tensors}.values())
    arrays = [tensor.detach().cpu().contiguous().numpy().copy() for tensor in once]
    kinds = [(str(tensor.device), isinstance(tensor, nn.Parameter), tensor.requires_grad) for tensor in once]
    # `deepcopy` looks in the memo first, and takes what it finds there for the copy.
    return Packed(copy.deepcopy(value, {id(tensor): _Place(i) for i, tensor in enumerate(once)}), arrays, kinds)


def unpacked(value: Packed) -> Any:
    """Return a copy with the tensors in place of their placeholders."""
    from baserate.integrations._torch import nn, torch

    tensors = []
    for array, (device, is_parameter, is_trained) in zip(value.arrays, value.kinds, strict=True):
        tensor = torch.from_numpy(array.copy()).to(device)
        tensors.append(nn.Parameter(tensor, is_trained) if is_parameter else tensor)
    memo: dict[Any, Any] = {_MEMO: tensors}
    return copy.deepcopy(value.shell, memo)
