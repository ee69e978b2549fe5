"""The advice of a backtest, in one sentence."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from baserate.backtesting.blocks import Change
from baserate.backtesting.measures import Measure
from baserate.backtesting.replay import Trust
from baserate.backtesting.scores import Score

USE, NO_DIFFERENCE, DO_NOT_USE, SIMPLER = "use", "no difference", "do not use", "something simpler"


class Anchor(NamedTuple):
    """Something simpler than the default, which is done once.

    Attributes
    ----------
    what : str
        The thing to do, as a command.
    score : Score
        Its score.
    beyond : Change
        The change from it to the default, in the measure of the verdict.
    """

    what: str
    score: Score
    beyond: Change


def verdict(change: Change) -> str:
    """The verdict on a change of what is to be small: ``"use"``, ``"no difference"`` or ``"do not use"``."""
    return (USE if change.value < 0 else DO_NOT_USE) if change.clear else NO_DIFFERENCE


def simpler(measure: Measure, anchors: Sequence[Anchor]) -> Anchor | None:
    """The best of the anchors that clearly help, if the default is not clearly better; else None."""
    helping = [anchor for anchor in anchors if verdict(measure.change_of(anchor.score)) == USE]
    best = min(helping, key=lambda anchor: measure.of(anchor.score), default=None)
    return None if best is None or verdict(best.beyond) == USE else best


def advice(
    measure: Measure,
    nothing: Score,
    default: Score,
    hindsight: Score,
    anchors: Sequence[Anchor],
    trust: Trust,
    names: Sequence[str],
    level: float,
) -> str:
    """Say in one sentence what to do.

    Parameters
    ----------
    measure : Measure
        The verdict is by this.
    nothing, default, hindsight : Score
        The scores of doing nothing, of the default adapter, and of the class mix in hindsight.
    anchors : sequence of Anchor
        Simpler things to do.
    trust : Trust
        The warnings of the adapter.
    names : sequence of str
        The names of the classes.
    level : float
        The level of the limits.
    """
    before, change = measure.of(nothing), measure.change_of(default)

    def from_nothing(score: Score) -> str:
        found = measure.change_of(score)
        return (
            f"{measure.title} {measure.shown(before)} -> {measure.shown(measure.of(score), before)} "
            f"({measure.shown_change(found, before)}, {100 * level:g} % interval {measure.limits(found, before)})"
        )

    figures, alarm, enough = from_nothing(default), _alarm(trust, names), simpler(measure, anchors)
    if enough is not None:
        worse = verdict(enough.beyond) == DO_NOT_USE
        return (
            f"{enough.what}: {from_nothing(enough.score)}. To follow the class mix as well "
            f"{'does worse' if worse else 'makes no clear difference'} ({measure.shown_change(enough.beyond, before)}, "
            f"{measure.limits(enough.beyond, before)}){f', and {alarm}' if alarm else ''}."
        )
    found = verdict(change)
    if found == USE:
        if alarm:
            return f"Use it, but keep an eye on it: {figures}, although {alarm}."
        return f"Use it: {figures}."
    if found == DO_NOT_USE:
        return f"Do not use it: {figures}{f', and {alarm}: retrain the model' if alarm else ''}."
    said = f"No clear difference: {figures}"
    of_decisions = measure.key in ("error", "cost")
    probabilities = default.log_loss_change
    if of_decisions and probabilities.clear:
        what = "better" if probabilities.value < 0 else "worse"
        said += f", though its probabilities are {what} (log loss {nothing.log_loss:.3f} -> {default.log_loss:.3f})"
    if alarm:
        return f"{said}, and {alarm}: look at the data, and think of retraining."
    if of_decisions and probabilities.clear and probabilities.value < 0:
        return f"{said}; use it if you use the probabilities, else leave the model alone."
    known = measure.change_of(hindsight)
    if known.clear and known.value < 0:
        return (
            f"{said}; leave the model alone or collect a larger holdout, because knowing the class mix would have "
            f"helped ({measure.shown_change(known, before)})."
        )
    return f"{said}, and knowing the class mix would not have helped either; leave the model alone."


def _alarm(trust: Trust, names: Sequence[str]) -> str:
    """A clause that says that the stream is no label shift, and why; empty if there was no alarm."""
    if trust.since is None:
        return ""
    why = f" ({with_names(trust.why, names)})" if trust.why else ""
    return f"from round {trust.since + 1:,} on the stream does not look like label shift{why}"


def with_names(text: str, names: Sequence[str]) -> str:
    """Put the names of classes into a finding or a warning, which has their numbers.

    Examples
    --------
    >>> with_names("doubt among predictions of class 1 is too high", ["ham", "spam"])
    "doubt among predictions of 'spam' is too high"
    >>> with_names("the model hardly tells classes 0, 1 apart", ["ham", "spam"])
    "the model hardly tells 'ham', 'spam' apart"
    """

    def named(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[1].split(", ")]
        known = all(number < len(names) for number in numbers)
        return ", ".join(repr(names[number]) for number in numbers) if known else match[0]

    # Names that are there already may look like numbers of classes, such as 'class 1'.
    quoted = "|".join(re.escape(repr(name)) for name in sorted(names, key=len, reverse=True))
    parts = re.split(f"({quoted})", text)
    parts[::2] = [re.sub(r"\bclass(?:es)? (\d+(?:, \d+)*)\b", named, part) for part in parts[::2]]
    return "".join(parts)
