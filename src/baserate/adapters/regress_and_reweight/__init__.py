"""RegressAndReweight and its parts; `adapter.py` has a round from top to bottom."""

from baserate.adapters.regress_and_reweight.adapter import RegressAndReweight
from baserate.adapters.regress_and_reweight.label_requests import LabelRequests, LabelWorth
from baserate.adapters.regress_and_reweight.late_labels import RepeatedIdError

__all__ = ["LabelRequests", "LabelWorth", "RegressAndReweight", "RepeatedIdError"]
