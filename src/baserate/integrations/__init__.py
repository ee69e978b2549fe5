"""Models of other libraries: wrapped, or taken apart for the methods that retrain a last layer."""

from baserate.integrations.label_shift_classifier import LabelShiftClassifier
from baserate.integrations.last_layer import last_layer
from baserate.models.last_layer import LastLayer

__all__ = ["LabelShiftClassifier", "LastLayer", "last_layer"]
