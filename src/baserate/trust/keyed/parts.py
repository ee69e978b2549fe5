"""Types that `KeyTrust` is made of, is given, and returns."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import FloatArray, IntArray
from baserate.trust.accuracy import AccuracyEstimate
from baserate.trust.assumption.hull import HullTest
from baserate.trust.gate import Gate
from baserate.trust.monitor import TrustMonitor


class KeyParts(NamedTuple):
    """Fitted parts that all streams share.

    Attributes
    ----------
    alpha : float
        The acceptable probability of a false alarm, of each stream.
    gated : bool
        Whether the correction is held back where it is in doubt.
    source_prior : (k,) array
    hull : HullTest or None
        The check of label shift; None where nothing is tested.
    grid : int
        The grid that the holdout's outputs are on.
    untested : str
        Why nothing is tested; empty if it is.
    gate : Gate or None
    accuracy : AccuracyEstimate or None
        None without a labelled holdout that has every class.
    memory : int
        Of `SerialDependence`.
    """

    alpha: float
    gated: bool
    source_prior: FloatArray
    hull: HullTest | None
    grid: int
    untested: str
    gate: Gate | None
    accuracy: AccuracyEstimate | None
    memory: int

    @classmethod
    def of(cls, monitor: TrustMonitor, gate: Gate | None, *, gated: bool) -> Self | None:
        """Return the parts of an adapter; None if its `alpha` is None."""
        if monitor.alpha is None:
            return None
        hull, grid = monitor.check_.hull() if monitor.checks_ else (None, 0)
        accuracy = monitor.accuracy_estimate() if monitor.known_ else None
        memory, source = monitor.dependence_.memory, monitor.source_prior_
        return cls(monitor.alpha, gated, source, hull, grid, monitor.untested_, gate, accuracy, memory)

    @property
    def n_cells(self) -> int:
        """The number of cells of the check; 0 if there is none."""
        return 0 if self.hull is None else self.hull.n_cells


class KeyedRounds(NamedTuple):
    """One round of each of several streams, sorted by stream, as it was checked and predicted.

    Attributes
    ----------
    places : (m,) array of int
        The streams; none twice.
    starts : (m + 1,) array of int
        Stream j has the rows ``starts[j]:starts[j + 1]``.
    raw, calibrated, adapted : (n, k) arrays
        The model's probabilities, the same calibrated, and re-weighted.
    used : (m, k) array
        The class mixes that they were re-weighted to.
    labels, predicted : (n,) arrays of int, or None
        Labels, -1 where there is none; and the classes that were predicted, where not those of `adapted`.
    """

    places: IntArray
    starts: IntArray
    raw: FloatArray
    calibrated: FloatArray
    adapted: FloatArray
    used: FloatArray
    labels: IntArray | None
    predicted: IntArray | None


class KeySigns(NamedTuple):
    """Trust signals of some streams, one entry each.

    Attributes
    ----------
    rows : array of int
        Rows so far.
    evidence : array
        Evidence against label shift: 1 is none, and 1 / alpha raises an alarm.
    alarm : array of bool
        True while more than the class mix seems to have changed.
    dependent : array of bool
        True while rows that follow each other are too much alike.
    correction_weight : array
        The part of the correction that is used.
    fallback : array of bool
        True while that is not all of it.
    """

    rows: IntArray
    evidence: FloatArray
    alarm: NDArray[np.bool_]
    dependent: NDArray[np.bool_]
    correction_weight: FloatArray
    fallback: NDArray[np.bool_]
