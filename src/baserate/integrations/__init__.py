"""Models of other libraries, taken apart for the methods that retrain a last layer."""

from baserate.integrations.last_layer import last_layer
from baserate.models.last_layer import LastLayer

__all__ = ["LastLayer", "last_layer"]
