"""The theory of the supervised half, shown: ``python -m baserate.paper.supervised``."""
