"""The methods that are compared: doing nothing, the default, every tracker, and the class mix in hindsight."""

from collections.abc import Collection

import baserate.trackers
from baserate.adapters import Base, Oracle, RegressAndReweight
from baserate.protocols import BankableTracker, FloatArray, Tracker

Method = Base | RegressAndReweight | Oracle
NOTHING, DEFAULT, CALIBRATED, HINDSIGHT = "doing nothing", "baserate", "calibration alone", "mix in hindsight"
TUNED = "tuned threshold"
TITLES = {"FLHFTL": "FLH-FTL"}
MODES = {"FLHFTL": {"window": {"experts": "window"}}}
"""Modes of trackers that are methods of their own, beside the default."""
LONG = 200_000
"""Rounds of a log from which on trackers are only replayed by name: each of them takes half a minute and more."""
_GROWING = 2e10  # rounds squared times classes, for trackers whose rounds take longer and longer: about as long

DESCRIPTIONS = {
    NOTHING: "The model left alone; decisions are by its own probabilities, with the same costs or threshold.",
    DEFAULT: "`RegressAndReweight()` with its defaults, as in `baserate adapt`: calibrated, tracked, and reduced by "
    "its gate where the correction could do harm.",
    CALIBRATED: "The model's probabilities, calibrated on the holdout and not re-weighted: the part of the gain that "
    "has nothing to do with the class mix.",
    TUNED: "The model left alone, and its threshold moved once: to where it would have cost least on the holdout.",
    HINDSIGHT: "Re-weights to the label frequencies of the rounds around each, before and after it, but without the "
    "round itself. Nobody has these labels in time. Roughly the best that re-weighting could have achieved; not a "
    "strict bound.",
}
TRACKERS = "The trackers re-weight to the class mix that they estimate, without the gate of the default."


def every_tracker(n_classes: int) -> dict[str, Tracker]:
    """One instance of every exported tracker, and of its further modes, by display name."""
    found: dict[str, Tracker] = {}
    for name in baserate.trackers.__all__:
        cls = getattr(baserate.trackers, name)
        for mode, params in {"": {}, **MODES.get(name, {})}.items():
            tracker = cls.examples()[0]
            # Set deeply, because a tracker that wraps another has the number of classes only there.
            sizes = {key: n_classes for key in tracker.get_params() if key.split("__")[-1] == "n_classes"}
            title = TITLES.get(name, name) + (f" ({mode})" if mode else "")
            found[title] = tracker.set_params(**sizes, **params)
    return found


def chosen(path: FloatArray, methods: Collection[str] | None) -> tuple[dict[str, Method], dict[str, str]]:
    """The methods by name, and those that are left out, with the reason.

    Those after the default expect probabilities that it has calibrated: doing that once for all of them saves most of
    the time that a large holdout takes.

    Parameters
    ----------
    path : (T, k) array
        The class mix in hindsight.
    methods : collection of str, optional
        Names of trackers. Default: all that are not too slow for so many rounds.
    """
    n_rounds, k = path.shape
    trackers = every_tracker(k)
    unknown = [name for name in methods or () if name not in trackers]
    if unknown:
        raise ValueError(f"methods names {unknown[0]!r}; choose among {', '.join(trackers)}.")
    found: dict[str, Method] = {NOTHING: Base(), DEFAULT: RegressAndReweight(), CALIBRATED: Base()}
    left_out = {}
    for name, tracker in trackers.items():
        if methods is None and n_rounds > LONG:
            left_out[name] = f"the log has {n_rounds:,} rounds, more than {LONG:,}"
        elif methods is None and not isinstance(tracker, BankableTracker) and n_rounds**2 * k > _GROWING:
            left_out[name] = f"each of its rounds takes longer than the one before, and the log has {n_rounds:,}"
        elif methods is None or name in methods:
            found[name] = RegressAndReweight(tracker, calibrator=None, gate=False, alpha=None)
    return found | {HINDSIGHT: Oracle(path, calibrator=None)}, left_out
