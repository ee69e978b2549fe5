"""Trust signals: bands for the class mix, estimates of accuracy without labels, and checks of assumptions."""

from baserate.trust.accuracy import Accuracy, AccuracyEstimate
from baserate.trust.assumption import AssumptionCheck, Finding
from baserate.trust.bands import PriorBand
from baserate.trust.dependence import SerialDependence
from baserate.trust.explained import ExplainedShare
from baserate.trust.gate import Gate
from baserate.trust.health import HoldoutWarning, Merged, Problem, health, merge_classes
from baserate.trust.label_selection import SelectedLabelsWarning
from baserate.trust.labelled_mix import LabelledMix
from baserate.trust.unknown import UnknownMass

__all__ = [
    "Accuracy",
    "AccuracyEstimate",
    "AssumptionCheck",
    "ExplainedShare",
    "Finding",
    "Gate",
    "HoldoutWarning",
    "LabelledMix",
    "Merged",
    "PriorBand",
    "Problem",
    "SelectedLabelsWarning",
    "SerialDependence",
    "UnknownMass",
    "health",
    "merge_classes",
]
