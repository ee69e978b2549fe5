"""Data sets, one module each: ``load()`` gives a `Dataset`."""

from baserate.datasets import digits, synthetic
from baserate.datasets._dataset import Dataset

__all__ = ["Dataset", "digits", "synthetic"]
