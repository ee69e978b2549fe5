"""Base models of the experiments."""

from baserate.models.linear_sgd import LinearSGD

__all__ = ["LinearSGD"]
