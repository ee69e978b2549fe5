"""The theory of the supervised half, shown: ``python -m baserate_lab.paper.supervised``."""
