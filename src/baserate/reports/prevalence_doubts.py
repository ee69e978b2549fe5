"""Warnings where a log speaks against the class mix in hindsight, for the terminal and for reports."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from baserate.backtesting.sentence import with_names
from baserate.files.errors import listed, shortened
from baserate.files.prevalence import KeyedDoubts
from baserate.smoothing.doubts import FALSE_ALARM


class Advice(NamedTuple):
    """What a warning asks the reader to do; it depends on what was asked for.

    Attributes
    ----------
    alarm, contradiction : str
        Sentences after the alarm, and after the contradiction.
    """

    alarm: str
    contradiction: str


WITH_AUDITS = Advice(
    "From then on, do not rely on the shares counted, tracked or in hindsight. The share by audits and model does not "
    "depend on label shift, if rows were chosen for audits at random.",
    "The share and its limits are by audits and model, and hold if rows were chosen for audits at random. Do not use "
    "the share in hindsight.",
)
WITHOUT_AUDITS = Advice(
    "From then on, do not rely on any of these shares. Have some rows of each period audited, chosen at random, and "
    "name the column of their labels with --labels.",
    "",
)
OF_PREDICTIONS = Advice(
    "From then on, the adapted probabilities may be worse than the model's own. Adapt the file without --hindsight: "
    "then the correction is reduced where it does harm.",
    "If rows were chosen for labels at random, the adapted probabilities may be worse than the model's own. Adapt the "
    "file without --hindsight: then the correction is reduced where it does harm.",
)


def warnings_of(found: Sequence[KeyedDoubts], names: Sequence[str], advice: Advice) -> list[str]:
    """Return a sentence or two for each kind of doubt; none where there is no doubt.

    Parameters
    ----------
    found : sequence of KeyedDoubts
        The doubts of each key.
    names : sequence of str
        The classes.
    advice : Advice
    """
    alarmed = [each for each in found if each.doubts.alarm_since is not None]
    # A log of many keys is many looks at chance.
    refuted = sorted((each for each in found if _chance(each) <= FALSE_ALARM / len(found)), key=_chance)
    said = []
    if alarmed:
        said.append(f"{_alarm(alarmed[0], names)}{_also(alarmed, len(found))}. {advice.alarm}")
    if refuted:
        said.append(f"{_contradiction(refuted[0], names)}{_also(refuted, len(found))}. {advice.contradiction}")
    return said


def named_period(name: str) -> str:
    """Name a period within a sentence: a date is where one begins."""
    return name if name.startswith(("rows ", "round ")) else f"the period from {name}"


def _chance(each: KeyedDoubts) -> float:
    found = each.doubts.contradiction
    return 1.0 if found is None else found.chance


def _in(key: str) -> str:
    return f" in {shortened(key)}" if key else ""


def _also(some: Sequence[KeyedDoubts], n_keys: int) -> str:
    """The keys with the same doubt, after the one that was told about."""
    others = [each.key for each in some[1:]]
    return f" (also in {listed(others, 5)}: {len(some):,} of {n_keys:,} keys)" if others else ""


def _alarm(each: KeyedDoubts, names: Sequence[str]) -> str:
    why = with_names(each.doubts.alarm_why, names)
    since = named_period(each.periods[each.doubts.alarm_since or 0])
    return f"ALARM{_in(each.key)} since {since}: drift beyond the class mix{why and f': {why}'}"


def _contradiction(each: KeyedDoubts, names: Sequence[str]) -> str:
    found = each.doubts.contradiction
    assert found is not None
    where = _span(each.periods[found.first], each.periods[found.last])
    low, high = math.floor(found.low), math.ceil(found.high)
    return (
        f"Labels contradict hindsight{_in(each.key)}: of {found.labels:,.0f} labelled rows {where}, {found.found:,.0f} "
        f"are {names[found.label]!r}, and its limits allow {low:,} to {high:,}"
    )


def _span(first: str, last: str) -> str:
    if first == last:
        return f"in {named_period(first)}"
    if first.startswith("rows "):
        return f"among {first.partition(' to ')[0]} to {last.partition(' to ')[2]}"
    return f"from {first} to {last}" if first.startswith("round ") else f"in the periods from {first} to {last}"
