"""Benchmarks of `baserate.trust`: how reliable its estimates and alarms are."""
