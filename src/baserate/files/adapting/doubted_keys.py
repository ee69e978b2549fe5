"""The keys of a file that are in doubt, and the bands of the others."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from baserate.bank import Bank
from baserate.files.adapting.state import StreamState
from baserate.files.adapting.tracked_keys import KeyPath
from baserate.files.shares import percent_range

CHANGED, IN_ALARM, REPEATS = "drift beyond the class mix", "in alarm, perhaps by chance", "rows repeat each other"


class DoubtedKey(NamedTuple):
    """A key in doubt.

    Attributes
    ----------
    key : str
    rows : int
        Its rows so far, in all files.
    why : str
        One of the constants above, or two of them.
    evidence : float
        Against label shift.
    weight : float
        The part of its correction that is used.
    """

    key: str
    rows: int
    why: str
    evidence: float
    weight: float


def doubted_keys(bank: Bank) -> list[DoubtedKey]:
    """Return the keys in doubt: those of `Bank.changed_keys`, then others in alarm, then those that repeat rows."""
    keys, signs = bank.keys, bank.signs()
    place = {key: i for i, key in enumerate(keys)}
    changed = [place[key] for key in bank.changed_keys()]
    kinds: dict[int, list[str]] = {i: [CHANGED] for i in changed}
    for i in np.flatnonzero(signs.alarm).tolist():
        kinds.setdefault(i, [IN_ALARM])
    for i in np.flatnonzero(signs.dependent).tolist():
        kinds.setdefault(i, []).append(REPEATS)
    return [
        DoubtedKey(
            str(keys[i]), int(signs.rows[i]), ", and ".join(why), float(signs.evidence[i]),
            float(signs.correction_weight[i]),
        )
        for i, why in kinds.items()
    ]  # fmt: skip


def key_bands(state: StreamState, level: float) -> Callable[[KeyPath], str]:
    """Return a function that tells the band of a key's class now, in words; "-" where keys are not watched."""
    bank, names = state.bank, state.classes.names
    if bank is None or bank.adapter.alpha is None:
        return lambda _: "-"
    keys = {str(key): key for key in bank.keys}

    def told(path: KeyPath) -> str:
        low, high = bank.prior_interval([keys[path.key]], level)[0, names.index(path.name)]
        return percent_range(low, high)

    return told
