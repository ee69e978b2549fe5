"""Folder and colours of all figures, and score models to make streams with."""

from pathlib import Path

import numpy as np

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
TRUE, MODEL, OURS, OTHER, FAINT = "#222222", "#b35900", "#0b62a4", "#5b7f2b", "#bbbbbb"
ABOVE = {"frameon": False, "loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
"""A legend above the axes, where it hides nothing."""


def scores(rng, n, share, distance=1.8, source=0.01, boast=1.0):
    """Probabilities of a two-class model that is right at the share `source`, and the labels.

    `boast` multiplies its log-odds: above 1 the model is too sure.
    """
    y = (rng.random(n) < share).astype(int)
    odds = source / (1 - source) * np.exp(distance * (rng.normal(distance * y, 1.0) - distance / 2))
    odds **= boast
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y


def moving_mean(values, width):
    """A centred moving average that is shorter at the ends."""
    kernel = np.ones(width) / width
    return np.convolve(values, kernel, mode="same") / np.convolve(np.ones(len(values)), kernel, mode="same")
