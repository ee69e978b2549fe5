"""A component that holds anything."""

from baserate.state import Component


class Box(Component):
    """Holds anything."""

    def __init__(self, content=None, estimator=None):
        self.content = content
        self.estimator = estimator
