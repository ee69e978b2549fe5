"""Marginal estimators turn one unlabelled batch into a noisy sighting of the class mix."""

from baserate.marginals.bbse import BBSE
from baserate.marginals.mlls import MLLS
from baserate.marginals.rlls import RLLS

__all__ = ["BBSE", "MLLS", "RLLS"]
