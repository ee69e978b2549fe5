"""Portfolio: corrections that run side by side, mixed by how well they predict the labels that come."""

from baserate.trust.portfolio.candidates import CANDIDATES
from baserate.trust.portfolio.portfolio import Blend, Portfolio, Proposals

__all__ = ["CANDIDATES", "Blend", "Portfolio", "Proposals"]
