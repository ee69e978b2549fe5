"""Benchmarks: a grid of cells that is run once and kept, how well trackers track, and what trust is worth."""
