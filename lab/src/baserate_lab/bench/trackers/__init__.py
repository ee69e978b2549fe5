"""Benchmark of how well trackers follow a class mix: ``python -m baserate_lab.bench.trackers``."""
