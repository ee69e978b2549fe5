"""Abilities that not every tracker has: each function returns a tracker that has one, and refuses others."""

from baserate.protocols import CorrectableTracker, IdlingTracker, RestartableTracker, Tracker


def correctable(tracker: Tracker) -> CorrectableTracker:
    """A tracker that can correct itself; others are refused."""
    if not isinstance(tracker, CorrectableTracker):
        raise TypeError(
            f"ids: {type(tracker).__name__} cannot take back what it has counted. Use LikelihoodMixture, or "
            "give labels with their batch."
        )
    return tracker


def restartable(tracker: Tracker) -> RestartableTracker:
    """A tracker that can start from a given class mix; others are refused."""
    if not isinstance(tracker, RestartableTracker):
        raise TypeError(f"{type(tracker).__name__} cannot start from a given prior; it has no method restart(birth).")
    return tracker


def idling(tracker: Tracker) -> IdlingTracker:
    """A tracker that can let rounds without samples pass; others are refused."""
    if not isinstance(tracker, IdlingTracker):
        raise TypeError(f"{type(tracker).__name__} counts rounds with samples alone; it has no method idle.")
    return tracker
