"""Messages between adapter and trust signals: a round, and the verdict on the correction."""

from typing import NamedTuple

from baserate.protocols import FloatArray, IntArray


class Round(NamedTuple):
    """A round of a stream, as an adapter has checked and predicted it.

    Attributes
    ----------
    raw, calibrated, adapted : (n, k) arrays
        The model's probabilities, the same calibrated, and as they were predicted from it.
    used : (k,) array
        The class prior that they were predicted with.
    tracked : (k,) array
        The class prior as tracked before it.
    labels : (n,) array of int or None
    predicted : (n,) array of int or None
        The classes that were predicted, where those are not the most probable ones of `adapted`.
    chosen : (n,) array or None
        The probability with which each labelled sample was chosen for a label, if that is known.
    """

    raw: FloatArray
    calibrated: FloatArray
    adapted: FloatArray
    used: FloatArray
    tracked: FloatArray
    labels: IntArray | None
    predicted: IntArray | None = None
    chosen: FloatArray | None = None


class Verdict(NamedTuple):
    """The part of the trust signals that decides about the correction.

    Attributes
    ----------
    alarm : bool
        Whether the check of label shift has given an alarm.
    dependent : bool
        Whether samples repeat each other.
    rounds : int
        Over how many rounds they were looked at.
    explained : bool
        Whether a class mix explains nearly all of a large change of the outputs.
    unexplained : bool
        Whether it explains hardly any of one.
    """

    alarm: bool
    dependent: bool
    rounds: int
    explained: bool = False
    unexplained: bool = False
