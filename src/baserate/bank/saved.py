"""The declaration of what a bank saves."""

from typing import Any

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.bank.late_labels import problem_of
from baserate.state.declarations import Fields, Part, Plain, Saved, Saves, Sizes, Whole, ints, key_list
from baserate.trust.assumption.hull import HullTest
from baserate.trust.keyed import saved_arrays


def _n_cells(adapter: Any) -> int:
    """Return the number of cells of the check of a saved adapter; 0 where it tests nothing."""
    check = adapter.state["_monitor"].state.get("check_")
    hull = None if check is None else check.state.get("_hull")
    return 0 if hull is None else int(hull.state["_counts"].shape[1])


def _rounds_of(state: Any) -> int:
    """Return the largest number of rounds of a key."""
    return int(np.max(state["rounds"], initial=0)) if "rounds" in state else 0


def _check_keys_and_state(saved: Saved) -> str:
    """Check that keys are unique, and the arrays of their state as the tracker declares them."""
    keys = saved.state["_keys"]
    if len(set(keys)) < len(keys):
        return "has keys that are not unique"
    adapter = saved.params["adapter"]
    if not adapter.state:
        return "has an adapter that was never fitted"
    tracker = adapter.state["tracker_"]
    declared: Saves | None = vars(tracker.cls).get("saves")
    if declared is not None:
        sizes = Sizes({"k": saved.sizes["k"], "keys": len(keys)})
        Fields(declared.params).check(tracker.params, "tracker", sizes)
        declared.state["_state"].check(saved.state["_state"], "_state", sizes)
        # The light profile of the likelihood mixture has no runs, and new keys are born with those of its parameters.
        if "light" in tracker.params and (sizes.known["lanes"] == 0) != tracker.params["light"]:
            return "has keys with runs that its tracker's parameters do not ask for, or without"
    if "_trust" in saved.state:
        if adapter.params["alpha"] is None:
            return "has trust signals that its adapter's parameters do not ask for"
        sizes = Sizes({"k": saved.sizes["k"], "keys": len(keys)})
        saved_arrays(_n_cells(adapter)).check(saved.state["_trust"], "_trust", sizes)
    pooled = saved.state.get("_pooled")
    if pooled is not None and pooled.state["_counts"].shape[1] != _n_cells(adapter):
        return "has a check of all keys that its adapter's holdout does not go with"
    waiting = saved.state.get("_waiting")
    if waiting is None:
        return ""
    return problem_of(waiting, saved.sizes["k"], len(keys), tracker.cls, _rounds_of(saved.state["_state"]))


SAVED = Saves(
    params={"adapter": Part(RegressAndReweight, {"k": "k"})},
    state={
        "rounds_": Whole(),
        "_keys": key_list("keys"),
        "_last_seen": ints("keys", low=0),
        "_state": Plain(),
        "_trust": Plain(),
        "_pooled": Part(HullTest, {"k": "k"}, fitted=True),
        "_waiting": Plain(),
    },
    optional=("_trust", "_pooled", "_waiting"),
    check=_check_keys_and_state,
)
