"""Advice after an error of the command line: the option that was meant."""

from typing import Any

_LABELS = ("--label", "--labels", "--holdout-label", "--holdout-labels", "--target", "--truth", "--y", "--outcome")
_ADAPT = "--holdout-label COL is the column of labels in the holdout, and --labels COL that of labels in STREAM, if any"
_PREVALENCE = "--holdout-label COL is the column of labels in the holdout, and --labels COL that of audited rows in LOG"
_BACKTEST = "the column of true labels is --label COL"

_SHARES = ("threshold", "level", "holdout_share")


def advice(error: Any) -> str:
    """Say what to type instead, after an error of typer's; empty where its own message is enough.

    Typer's errors have no common class with a public name in all of its versions, so they are told by what they have.

    Examples
    --------
    >>> advice(ValueError("another error"))
    ''
    """
    command = getattr(getattr(error, "ctx", None), "info_name", None)
    of_labels = {"adapt": _ADAPT, "prevalence": _PREVALENCE, "backtest": _BACKTEST}.get(str(command))
    option = getattr(error, "option_name", None)
    if of_labels is not None and option in _LABELS:
        return f"{option} is no option here: {of_labels}"
    missing = getattr(getattr(error, "param", None), "name", None)
    if command == "backtest" and missing == "label":
        return f"--label is missing: {_BACKTEST}, such as --label outcome"
    if command == "adapt" and missing == "out":
        return "--out is missing: the file to write is -o FILE, such as -o adapted.csv"
    said = error.format_message() if hasattr(error, "format_message") else ""
    if command == "adapt" and "unexpected extra argument" in said:
        return f"{said.rstrip('.')}; one file is adapted at a time, and labelled rows are given with --holdout FILE"
    if missing in _SHARES and "valid number" in said:
        return f"--{missing.replace('_', '-')} takes a number between 0 and 1, without a sign: 5 % is 0.05"
    return ""
