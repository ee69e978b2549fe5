"""Gate, and the rehearsal of a correction on the holdout."""

from baserate.trust.gate.gate import FAR, Gate

__all__ = ["FAR", "Gate"]
