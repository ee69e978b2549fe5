"""Texts as arrays that need no pickle: their concatenated UTF-8 bytes, and the end of each text."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate_lab.datasets._arrays import Arrays


def pack(name: str, texts: Iterable[str]) -> Arrays:
    """Pack texts into two arrays under a name."""
    encoded = [text.encode("utf-8", errors="replace") for text in texts]  # lone surrogates occur in old mails
    return {
        name: np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}_ends": np.cumsum([len(text) for text in encoded], dtype=np.int64),
    }


def unpack(arrays: Arrays, name: str) -> NDArray[Any]:
    """Unpack the texts under a name, as an object array of str."""
    raw, ends = arrays[name].tobytes(), arrays[f"{name}_ends"].tolist()
    texts = np.empty(len(ends), dtype=object)
    texts[:] = [raw[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
    return texts


def one_line(text: str) -> str:
    """A text with every run of white space replaced by one blank."""
    return " ".join(text.split())
