"""Label requests: which rows of a batch a person should label, and with which probability each is asked for."""

from typing import NamedTuple

import numpy as np

from baserate.adapters._sampling import draw, inclusion_probabilities
from baserate.protocols import FloatArray, IntArray

RANDOM, DISAGREE, UNSURE = "drawn at random", "corrections disagree", "model is unsure"
"""The reasons why a row is worth labelling."""
AT_RANDOM = 0.3
"""The least share of requests that are spread evenly over all rows."""
_PROBABILITIES, _CLASSES, _UNSURE = 0.3, 0.3, 0.1  # the largest shares of the other reasons
_SLIGHT = 0.02  # mean disagreement, or doubt, at which a reason gets half of its share
_LEAST = 1e-3  # least probability whose logarithm is taken: a row that one correction rules out must not be everything


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
    r"""Return the worth of the labels of a batch.

    Labels tell candidates apart by their losses. The mean loss of each over all rows is estimated best, for a given
    number of labels, if rows are drawn in proportion to the root mean square of the losses' differences there: the
    standard deviation of the loss over candidates, the label being drawn from their mean. That of the log loss decides
    up to three tenths of the worth, and that of the zero-one loss, which differs where the most probable class does,
    another three. Up to a tenth is the standard deviation of the label itself, ``sqrt(1 - sum_c p_c^2)``, which says
    how much the label adds to what the model knows. The rest, at least `AT_RANDOM`, is the same for all rows.

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
    (array([0.35, 0.5 , 2.15]), ['drawn at random', 'drawn at random', 'corrections disagree'])
    """
    n = tables.shape[1]
    belief = (0.5 * (weights + 1.0 / len(weights)))[:, np.newaxis, np.newaxis]
    mean = (belief * tables).sum(axis=0)
    wrong = np.ones_like(tables)
    np.put_along_axis(wrong, tables.argmax(axis=2)[:, :, np.newaxis], 0.0, axis=2)
    doubt = np.sqrt(np.maximum(1.0 - (mean**2).sum(axis=1), 0.0))
    terms = np.array(
        [
            _PROBABILITIES * _relative(_spread(np.log(np.maximum(tables, _LEAST)), belief, mean)),
            _CLASSES * _relative(_spread(wrong, belief, mean)),
            _UNSURE * _relative(doubt),
        ]
    )
    even = 1.0 - terms.sum() / max(n, 1)
    reasons = np.array([np.full(n, even), terms[0] + terms[1], terms[2]]).argmax(axis=0)
    return LabelWorth(even + terms.sum(axis=0), [(RANDOM, DISAGREE, UNSURE)[reason] for reason in reasons])


def _spread(losses: FloatArray, belief: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the standard deviation of candidates' losses in each row, over the labels that are to be expected."""
    apart = losses - (belief * losses).sum(axis=0)
    return np.asarray(np.sqrt((mean * (belief * apart**2).sum(axis=0)).sum(axis=1)))


def _relative(values: FloatArray) -> FloatArray:
    """Return values relative to their mean, and less where that is slight."""
    return values / (values.mean() + _SLIGHT) if len(values) else values


def request_labels(found: LabelWorth, n: int, rng: np.random.Generator) -> LabelRequests:
    """Draw `n` rows, or all if there are no more, with inclusion probabilities in proportion to their worth."""
    probabilities = inclusion_probabilities(found.worth, n)
    indices = draw(probabilities, rng)
    return LabelRequests(indices, probabilities[indices], [found.reasons[i] for i in indices])
