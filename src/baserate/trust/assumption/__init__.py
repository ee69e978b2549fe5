"""AssumptionCheck, the test of label shift, with its parts: test functions, schedule, evidence and findings."""

from baserate.trust.assumption.check import FEWEST, AssumptionCheck
from baserate.trust.assumption.findings import Finding
from baserate.trust.assumption.requirements import MOST_CLASSES

__all__ = ["FEWEST", "MOST_CLASSES", "AssumptionCheck", "Finding"]
