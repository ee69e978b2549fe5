"""Objects whose state was changed behind their back, through a file."""

import copy

from baserate.state import dumps, loads


def tampered(obj, **state):
    """The object that a file gives in which some of the state was replaced; or what is raised instead."""
    obj = copy.deepcopy(obj)
    obj.__dict__.update(state)
    return loads(dumps(obj))
