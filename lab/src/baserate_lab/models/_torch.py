"""Import of torch; other modules import it from here, and only when they use it."""

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError("this needs torch; run: pip install 'baserate-lab[deep]'", name="torch") from error

nn = torch.nn

__all__ = ["nn", "torch"]
