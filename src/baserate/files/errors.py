"""The error of a file that cannot be used: which file, which row, which column, what is wrong, and what to do."""

from collections.abc import Sequence


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
        super().__init__(f"{', '.join(where)}: {what}.")


def shortened(name: str, most: int = 60) -> str:
    """A name that may be long, for a message."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def listed(names: Sequence[str], most: int = 10) -> str:
    """Names, the first few of them."""
    shown = ", ".join(shortened(name) for name in names[:most])
    return shown + (f", ... ({len(names):,} in all)" if len(names) > most else "")
