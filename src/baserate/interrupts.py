"""Ctrl-C where another library would swallow it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c_gets_through() -> Iterator[None]:
    """scikit-learn swallows Ctrl-C with a warning, wherever in the epoch it is; here it is Ctrl-C again."""
    message = "Training interrupted by user"
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=message)
        try:
            yield
        except UserWarning as warning:
            if not str(warning).startswith(message):
                raise
            raise KeyboardInterrupt from None
