"""Marginal estimators: estimate the class mix of one unlabelled batch."""

from baserate.marginals.bbse import BBSE
from baserate.marginals.mlls import MLLS
from baserate.marginals.rlls import RLLS

__all__ = ["BBSE", "MLLS", "RLLS"]
