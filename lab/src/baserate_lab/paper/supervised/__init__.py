"""Measurements of the paper's theory with labels: ``python -m baserate_lab.paper.supervised``."""
