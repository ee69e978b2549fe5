"""AssumptionCheck, the test of label shift, with its parts: what is tested, when, and how findings are worded."""

from baserate.trust.assumption.check import FEWEST, MOST_CLASSES, AssumptionCheck
from baserate.trust.assumption.findings import Finding

__all__ = ["FEWEST", "MOST_CLASSES", "AssumptionCheck", "Finding"]
