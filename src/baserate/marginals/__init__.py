"""Marginal estimators turn one unlabelled batch into a noisy sighting of the class mix."""

from baserate.marginals.bbse import BBSE

__all__ = ["BBSE"]
