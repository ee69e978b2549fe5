"""LikelihoodMixture, the default tracker, with its parts: its experts, how batches are counted, late labels."""

from baserate.trackers.likelihood_mixture.tracker import LikelihoodMixture

__all__ = ["LikelihoodMixture"]
