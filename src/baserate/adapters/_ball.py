"""The ball that gradient descent keeps a last layer in, and the steps that fit it (Bai et al. 2022)."""

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.validation import check_integer, check_real


def check_ball(head: FloatArray, radius: float | None, horizon: int | None) -> None:
    """Check the parameters of a ball around zero that is to hold a trained head."""
    if horizon is not None:
        check_integer(horizon, "horizon", 1)
    length = float(np.linalg.norm(head))
    if length == 0:
        raise ValueError("coef is all zero; give the weights of a trained layer.")
    if radius is not None:
        radius = check_real(radius, "radius", 0.0, np.inf, closed=False)
        if radius < length * (1 - 1e-9):  # a length that was rounded on its way is fine
            raise ValueError(f"radius is {radius:.6g}; give at least {length:.6g}, the length of the layer itself.")


def ball_radius(head: FloatArray, radius: float | None) -> float:
    """The radius as given, or else the length of the trained head."""
    return float(np.linalg.norm(head)) if radius is None else float(radius)


def gradient_bound(features: FloatArray, labels: IntArray) -> float:
    """A bound of the risk's gradient: sqrt(2) times the largest mean length of a class's features."""
    lengths = np.bincount(labels, np.linalg.norm(features, axis=1)) / np.bincount(labels)
    # The gradient of the log loss in the logits is at most sqrt(2) long. Without features there is none.
    return float(np.sqrt(2.0) * lengths.max()) or 1.0


def into_ball(heads: FloatArray, radius: float) -> FloatArray:
    """Heads, (m, k, d), each projected onto the ball."""
    lengths = np.sqrt((heads**2).sum(axis=(1, 2), keepdims=True))
    return np.where(lengths > radius, heads * (radius / np.maximum(lengths, radius)), heads)
