"""Metrics: error, distance of class mixes, dynamic regret."""

from baserate.metrics.error import error_rate, marginal_mse
from baserate.metrics.regret import best_hypothesis_losses, class_losses, dynamic_regret, reweighting_losses

__all__ = [
    "best_hypothesis_losses",
    "class_losses",
    "dynamic_regret",
    "error_rate",
    "marginal_mse",
    "reweighting_losses",
]
