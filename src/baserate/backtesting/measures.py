"""The measures that a verdict can be by: error, cost, log loss and Brier score."""

import math
from typing import TYPE_CHECKING, NamedTuple

from baserate.backtesting.blocks import Change
from baserate.backtesting.played import Played
from baserate.protocols import FloatArray

if TYPE_CHECKING:
    from baserate.backtesting.scores import Score


class Measure(NamedTuple):
    """A measure, of which less is better, and how it is written.

    Parameters
    ----------
    key : str
        The field of a `Score` and of a `Played`; the change is ``<key>_change``.
    title : str
        Its name in a sentence.
    times : float
        It is shown times this.
    digits : int or None
        Digits after the point; None: as many as the size of the numbers asks for.
    sign, points : str
        What follows a value, and a change.
    """

    key: str
    title: str
    times: float
    digits: int | None
    sign: str = ""
    points: str = ""

    def of(self, score: "Score") -> float:
        """The mean over the samples of a method."""
        return float(getattr(score, self.key))

    def change_of(self, score: "Score") -> Change:
        """The change compared with doing nothing."""
        change: Change = getattr(score, f"{self.key}_change")
        return change

    def sums(self, played: Played) -> FloatArray:
        """(T,) the sum over the samples of each round."""
        sums: FloatArray = getattr(played, "wrong" if self.key == "error" else self.key)
        return sums

    def shown(self, value: float, like: float | None = None) -> str:
        """A value, with as many digits as one that it stands beside."""
        return f"{self.times * value:,.{self._digits(value if like is None else like)}f}{self.sign}"

    def shown_change(self, change: Change, like: float) -> str:
        """A change without its limits, with the digits of a value."""
        return f"{self.times * change.value:+,.{self._digits(like)}f}{self.points}"

    def limits(self, change: Change, like: float) -> str:
        """The limits of a change, with the digits of a value, or one less where they are large."""
        return " to ".join(self._limit(self.times * part, self._digits(like)) for part in (change.low, change.high))

    def _limit(self, shown: float, digits: int) -> str:
        fewer = self.digits is None and abs(shown) >= 10.0
        return f"{shown:+,.{max(digits - 1, 0) if fewer else digits}f}"

    def _digits(self, value: float) -> int:
        return digits_of(self.times * value) if self.digits is None else self.digits


def digits_of(value: float) -> int:
    """Digits after the point of a number of any size: one from 1 to 1,000, three that count below, none above.

    Examples
    --------
    >>> [digits_of(value) for value in (1234.5, 123.4, 4.12, 0.412, 0.0)]
    [0, 1, 1, 3, 1]
    """
    size = abs(value)
    if size >= 1000.0:
        return 0
    return 1 if size >= 1.0 or size == 0.0 else min(2 - math.floor(math.log10(size)), 6)


PER = 1000
"""Costs are shown for so many rows."""
MEASURES = {
    "error": Measure("error", "error", 100.0, 1, " %", " points"),
    "cost": Measure("cost", f"cost per {PER:,} rows", PER, None),
    "log-loss": Measure("log_loss", "log loss", 1.0, 3),
    "brier": Measure("brier", "Brier score", 1.0, 4),
}
"""By the name of ``--by``."""
