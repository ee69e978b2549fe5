"""Benchmarks of trackers and of `baserate.trust`; a grid runs each cell once and stores its result."""
