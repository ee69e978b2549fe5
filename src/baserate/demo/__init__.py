"""The experiment behind ``baserate demo``: every method on handwritten digits, under four kinds of drift."""

from baserate.demo.experiment import Cell, Demo, TrainedModel, run_demo, train_model

__all__ = ["Cell", "Demo", "TrainedModel", "run_demo", "train_model"]
