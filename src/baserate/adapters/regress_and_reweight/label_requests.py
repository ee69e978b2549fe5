"""Label requests: which rows of a batch a person should label, and with which probability each is asked for."""

from typing import NamedTuple

import numpy as np

from baserate.adapters._sampling import draw, inclusion_probabilities
from baserate.protocols import FloatArray, IntArray

RANDOM, DISAGREE = "drawn at random", "corrections disagree"
"""The reasons why a row is worth labelling."""
AT_RANDOM = 0.5
"""The least share of requests that are spread evenly over all rows."""
_SLIGHT = 0.02  # mean disagreement at which half of the rest is spread evenly, too


class LabelRequests(NamedTuple):
    """Rows of a batch whose labels would tell most.

    Attributes
    ----------
    indices : (n,) array of int
        The rows, in rising order.
    probabilities : (n,) array
        The probability with which each was to be drawn: the `y_probability` of its label.
    reasons : list of str
        Why, in words.
    """

    indices: IntArray
    probabilities: FloatArray
    reasons: list[str]


class LabelWorth(NamedTuple):
    """The worth of each row's label: rows are to be drawn with probabilities in proportion to it.

    Attributes
    ----------
    worth : (n,) array
        Its mean is one, and none is below `AT_RANDOM`.
    reasons : list of str
        Why, in words.
    """

    worth: FloatArray
    reasons: list[str]


def label_worth(weights: FloatArray, tables: FloatArray) -> LabelWorth:
    """Return the worth of the labels of a batch.

    Labels tell candidates apart by their errors. The mean error of each over all rows is estimated best, for a given
    number of labels, if rows are drawn in proportion to the root mean square of the errors' differences there: the
    standard deviation of the zero-one loss over candidates, the label being drawn from their mean. That decides up to
    half of the worth. The rest, at least `AT_RANDOM`, is the same for all rows: labels also repair the calibration, and
    find what no candidate suspects.

    Parameters
    ----------
    weights : (m,) array
        The weight of each candidate; half of it counts, the other half is shared out evenly, because labels are to tell
        when another has become better.
    tables : (m, n, k) array
        The candidates' probabilities.

    Examples
    --------
    Three rows: both candidates are sure, both are unsure, and they disagree.

    >>> tables = np.array([[[1.0, 0.0], [0.5, 0.5], [0.9, 0.1]], [[1.0, 0.0], [0.5, 0.5], [0.1, 0.9]]])
    >>> found = label_worth(np.array([0.5, 0.5]), tables)
    >>> found.worth.round(2), found.reasons
    (array([0.55, 0.55, 1.89]), ['drawn at random', 'drawn at random', 'corrections disagree'])
    """
    belief = (0.5 * (weights + 1.0 / len(weights)))[:, np.newaxis, np.newaxis]
    wrong = np.ones_like(tables)
    np.put_along_axis(wrong, tables.argmax(axis=2)[:, :, np.newaxis], 0.0, axis=2)
    apart = wrong - (belief * wrong).sum(axis=0)
    spread = np.sqrt(((belief * tables).sum(axis=0) * (belief * apart**2).sum(axis=0)).sum(axis=1))
    disagree = (1.0 - AT_RANDOM) * spread / (spread.mean() + _SLIGHT) if len(spread) else spread
    even = 1.0 - disagree.mean() if len(spread) else 1.0
    return LabelWorth(even + disagree, [DISAGREE if more else RANDOM for more in disagree > even])


def request_labels(found: LabelWorth, n: int, rng: np.random.Generator) -> LabelRequests:
    """Draw `n` rows, or all if there are no more, with inclusion probabilities in proportion to their worth."""
    probabilities = inclusion_probabilities(found.worth, n)
    indices = draw(probabilities, rng)
    return LabelRequests(indices, probabilities[indices], [found.reasons[i] for i in indices])
