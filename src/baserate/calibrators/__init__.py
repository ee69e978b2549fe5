"""Calibrators: correct a model's over- or under-confidence; fitted on the holdout."""

from baserate.calibrators.auto import AutoCalibrator
from baserate.calibrators.bcts import BCTS
from baserate.calibrators.temperature import TemperatureScaling
from baserate.calibrators.vector import VectorScaling

__all__ = ["BCTS", "AutoCalibrator", "TemperatureScaling", "VectorScaling"]
