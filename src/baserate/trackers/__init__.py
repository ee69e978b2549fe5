"""Trackers: follow a drifting vector, such as the class mix, from noisy estimates (the paper's regression oracles)."""

from baserate.trackers.aligator import Aligator
from baserate.trackers.arrows import Arrows
from baserate.trackers.flhftl import FLHFTL
from baserate.trackers.follow_the_fixed_window import FollowTheFixedWindow
from baserate.trackers.follow_the_history import FollowTheHistory
from baserate.trackers.last_sighting import LastSighting
from baserate.trackers.likelihood_mixture import LikelihoodMixture
from baserate.trackers.low_switching import LowSwitching
from baserate.trackers.online_gradient_descent import OnlineGradientDescent

__all__ = [
    "FLHFTL",
    "Aligator",
    "Arrows",
    "FollowTheFixedWindow",
    "FollowTheHistory",
    "LastSighting",
    "LikelihoodMixture",
    "LowSwitching",
    "OnlineGradientDescent",
]
