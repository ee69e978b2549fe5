"""Plain transcriptions of the methods that move a prior or a last layer: loops over rounds, classes and samples."""

import numpy as np


def softmax(v):
    e = np.exp(v - v.max())
    return e / e.sum()


def risk(W, q, X, y):
    """sum_k q_k * (mean log loss of class k)."""
    total = 0.0
    for k in range(len(q)):
        losses = [-np.log(softmax(W @ x)[k]) for x in X[y == k]]
        total += q[k] * sum(losses) / len(losses)
    return total


def risk_gradient(W, q, X, y):
    gradient = np.zeros_like(W)
    for k in range(len(q)):
        members = X[y == k]
        for x in members:
            p = softmax(W @ x)
            p[k] -= 1.0
            gradient += q[k] / len(members) * np.outer(p, x)
    return gradient


def into_ball(W, radius):
    length = np.linalg.norm(W)
    return W if length <= radius else W * radius / length


def bbse(W0, X, y, batch, k):
    """Unclipped: the conditional soft confusion matrix, inverted."""
    C = np.array([np.mean([softmax(W0 @ x) for x in X[y == c]], axis=0) for c in range(k)]).T
    return np.linalg.solve(C, np.mean([softmax(W0 @ x) for x in batch], axis=0))


def uogd(W0, X, y, batches, step_size, radius):
    """The heads that predict each round, and the one after the last."""
    heads = [W0]
    for batch in batches:
        q = bbse(W0, X, y, batch, len(W0))
        heads.append(into_ball(heads[-1] - step_size * risk_gradient(heads[-1], q, X, y), radius))
    return heads


def atlas(W0, X, y, batches, step_sizes, radius, meta_rate):
    """The mean heads that predict each round, and the one after the last; and the last weights."""
    copies = [W0 for _ in step_sizes]
    cumulated = np.zeros(len(step_sizes))
    played = []
    for batch in [*batches, None]:
        weights = np.exp(-meta_rate * cumulated)
        weights /= weights.sum()
        played.append(sum(w * W for w, W in zip(weights, copies, strict=True)))
        if batch is None:
            return played, weights
        q = bbse(W0, X, y, batch, len(W0))
        for i, step_size in enumerate(step_sizes):
            cumulated[i] += risk(copies[i], q, X, y)
            copies[i] = into_ball(copies[i] - step_size * risk_gradient(copies[i], q, X, y), radius)
    return None


def reweighting_loss(p, q, F, y, source):
    """sum_j q_j (1 - C_jj(p)), C soft and conditional."""
    loss = 0.0
    for j in range(len(q)):
        right = []
        for f in F[y == j]:
            g = f * p / source
            right.append(g[j] / g.sum())
        loss += q[j] * (1 - np.mean(right))
    return loss


def simplex_projection(v):
    """By bisection on the shift."""
    low, high = v.min() - 1.0, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(v - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(v - low, 0)
