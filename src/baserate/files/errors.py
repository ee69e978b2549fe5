"""The error of a file that cannot be used: which file, which row, which column, what is wrong, and what to do."""

import difflib
import unicodedata
from collections.abc import Sequence
from pathlib import Path


class FileProblemError(ValueError):
    """A file cannot be used.

    Parameters
    ----------
    file : str
        Its name as the user gave it.
    what : str
        The problem and its remedy, as a sentence without its full stop.
    row : int, optional
        The row, counted from 0; shown counted from 1.
    column : str, optional
        The column's name.
    """

    def __init__(self, file: str, what: str, *, row: int | None = None, column: str | None = None) -> None:
        where = [file]
        if row is not None:
            where.append(f"row {row + 1:,}")
        if column is not None:
            where.append(f"column {shortened(column)}")
        super().__init__(f"{', '.join(where)}: {what}{'' if what.endswith('?') else '.'}")


def printable(text: str) -> str:
    r"""A text in which characters that a terminal would obey, not show, are written with backslashes.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    # Control characters, invisible ones that change the direction, line ends, halves of characters, and unknown ones.
    dangerous = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs", "Cn")
    return character.encode("unicode_escape").decode() if dangerous else character


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A question after a name that is not known, or nothing.

    Examples
    --------
    >>> did_you_mean("lable", ["id", "label"])
    '; did you mean label?'
    """
    return _question(name.lower(), {other.lower(): other for other in reversed(known)})


def did_you_mean_file(name: str, known: Sequence[str]) -> str:
    """The same for files, which are compared without their suffixes: these make any two alike.

    Examples
    --------
    >>> did_you_mean_file("steam.csv", ["stream.csv"]), did_you_mean_file("nosuch.csv", ["epoch.csv"])
    ('; did you mean stream.csv?', '')
    """
    stem, _, suffix = name.lower().partition(".")
    others = sorted(known, key=lambda other: other.lower().endswith(suffix))  # of two with one stem, the last counts
    return _question(stem, {other.lower().partition(".")[0]: other for other in others})


def _question(name: str, known: dict[str, str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean {shortened(known[close[0]])}?" if close else ""


def check_page_name(path: Path, option: str) -> None:
    """Refuse a name for a report that promises anything but a page."""
    if path.suffix.lower() not in ("", ".html", ".htm"):
        raise ValueError(f"{option} {path}: a report is a page of HTML; write {option} {path.with_suffix('.html')}")


def shortened(name: str, most: int = 60) -> str:
    """A name that may be long, for a message."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def listed(names: Sequence[str], most: int = 10) -> str:
    """Names, the first few of them."""
    shown = ", ".join(shortened(name) for name in names[:most])
    return shown + (f", ... ({len(names):,} in all)" if len(names) > most else "")
