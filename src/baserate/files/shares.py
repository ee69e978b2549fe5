"""Shares in words: as few digits as tell them, and enough for rare classes."""

import math

_LEAST = 1e-5  # below, a share is only said to be small


def percent(share: float, *, unit: str = " %") -> str:
    """A share in percent: one digit after the point, and more only for what is rarer than one in a thousand.

    Examples
    --------
    >>> percent(0.098), percent(0.0081), percent(0.00062), percent(0.99971), percent(0.0)
    ('9.8 %', '0.8 %', '0.06 %', '99.97 %', '0 %')
    >>> percent(0.000002)
    '< 0.001 %'
    """
    return _written(share, _digits(share), unit)


def percents_apart(first: float, second: float) -> tuple[str, str]:
    """Two shares in percent, with as many digits as it takes to see that they differ.

    Examples
    --------
    >>> percents_apart(0.0081, 0.0084), percents_apart(0.008, 0.098)
    (('0.81 %', '0.84 %'), ('0.8 %', '9.8 %'))
    """
    for more in range(4):
        shown = tuple(_written(share, _digits(share) + more, " %") for share in (first, second))
        if shown[0] != shown[1]:
            break
    if shown[0] == shown[1] and shown[0].startswith("<"):
        least = -math.floor(math.log10(100 * min(first, second)))  # the first digit of the smaller that is not 0
        for digits in range(least, least + 4):
            shown = tuple(f"{100 * share:.{digits}f} %" for share in (first, second))
            if shown[0] != shown[1]:
                break
    return shown[0], shown[1]


def percent_range(low: float, high: float) -> str:
    """A band in percent.

    Examples
    --------
    >>> percent_range(0.006, 0.0132), percent_range(0.0, 0.0004)
    ('0.6 to 1.3 %', '0 to 0.04 %')
    >>> percent_range(0.000002, 0.053)
    '0.0 to 5.3 %'
    """
    if 0.0 < low < 0.01 * high:  # digits of it would say nothing beside the other
        return f"{100 * low:.{_digits(high)}f} to {percent(high)}"
    return f"{percent(low, unit='')} to {percent(high)}"


def _digits(share: float) -> int:
    rarer = min(share, 1.0 - share)
    if rarer <= 0.0 or rarer >= 9.5e-4:
        return 1
    return min(-math.floor(math.log10(1.05 * rarer)) - 2, 3)


def _written(share: float, digits: int, unit: str) -> str:
    if share <= 0.0 or share >= 1.0:
        return f"{100 * min(max(share, 0.0), 1.0):.0f}{unit}"
    if share < _LEAST / 2:
        return f"< {100 * _LEAST:g}{unit}"
    return f"{100 * share:.{digits}f}{unit}"
