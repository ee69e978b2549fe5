"""Small data sets for examples: ``digits.load()`` and ``synthetic.load()`` give a `Dataset`.

Those of the experiments, real streams among them, are in `baserate_lab.datasets`.
"""

from baserate.datasets import digits, synthetic
from baserate.datasets._dataset import Dataset

__all__ = ["Dataset", "digits", "synthetic"]
