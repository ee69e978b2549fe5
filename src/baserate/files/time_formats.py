"""The formats that time stamps may be written in, where they are not ISO 8601: guessed, to be confirmed by the user."""

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from baserate.protocols import FloatArray

_DATES = (
    "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", "%m.%d.%Y", "%Y.%m.%d", "%d-%m-%Y", "%m-%d-%Y",
    "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%Y%m%d",
    "%d %b %Y", "%d %B %Y", "%b %d %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%a, %d %b %Y",
)  # fmt: skip
_CLOCKS = (
    "", " %H:%M:%S", " %H:%M", " %H:%M:%S.%f", " %I:%M:%S %p", " %I:%M %p", "T%H:%M:%S", "T%H:%M", ":%H:%M:%S",
    ", %H:%M:%S", ", %H:%M", ", %I:%M:%S %p", ", %I:%M %p",
)  # fmt: skip
_WHOLE = ("%Y%m%d%H%M%S", "%Y%m%d%H%M", "%Y%m%d%H", "%Y%m", "%a %b %d %H:%M:%S %Y", "%a %b %d %Y %H:%M:%S")
_DIGITS = re.compile("%Y%m(%[dHMS])*")  # each of two digits, and the year of four
_MOST = 3


def likely_formats(texts: Sequence[str]) -> list[str]:
    """The formats that fit all of some time stamps; several where day and month can be told by none of them.

    Examples
    --------
    >>> likely_formats(["03/01/2026", "04/01/2026"]), likely_formats(["03/01/2026", "13/01/2026"])
    (['%d/%m/%Y', '%m/%d/%Y'], ['%d/%m/%Y'])
    """
    distinct = list(dict.fromkeys(text.strip() for text in texts))[:200]
    if not distinct:
        return []
    every = [*(date + clock for date in _DATES for clock in _CLOCKS), *_WHOLE]
    zoned = [form + zone for form in every if "%H" in form or "%I" in form for zone in ("%z", " %z")]
    return [form for form in [*every, *zoned] if all(_fits(text, form) for text in distinct)][:_MOST]


def _fits(text: str, form: str) -> bool:
    digits = _DIGITS.match(form)
    if digits and len(text) - len(text.lstrip("0123456789")) != len(digits[0]) + 2:  # fewer would do for it, too
        return False
    try:
        found = datetime.strptime(text, form)
    except ValueError:
        return False
    return 1900 <= found.year <= 2100


def spreadsheet_dates(numbers: FloatArray) -> bool:
    """Tell whether numbers are days since 1900, as spreadsheets have them, from 1995 to 2064, with a time of day.

    Examples
    --------
    >>> import numpy as np
    >>> spreadsheet_dates(np.array([46025.58, 46026.0])), spreadsheet_dates(np.array([46025.0, 46026.0]))
    (True, False)
    """
    return bool(len(numbers) and (numbers % 1.0 > 0.0).any() and ((numbers > 34_700) & (numbers < 60_200)).all())


def dates_in_numbers(numbers: FloatArray) -> bool:
    """Tell whether numbers are dates without separators: 20260301, 202603, or with a clock, 2026030112 and longer.

    Examples
    --------
    >>> import numpy as np
    >>> dates_in_numbers(np.array([20260301.0, 20260302.0])), dates_in_numbers(np.array([20260301.0, 20269999.0]))
    (True, False)
    """
    if not len(numbers) or (numbers != np.floor(numbers)).any():
        return False
    for digits in (6, 8, 10, 12, 14):
        if ((numbers >= 10.0 ** (digits - 1)) & (numbers < 10.0**digits)).all():
            whole = numbers.astype(np.int64)
            year, month = whole // 10 ** (digits - 4), whole // 10 ** (digits - 6) % 100
            found = (year >= 1900) & (year <= 2100) & (month >= 1) & (month <= 12)
            if digits >= 8:
                day = whole // 10 ** (digits - 8) % 100
                found &= (day >= 1) & (day <= 31)
            for clock, end in ((10, 24), (12, 60), (14, 60)):
                if digits >= clock:
                    found &= whole // 10 ** (digits - clock) % 100 < end
            return bool(found.all())
    return False
