"""UnknownMass, and the score of how odd a row of probabilities is."""

from baserate.trust.unknown.unknown_mass import UnknownMass

__all__ = ["UnknownMass"]
