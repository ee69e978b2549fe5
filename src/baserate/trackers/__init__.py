"""Trackers follow a drifting vector from noisy sightings (the paper's online regression oracles)."""

from baserate.trackers.flhftl import FLHFTL
from baserate.trackers.follow_the_fixed_window import FollowTheFixedWindow
from baserate.trackers.follow_the_history import FollowTheHistory
from baserate.trackers.last_sighting import LastSighting

__all__ = ["FLHFTL", "FollowTheFixedWindow", "FollowTheHistory", "LastSighting"]
