"""Tensors as plain arrays, inside any object: torch's own pickles hold addresses, and differ each time."""

import copy
from typing import Any, NamedTuple

from numpy.typing import NDArray


class Packed(NamedTuple):
    """An object with arrays in the place of its tensors."""

    shell: Any
    arrays: list[NDArray[Any]]
    kinds: list[tuple[str, bool, bool]]
    """Of each array: device, whether it is a parameter, and one that is trained."""


def packed(value: Any, tensors: list[Any]) -> Packed:
    """A copy with arrays in the place of these tensors."""
    from baserate.models._torch import nn

    arrays = {id(tensor): tensor.detach().cpu().contiguous().numpy().copy() for tensor in tensors}
    kinds = [(str(tensor.device), isinstance(tensor, nn.Parameter), tensor.requires_grad) for tensor in tensors]
    # To copy is to ask the memo first: what is found there is taken for the copy.
    return Packed(copy.deepcopy(value, dict(arrays)), list(arrays.values()), kinds)


def unpacked(value: Packed) -> Any:
    """A copy with the tensors back in their places."""
    from baserate.models._torch import nn, torch

    memo: dict[int, Any] = {}
    for array, (device, is_parameter, is_trained) in zip(value.arrays, value.kinds, strict=True):
        tensor = torch.from_numpy(array.copy()).to(device)
        memo[id(array)] = nn.Parameter(tensor, is_trained) if is_parameter else tensor
    return copy.deepcopy(value.shell, memo)
