"""How well trackers follow a class mix, measured: ``python -m baserate_lab.bench.trackers``."""
