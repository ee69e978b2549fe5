"""Arrays and tables from pickles of pandas and scikit-learn, read without running any code in the file.

A pickle can name and call any Python function. This reader knows the few names that such files contain, replaces each
by an inert record, and refuses every other name.
"""

import io
import pickle
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray


class PickledObject:
    """Inert stand-in for an object of the file: its constructor arguments, and its state."""

    args: tuple[Any, ...] = ()
    state: Any = None

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__dict__.setdefault("entries", {})[key] = value


_NAMES = {
    ("__builtin__", "object"),
    ("__builtin__", "slice"),
    ("_codecs", "encode"),
    ("copy_reg", "_reconstructor"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.numeric", "_frombuffer"),
    ("pandas.core.frame", "DataFrame"),
    ("pandas.core.indexes.base", "Index"),
    ("pandas.core.indexes.base", "_new_Index"),
    ("pandas.core.indexes.range", "RangeIndex"),
    ("pandas.core.internals.managers", "BlockManager"),
    ("sklearn.utils", "Bunch"),
    ("sklearn.utils._bunch", "Bunch"),
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[PickledObject]:
        if (module, name) not in _NAMES:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no table of data needs")
        return PickledObject

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside itself")


def read_records(raw: bytes) -> Any:
    """Read a pickle as plain values, with a `PickledObject` in place of every object.

    Raises
    ------
    ValueError
        If the file needs anything but arrays and tables, or is damaged.
    """
    try:
        return _Reader(io.BytesIO(raw)).load()
    except Exception as error:  # a damaged pickle can raise anything
        raise ValueError(f"the pickle is refused: {error}") from error


def array(record: PickledObject) -> Any:
    """An array of numbers or of texts; for an array of objects, the list of its entries."""
    if record.state is None:  # from protocol 5 on, the bytes are a constructor argument
        content, dtype, shape, order = record.args
        fortran = order == "F"
    else:
        _, shape, dtype, fortran, content = record.state
    if isinstance(content, list):
        return content
    kind, order = dtype.args[0], dtype.state[1]
    if not re.fullmatch(r"[fi][48]|U[0-9]+", kind) or order not in {"<", ">"}:
        raise ValueError(f"the pickle is refused: it has entries of type {order}{kind}")
    if isinstance(content, PickledObject):
        content = content.args[0].encode(content.args[1])  # old protocols write bytes as text
    return np.frombuffer(content, dtype=f"{order}{kind}").reshape(shape, order="F" if fortran else "C")


def columns(table: PickledObject) -> dict[str, NDArray[Any]]:
    """The columns of a pickled pandas table (pandas 0.14.1 and later keep them in blocks of one dtype)."""
    _, blocks, names, _ = table.state["_data"].state
    return {
        str(name): values
        for block, index in zip(blocks, names, strict=True)
        for name, values in zip(array(index.args[1]["data"]), array(block), strict=True)
    }
