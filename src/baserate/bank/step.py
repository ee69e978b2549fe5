"""The result of a round of many keys, and their flags."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import FloatArray, Key
from baserate.trust.keyed import KeySigns


class BankStep(NamedTuple):
    """Result of one round: adapted probabilities in the order of the rows, and for each key what they were made with.

    Attributes
    ----------
    proba : (n, k) array
    keys : list
        The keys, each once, in the order of their first rows.
    prior : (m, k) array
        The class mix of each key, as tracked before the round.
    signs : KeySigns
        The trust signals of each key before the round.
    """

    proba: FloatArray
    keys: list[Key]
    prior: FloatArray
    signs: KeySigns

    @property
    def flags(self) -> dict[str, NDArray[np.bool_]]:
        """``"fallback"`` and ``"alarm"`` of each key, as in `Step.flags`."""
        return {"fallback": self.signs.fallback, "alarm": self.signs.alarm}
