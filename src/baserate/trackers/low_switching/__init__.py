"""LowSwitching, and the calibration of its test for change."""

from baserate.trackers.low_switching.tracker import LowSwitching

__all__ = ["LowSwitching"]
