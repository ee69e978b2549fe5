"""The advice of a backtest, in one sentence."""

import re
from collections.abc import Sequence

from baserate.backtesting.blocks import Change
from baserate.backtesting.replay import Trust

USE, NO_DIFFERENCE, DO_NOT_USE = "use", "no difference", "do not use"


def verdict(change: Change) -> str:
    """The verdict on a change of the error rate: ``"use"``, ``"no difference"`` or ``"do not use"``."""
    return (USE if change.value < 0 else DO_NOT_USE) if change.clear else NO_DIFFERENCE


def advice(
    errors: tuple[float, float],
    change: Change,
    log_losses: tuple[float, float],
    log_loss_change: Change,
    hindsight: Change,
    trust: Trust,
    names: Sequence[str],
    level: float,
) -> str:
    """Say in one sentence what to do.

    Parameters
    ----------
    errors, log_losses : (float, float)
        The means of doing nothing, and of the default adapter.
    change, log_loss_change : Change
        The changes from the one to the other.
    hindsight : Change
        The change of the error, had the class mix been known.
    trust : Trust
        The warnings of the adapter.
    names : sequence of str
        The names of the classes.
    level : float
        The level of the limits.
    """
    figures = (
        f"error {_percent(errors[0])} -> {_percent(errors[1])} ({100 * change.value:+.1f} points, {100 * level:g} % "
        f"interval {100 * change.low:+.1f} to {100 * change.high:+.1f})"
    )
    alarm = _alarm(trust, names)
    found = verdict(change)
    if found == USE:
        if alarm:
            return f"Use it, but keep an eye on it: {figures}, although {alarm}."
        return f"Use it: {figures}."
    if found == DO_NOT_USE:
        return f"Do not use it: {figures}{f', and {alarm}: retrain the model' if alarm else ''}."
    said = f"No clear difference: {figures}"
    if log_loss_change.clear:
        what = "better" if log_loss_change.value < 0 else "worse"
        said += f", though its probabilities are {what} (log loss {log_losses[0]:.3f} -> {log_losses[1]:.3f})"
    if alarm:
        return f"{said}, and {alarm}: look at the data, and think of retraining."
    if log_loss_change.clear and log_loss_change.value < 0:
        return f"{said}; use it if you use the probabilities, else leave the model alone."
    if hindsight.clear and hindsight.value < 0:
        return (
            f"{said}; leave the model alone or collect a larger holdout, because knowing the class mix would have "
            f"helped ({100 * hindsight.value:+.1f} points)."
        )
    return f"{said}, and knowing the class mix would not have helped either; leave the model alone."


def _alarm(trust: Trust, names: Sequence[str]) -> str:
    """A clause that says that the stream is no label shift, and why; empty if there was no alarm."""
    if trust.since is None:
        return ""
    why = f" ({with_names(trust.why, names)})" if trust.why else ""
    return f"from round {trust.since + 1:,} on the stream does not look like label shift{why}"


def with_names(text: str, names: Sequence[str]) -> str:
    """Put the names of classes into a finding, which has their numbers.

    Examples
    --------
    >>> with_names("doubt among predictions of class 1 is too high", ["ham", "spam"])
    "doubt among predictions of 'spam' is too high"
    """
    return re.sub(r"\bclass (\d+)\b", lambda match: repr(names[int(match[1])]), text)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
