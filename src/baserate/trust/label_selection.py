"""LabelSelection: notices labels that come only from rows that the model predicts as one class."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.class_labels import called
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import Flag, Saved, Saves, Whole, ints
from baserate.validation import warn_user

FEWEST = 30
"""Labels before anything is said about them."""
MOST = 0.9
"""The share of one class in the predictions from which on its labels alone are no sign of a choice."""
_CHANCE = 1e-3  # largest probability that labels drawn at random are all of one predicted class
_PREDICTIONS = 100  # least number of predictions that its share is taken from


class SelectedLabelsWarning(UserWarning):
    """Warning that labels come only from rows predicted as one class: see docs/howto/label_requests.md."""


def _fits_together(saved: Saved) -> str:
    return "" if saved.params["n_classes"] == saved.sizes["k"] else "counts other classes than it says"


class LabelSelection(Component, saved_as="label_selection"):
    """Counts predictions, and labels by the class that the model predicted; warns once if all are of one class.

    At least 30 labels must have come, all for rows that are predicted as one class, which makes up less than 90 % of
    the predictions: so little that labels at random would all be of it with a probability below 0.001. Labels that came
    with the probability of being chosen are not counted.

    Parameters
    ----------
    n_classes : int

    Attributes
    ----------
    predicted_, labelled_ : (k,) arrays of int
        All rows since the first label, and the labelled ones, by the class that the model predicted.
    warned_ : bool

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     LabelSelection(2).take_in(np.arange(200) % 2, np.ones(100, dtype=int))
    >>> str(told[0].message)[:80]
    'all 100 labels so far are of rows that the model predicts as class 1, and 50 % o'
    """

    saves = Saves(
        params={"n_classes": Whole(2)},
        state={"predicted_": ints("k", low=0), "labelled_": ints("k", low=0), "warned_": Flag()},
        check=_fits_together,
    )

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.predicted_ = np.zeros(n_classes, dtype=np.int64)
        self.labelled_ = np.zeros(n_classes, dtype=np.int64)
        self.warned_ = False

    def take_in(self, predicted: IntArray, labelled: IntArray, names: Sequence[Any] | None = None) -> None:
        """Count rows, and warn if it is time.

        Parameters
        ----------
        predicted, labelled : arrays of int
            The classes that the model itself predicts: for all rows, and for those whose labels have come.
        names : sequence, optional
            What to call the classes.
        """
        self.predicted_ += np.bincount(predicted, minlength=self.n_classes)
        self.labelled_ += np.bincount(labelled, minlength=self.n_classes)
        self._warn(names)

    def _warn(self, names: Sequence[Any] | None) -> None:
        n, total, only = int(self.labelled_.sum()), int(self.predicted_.sum()), int(self.labelled_.argmax())
        if self.warned_ or n < FEWEST or total < _PREDICTIONS or self.labelled_[only] < n:
            return
        share = self.predicted_[only] / total
        if share >= MOST or share**n > _CHANCE:
            return
        self.warned_ = True
        warn_user(
            f"all {n} labels so far are of rows that the model predicts as class {called(only, names)}, and "
            f"{100 * (1.0 - share):.0f} % of its predictions are of other classes. About those the labels say nothing, "
            "and whether the correction helps is judged on a part of the stream. Label a few rows at random, too, or "
            "let label_requests choose the rows, and give the probability with which each was chosen (y_probability).",
            SelectedLabelsWarning,
        )


def watch_round(
    selection: LabelSelection | None,
    classes: NDArray[Any],
    own: IntArray,
    labels: IntArray | None,
    chosen: FloatArray | None,
) -> LabelSelection | None:
    """Count a round; return what counts, which begins with the first label that nothing is known of.

    Parameters
    ----------
    selection : LabelSelection or None
        What counts so far.
    classes : (k,) array
        The class label of each column.
    own : (n,) array of int
        The classes that the model itself predicts.
    labels : (n,) array of int or None
    chosen : (n,) array or None
        The probability with which each was chosen for a label, if that is known: such labels are not counted.
    """
    labelled = own[labels != UNLABELLED] if labels is not None and chosen is None else own[:0]
    if selection is None and len(labelled) == 0:
        return None
    selection = LabelSelection(len(classes)) if selection is None else selection
    selection.take_in(own, labelled, classes.tolist())
    return selection


def watch_late(
    selection: LabelSelection | None,
    classes: NDArray[Any],
    own: Sequence[int],
    chosen: FloatArray | None,
    waiting: Callable[[], IntArray],
) -> LabelSelection | None:
    """Count labels of earlier rounds; return what counts.

    Parameters
    ----------
    selection, classes, own, chosen
        As in `watch_round`, of the rows whose labels have come.
    waiting : callable
        Returns the model's predictions for rows whose labels have not come. They stand for the rounds before, if these
        are the first labels.
    """
    if chosen is not None or len(own) == 0:
        return selection
    labelled = np.array(own, dtype=np.int64)
    predicted = labelled[:0]
    if selection is None:
        selection, predicted = LabelSelection(len(classes)), np.concatenate([labelled, waiting()])
    selection.take_in(predicted, labelled, classes.tolist())
    return selection
