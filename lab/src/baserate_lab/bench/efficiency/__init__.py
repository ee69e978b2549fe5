"""Benchmarks of the default tracker's efficiency: how much of what the samples say about the class mix it uses."""
