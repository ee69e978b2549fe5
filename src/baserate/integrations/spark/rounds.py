"""Rounds of a key: a number of its rows, or a window of event time."""

import re
from typing import NamedTuple

from baserate.validation import check_integer

_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


class Rounds(NamedTuple):
    """Length of a round: `rows` rows of a key, or `window` microseconds of event time; the other one is 0."""

    rows: int
    window: int

    @property
    def text(self) -> str:
        """The rounds as a state names them."""
        return f"{self.rows} rows" if self.rows else f"{self.window} us"


def read_rounds(rounds: object) -> Rounds:
    """Return rounds as people give them, such as 100 or ``"15min"``.

    Examples
    --------
    >>> read_rounds(100), read_rounds("15min")
    (Rounds(rows=100, window=0), Rounds(rows=0, window=900000000))
    """
    if isinstance(rounds, str):
        return Rounds(0, read_duration(rounds, "rounds"))
    return Rounds(check_integer(rounds, "rounds", 1), 0)


def rounds_of(text: str) -> Rounds:
    """Return the rounds that a state names: see `Rounds.text`."""
    number, _, unit = text.partition(" ")
    return Rounds(int(number), 0) if unit == "rows" else Rounds(0, int(number))


def read_duration(text: object, name: str) -> int:
    """Return a duration such as ``"15min"`` or ``"30d"`` in microseconds."""
    found = re.fullmatch(r"\s*([1-9][0-9]{0,5})\s*(s|min|h|d)\s*", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{name} is {text!r}; give a duration in s, min, h or d, such as '15min' or '30d'.")
    return int(found[1]) * _SECONDS[found[2]] * 1_000_000
