"""The class mix of every round of a complete log, estimated from all of its rounds."""

from baserate.smoothing.prevalence import Prevalence, prevalence
from baserate.smoothing.smoothed import Smoothed, smooth

__all__ = ["Prevalence", "Smoothed", "prevalence", "smooth"]
