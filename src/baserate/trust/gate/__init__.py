"""Gate, and the rehearsal of a correction on the holdout."""

from baserate.trust.gate.gate import FAR, IN_DOUBT, Gate, alarm_lasts

__all__ = ["FAR", "IN_DOUBT", "Gate", "alarm_lasts"]
