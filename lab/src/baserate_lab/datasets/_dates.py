"""Dates of mails and papers as seconds; a date without a time zone is taken as UTC."""

import calendar
from email.utils import parsedate_tz


def seconds(text: str) -> int | None:
    """Seconds since 1970 of a date such as ``Mon, 2 Apr 2007 19:18:42 GMT``; None if the text is not a date."""
    parts = parsedate_tz(text)
    if parts is None:
        return None
    try:
        return calendar.timegm((*parts[:6], 0, 1, 0)) - (parts[9] or 0)
    except (ValueError, OverflowError):
        return None
