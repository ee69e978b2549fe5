"""Records of an artefact: one per cell and metric, our number beside the paper's.

When a number agrees is one rule for all cells. It was written down when results of most of them were known already, and
how wide an interval may be was chosen with them in view. The printed number is of one network and a few streams, so it
should lie where one more run of ours would: in the 95 % prediction interval of a run, from Student's distribution over
our seeds, widened by the standard deviation that the paper prints (as a sum of squares) and by half of the last digit
that it prints. An interval that is too wide tells nothing: if it reaches more than `WIDEST` to either side, the number
does not count as agreeing. There is no further tolerance.
"""

import math
from typing import Any, NamedTuple

from scipy.stats import t as student

WIDEST = {"error": 3.0, "gain": 3.0, "mse": 0.1}
"""Farthest that an interval may reach to either side: percentage points, and squared distance."""
GAIN = "gain"
"""Metric of a gain over the base model: its error minus the method's, on the same streams, in points."""
_LEVEL = 0.95
OF_THE_MACHINE = ("minutes", "seconds", "bytes")
"""Metrics that depend on the machine: shown beside the paper's numbers, but not compared with them."""


class Record(NamedTuple):
    """One number of an artefact, ours and the paper's. Missing values are None.

    Attributes
    ----------
    artefact : str
        Name of the table or figure.
    dataset, model : str
        The data set and base model.
    shift : str
        ``mon``, ``squ``, ``sin``, ``ber``, or ``real``.
    holdout : int or None
        Labelled samples that the method was given.
    method, metric : str
        Labels as in the paper; ``error`` (percent), ``mse`` (to the frequencies of each batch, as printed),
        ``mse_true`` (to the true mix), ``minutes``; ``gain`` for the error of the base model minus the method's.
    ours_mean, ours_std : float or None
        Mean and standard deviation over seeds (divided by n, as in the paper). None if it was not run.
    seeds : int
        Number of seeds.
    paper_mean, paper_std : float or None
        As printed. None where the paper prints nothing.
    stand_in : str or None
        The paper's data set, if this one stands in for it.
    variant : str
        Further setting of the cell, such as ``marginal=MLLS``, ``batch=50`` or ``train=0.5``.
    digits : int or None
        Decimals that the paper prints; its number is known only to half of the last digit.
    """

    artefact: str
    dataset: str
    model: str
    shift: str
    holdout: int | None
    method: str
    metric: str
    ours_mean: float | None
    ours_std: float | None
    seeds: int
    paper_mean: float | None
    paper_std: float | None
    stand_in: str | None
    variant: str = ""
    digits: int | None = None

    @property
    def problem(self) -> str:
        """Data set and model."""
        return f"{self.dataset} {self.model}"

    @property
    def rounding(self) -> float:
        """Half of the last digit that the paper prints; twice that for a gain."""
        of_one = 0.0 if self.digits is None else 0.5 * 10.0**-self.digits
        return 2 * of_one if self.metric == GAIN else of_one  # a gain is the difference of two rounded numbers

    @property
    def comparable(self) -> bool:
        """True if both numbers exist and are of the same data set."""
        return self.ours_mean is not None and self.paper_mean is not None and self.stand_in is None

    @property
    def difference(self) -> float:
        """Ours minus the paper's; NaN if one is missing."""
        if self.ours_mean is None or self.paper_mean is None:
            return math.nan
        return self.ours_mean - self.paper_mean

    @property
    def reach(self) -> float:
        """Half the width of the interval for the printed number around ours; infinite for a single seed."""
        if self.ours_std is None or self.seeds < 2:
            return math.inf
        # The stored deviation is divided by n; one more run varies around the mean of the others, which varies itself.
        deviation = self.ours_std * math.sqrt(self.seeds / (self.seeds - 1)) * math.sqrt(1 + 1 / self.seeds)
        of_a_run = float(student.ppf(0.5 + _LEVEL / 2, self.seeds - 1)) * deviation
        return math.hypot(of_a_run, self.paper_std or 0.0)

    @property
    def too_wide(self) -> bool:
        """True if the interval is so wide that the number does not count as agreeing, wherever it lies."""
        return not self.reach <= WIDEST.get(self.metric, math.inf)

    @property
    def agrees(self) -> bool:
        """True if the printed number lies in the interval, and the interval is narrow enough to tell."""
        return not self.too_wide and abs(self.difference) <= self.reach + self.rounding

    @property
    def judged(self) -> bool:
        """True if the record counts in the comparison: comparable, and independent of the machine."""
        return self.comparable and self.metric not in OF_THE_MACHINE

    @property
    def mark(self) -> str:
        """Mark beside the number: ``*`` if the interval is too wide to tell, ``**`` if the numbers do not agree."""
        if not self.judged or self.agrees:
            return ""
        return "*" if self.too_wide and abs(self.difference) <= self.reach + self.rounding else "**"

    def to_json(self) -> dict[str, Any]:
        """Plain mapping for JSON; numbers that are not finite (a method diverged) are None."""
        fields = {name: value for name, value in self._asdict().items() if name != "digits"}
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in fields.items()
        }


class Claim(NamedTuple):
    """A claim of the paper, and whether it holds for our numbers."""

    artefact: str
    text: str
    holds: bool | None
    """None if the cells it needs were not run, or do not decide it."""
    evidence: str
