"""Records of an artefact: one per cell and metric, our number beside the paper's."""

import math
from typing import Any, NamedTuple

TOLERANCE = {"error": 0.5, "mse": 0.03}
"""Differences that always count as agreement, however small the spread: percentage points, and squared distance."""
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
        ``mse_true`` (to the true mix), ``minutes``.
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
        """Half of the last digit that the paper prints."""
        return 0.0 if self.digits is None else 0.5 * 10.0**-self.digits

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
    def beyond_spread(self) -> bool:
        """True if the two differ by more than the sum of their standard deviations, or the rounding if larger."""
        return abs(self.difference) > max((self.ours_std or 0.0) + (self.paper_std or 0.0), self.rounding)

    @property
    def agrees(self) -> bool:
        """True if the two differ by at most twice the pooled standard deviation.

        The limit is at least the tolerance, and at least half of the last printed digit.
        """
        pooled = math.hypot(self.ours_std or 0.0, self.paper_std or 0.0) / math.sqrt(2)
        return abs(self.difference) <= max(2 * pooled, TOLERANCE.get(self.metric, 0.0), self.rounding)

    @property
    def judged(self) -> bool:
        """True if the record counts in the comparison: comparable, and independent of the machine."""
        return self.comparable and self.metric not in OF_THE_MACHINE

    @property
    def mark(self) -> str:
        """Mark beside the number: ``*`` if the two differ by more than their spreads, ``**`` if they do not agree."""
        if not self.judged:
            return ""
        return "**" if not self.agrees else "*" if self.beyond_spread else ""

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
