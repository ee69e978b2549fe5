"""The only import of torch: other modules import it from here, and only when it is used."""

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError("this needs torch; run: pip install 'baserate[deep]'", name="torch") from error

nn = torch.nn

__all__ = ["nn", "torch"]
