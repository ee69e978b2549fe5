"""The laboratory of baserate: data sets, base models with their outputs, the paper's experiments, benchmarks."""

from baserate_lab._version import __version__ as __version__
