"""What a data set is: labelled source data to train and hold out from, labelled target data to stream."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

from baserate.protocols import IntArray


class Dataset(NamedTuple):
    """Source and target of one problem; p(x|y) is the same in both unless the provenance says otherwise."""

    source_X: NDArray[Any]
    source_y: IntArray
    target_X: NDArray[Any]
    target_y: IntArray
    class_names: tuple[str, ...]
    provenance: str
