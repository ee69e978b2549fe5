"""Gate, with its parts: bets on labelled samples, and the rehearsal of a correction on the holdout."""

from baserate.trust.gate.gate import FAR, Gate

__all__ = ["FAR", "Gate"]
