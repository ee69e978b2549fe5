"""AssumptionCheck, the test of label shift, with its parts: test functions, schedule, evidence and findings."""

from baserate.trust.assumption.check import FEWEST, MOST_CLASSES, AssumptionCheck
from baserate.trust.assumption.findings import Finding

__all__ = ["FEWEST", "MOST_CLASSES", "AssumptionCheck", "Finding"]
