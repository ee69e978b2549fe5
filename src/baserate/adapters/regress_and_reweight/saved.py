"""The declaration of what RegressAndReweight saves."""

from typing import Any

import numpy as np

from baserate.adapters._reweighting import CALIBRATOR, SOURCE
from baserate.adapters._source import changes_nothing_saved
from baserate.adapters.regress_and_reweight.correction import Correction
from baserate.adapters.regress_and_reweight.late_labels import LateLabels
from baserate.protocols import MarginalEstimator, Tracker
from baserate.state.declarations import (
    Each,
    Either,
    Flag,
    Maybe,
    Number,
    Part,
    Plain,
    Saved,
    SavedPart,
    Saves,
    Sizes,
    Spec,
    Text,
    Whole,
)
from baserate.trackers.given import saved_tracker
from baserate.trust.label_selection import LabelSelection
from baserate.trust.monitor import TrustMonitor

_SAME_SIZE = {"k": "k"}


def _check(saved: Saved) -> str:
    state = saved.state
    correction, monitor = state["_correction"], state["_monitor"]
    source_prior = state["source_prior_"]
    for part, name in ((correction, "_source_prior"), (monitor, "source_prior_")):
        if not np.array_equal(part.state[name], source_prior):
            return "has parts of another source prior"
    if correction.params["alpha"] != monitor.params["alpha"]:
        return "has parts of another alpha"
    if state["_reads_estimates"] and state["marginals_"] is None:
        return "has no estimator for its tracker"
    for names in (state.get("columns_"), state.get("class_names_")):
        if names is not None and len(set(names)) < len(names):
            return "has two columns, or two classes, of one name"
    if state["_is_calibrated"] != changes_nothing_saved(state["calibrator_"]):
        return "says another thing of its calibrator than that does"
    mix = monitor.state.get("_mix")
    if any(place >= (0 if mix is None else mix.state["seen_"]) for place in state["_late"].state["places"]):
        return "has samples that wait and are still to come"
    return _check_notes(state["tracker_"], state["_late"].state["notes"], saved.sizes["k"])


def _check_notes(tracker: SavedPart, notes: list[Any], k: int) -> str:
    """Check the notes of rounds that a tracker made; how they look is the tracker's to say."""
    spec: Spec | None = getattr(tracker.cls, "saved_note", None)
    if spec is None:
        return "" if not notes else f"has notes of rounds, which a {tracker.cls.__name__} does not declare"
    for note in notes:
        spec.check(note, "note", Sizes({"k": k}))
        if note[0] > tracker.state["_state"]["rounds"][0, 0]:
            return "has a note of a round that is still to come"
    return ""


SAVED = Saves(
    params={
        "tracker": saved_tracker(),
        "marginals": Maybe(Part(MarginalEstimator)),
        "calibrator": CALIBRATOR,
        "transductive": Flag(),
        "floor": Maybe(Number(0.0, 1.0)),
        "bounds": Maybe(Plain()),
        "source_prior": Maybe(Plain()),
        "enabled": Flag(),
        "max_waiting": Whole(),
        "gate": Flag(),
        "alpha": Maybe(Number(0.0, 1.0)),
    },
    state={
        **SOURCE,
        "rounds_": Whole(),
        "tracker_": Part(Tracker, _SAME_SIZE),
        "marginals_": Maybe(Part(MarginalEstimator, _SAME_SIZE, fitted=True)),
        "_is_calibrated": Flag(),
        "_reads_estimates": Flag(),
        "_correction": Part(Correction, _SAME_SIZE),
        "_monitor": Part(TrustMonitor, _SAME_SIZE),
        "_late": Part(LateLabels, _SAME_SIZE),
        "_selection": Part(LabelSelection, _SAME_SIZE),
        "columns_": Each(Text(), "k"),
        "class_names_": Either((Each(Text(), "k"), Each(Flag(), "k"), Each(Whole(), "k"))),
    },
    optional=("_selection", "columns_", "class_names_"),
    may_be_empty=True,
    check=_check,
)
