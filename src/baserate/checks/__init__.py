"""Contract checks: promises of trackers, estimators, calibrators, adapters, learners and shifts beyond their types.

To run them on a class of your own::

    from baserate.checks import checks_for

    for check in checks_for(MyTracker(n_classes=3)):
        check(MyTracker(n_classes=3))

Each check takes a new instance for three classes, works on clones of it, and raises an AssertionError that names the
broken promise.
"""

from collections.abc import Callable
from typing import Any

from baserate.checks._bad_input import check_bad_input, public_methods
from baserate.checks._promises import (
    check_bank,
    check_clone,
    check_copies_are_independent,
    check_deterministic,
    check_empty_batch,
    check_memory,
    check_moves,
    check_no_aliases,
    check_output,
    check_pure,
    check_reset,
    check_resume,
    check_states_are_not_shared,
    check_step,
    check_tracker_learns,
    check_tracker_takes_any_vector,
)
from baserate.checks._roles import role_of
from baserate.protocols import Adapter, BankableTracker, Tracker
from baserate.state import Component

__all__ = [
    "check_bad_input",
    "check_bank",
    "check_clone",
    "check_copies_are_independent",
    "check_deterministic",
    "check_empty_batch",
    "check_memory",
    "check_moves",
    "check_no_aliases",
    "check_output",
    "check_pure",
    "check_reset",
    "check_resume",
    "check_states_are_not_shared",
    "check_step",
    "check_tracker_learns",
    "check_tracker_takes_any_vector",
    "checks_for",
    "public_methods",
    "role_of",
]

Check = Callable[[Any], None]


def checks_for(obj: Any) -> list[Check]:
    """Return all checks that apply to an object."""
    role = role_of(obj)
    checks: list[Check] = [check_output, check_pure, check_deterministic, check_no_aliases]
    if hasattr(obj, "get_params"):
        checks += [check_clone]
    if isinstance(obj, Component):
        checks += [check_resume, check_bad_input]
        if role.move is not None:
            checks += [check_moves, check_states_are_not_shared]
        if role.protocol is Tracker:
            checks += [check_memory]
    if role.move is not None:
        checks += [check_copies_are_independent]
    if hasattr(obj, "reset"):
        checks += [check_reset]
    if role.protocol is Tracker:
        checks += [check_tracker_learns, check_tracker_takes_any_vector]
    if isinstance(obj, BankableTracker):
        checks += [check_bank]
    if role.protocol is Adapter:
        checks += [check_step, check_empty_batch]
    return checks
