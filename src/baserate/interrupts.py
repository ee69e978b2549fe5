"""Ctrl-C where another library would turn it into a warning."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c_gets_through() -> Iterator[None]:
    """Turn scikit-learn's warning "Training interrupted by user" back into a KeyboardInterrupt."""
    message = "Training interrupted by user"
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=message)
        try:
            yield
        except UserWarning as warning:
            if not str(warning).startswith(message):
                raise
            raise KeyboardInterrupt from None
