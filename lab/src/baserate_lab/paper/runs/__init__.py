"""Runs of single cells: base models, streams, methods."""
