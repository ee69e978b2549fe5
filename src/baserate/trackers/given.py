"""Trackers as users give them: an instance, which is cloned, or a class, which is built for the number of classes."""

from collections.abc import Mapping
from typing import Any

from baserate.parameters import clone
from baserate.protocols import EvidenceTracker, Tracker
from baserate.state.declarations import ClassOf, Either, Maybe, Part, Size
from baserate.validation import check_has_methods


def saved_tracker(sizes: Mapping[str, Size] | None = None) -> Maybe:
    """Return the declaration of a parameter that is a tracker, a class of trackers, or None."""
    return Maybe(Either((ClassOf(Tracker), Part(Tracker, sizes or {}))))


def new_tracker(given: Any, n_classes: int, whose: str) -> Tracker:
    """Return a tracker of its own, made from one that a user has given, or from a class of trackers.

    Parameters
    ----------
    given : Tracker or type
        A tracker, which is cloned, or a class, which is called with the number of classes.
    n_classes : int
        The number of classes to follow.
    whose : str
        What has so many classes, for an error: "the holdout".
    """
    tracker: Tracker = build(given, n_classes) if isinstance(given, type) else given
    check_has_methods(tracker, "tracker", Tracker, "predict, update and reset")
    if tracker is given:
        tracker = clone(tracker)
    follows = len(tracker.predict())
    if follows != n_classes:
        raise ValueError(
            f"tracker follows {follows} classes; {whose} has {n_classes}. Construct it with n_classes={n_classes}, or "
            f"give the class itself: tracker={type(tracker).__name__}."
        )
    return tracker


def build(cls: type, n_classes: int) -> Any:
    """Return a tracker of a class, with the defaults of its other parameters."""
    try:
        return cls(n_classes)
    except TypeError as error:
        raise TypeError(
            f"tracker is the class {cls.__name__}, which cannot be built from the number of classes alone ({error}); "
            "give an instance."
        ) from None


def reads_estimates(tracker: Any) -> bool:
    """Return True if a tracker, or a class of trackers, reads estimates of the class mix, not only samples."""
    if isinstance(tracker, type):
        return bool(getattr(tracker, "reads_sightings", True))
    return not isinstance(tracker, EvidenceTracker) or tracker.reads_sightings
