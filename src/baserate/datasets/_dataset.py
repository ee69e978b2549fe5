"""Dataset: labelled source data for training and holdout, and labelled target data for the stream."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

from baserate.protocols import IntArray


class Dataset(NamedTuple):
    """Source and target of one problem; p(x|y) is the same in both unless the provenance says otherwise.

    Attributes
    ----------
    source_X, target_X : array
        Samples. Numbers as floats, small colour images as bytes of shape (n, height, width, 3), texts as an object
        array of str.
    source_y, target_y : (n,) array of int64
        Classes 0 to k - 1.
    class_names : tuple of str
        One name per class.
    provenance : str
        Where the data come from, and what was done to them.
    in_time_order : bool
        True if the rows of the target are in the order of time: a real stream with its real shifts.
    stand_in_for : str or None
        The data set of the paper that this one replaces.
    """

    source_X: NDArray[Any]
    source_y: IntArray
    target_X: NDArray[Any]
    target_y: IntArray
    class_names: tuple[str, ...]
    provenance: str
    in_time_order: bool = False
    stand_in_for: str | None = None
