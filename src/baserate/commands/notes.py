"""Warnings of the library, shown as notes in the words of the command line."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Keep the warnings for users instead of showing them: a list that has each once, when the block is left."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        yield found
    texts = (str(warning.message) for warning in told if issubclass(warning.category, UserWarning))
    found += dict.fromkeys(texts)
