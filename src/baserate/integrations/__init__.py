"""Integrations with other libraries: wrappers of their models, and access to a model's last layer."""

from baserate.integrations.label_shift_classifier import LabelShiftClassifier
from baserate.integrations.last_layer import last_layer
from baserate.integrations.linear_head import LastLayer
from baserate.integrations.torch_classifier import TorchClassifier

__all__ = ["LabelShiftClassifier", "LastLayer", "TorchClassifier", "last_layer"]
