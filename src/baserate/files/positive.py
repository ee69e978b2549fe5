"""The positive class of a model with two classes: the one that a score, a threshold or a pair of costs is about."""

from collections.abc import Sequence
from shlex import quote

from baserate.files.errors import listed

_USUAL = ("1", "true", "yes", "y", "positive", "pos")


def positive_class(names: Sequence[str], positive: str | None = None) -> int:
    """The place of the positive class among two: the one that ``--positive`` names, or that has a usual name.

    Examples
    --------
    >>> positive_class(["good", "fraud"], "fraud"), positive_class(["1", "0"])
    (1, 0)
    """
    if len(names) != 2:
        raise ValueError(
            f"a positive class needs a model of two classes; this one has {len(names):,}: {listed(names)}. "
            "Leave --positive out."
        )
    if positive is not None:
        if positive not in names:
            raise ValueError(f"--positive {positive} is no class; give one of {listed(names)}.")
        return list(names).index(positive)
    usual = [i for i, name in enumerate(names) if name.lower() in _USUAL]
    if len(usual) != 1:
        raise ValueError(
            f"which class is the positive one, {names[0]} or {names[1]}? Add --positive {quote(names[0])} or "
            f"--positive {quote(names[1])}."
        )
    return usual[0]
