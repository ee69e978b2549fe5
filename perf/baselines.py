"""Baselines of the speed measurements: the same mathematics in plain numpy, or for a general solver."""

import cvxpy as cp
import numpy as np


class PlainFLHFTL:
    """Algorithm "FLH-FTL" of the paper, line by line: every expert's mean is computed anew from the raw sightings.

    O(t^2 k) time in round t. As in the library, an expert without a sighting predicts `birth`, where the paper has
    zero. Sightings are stored with one row per class, because numpy then averages several times faster than with one
    row per sighting.

    Parameters
    ----------
    birth : (k,) array
        Prediction of an expert before its first sighting.
    rate : float
        The learning rate alpha.
    rounds : int
        Largest number of sightings.
    """

    def __init__(self, birth, rate, rounds):
        self.birth = birth
        self.rate = rate
        self._sightings = np.empty((len(birth), rounds))
        self._t = 0
        self.weights = np.ones(1)  # line 3

    @classmethod
    def at(cls, sightings, weights, birth, rate):
        """A tracker that has already seen some sightings and has these weights."""
        tracker = cls(birth, rate, len(sightings) + 1)
        tracker._sightings[:, :-1] = sightings.T
        tracker._t = len(sightings)
        tracker.weights = weights.copy()
        return tracker

    def predict(self):
        seen = self._sightings[:, : self._t]
        # Lines 4 and 5. Stored for `update`, which scores the same predictions.
        self._predictions = np.array([*(seen[:, j:].mean(axis=1) for j in range(self._t)), self.birth])
        return self.weights @ self._predictions

    def update(self, z):
        losses = ((self._predictions - z) ** 2).sum(axis=1)
        judged = self.weights * np.exp(-self.rate * losses)  # line 6
        judged /= judged.sum()
        self._sightings[:, self._t] = z
        self._t += 1
        newborn = 1 / (self._t + 1)
        self.weights = np.append((1 - newborn) * judged, newborn)  # line 7


class NumpyFLHFTL:
    """The same algorithm with cumulative sums, vectorised over the experts, as one would usually write it in numpy.

    One row per sighting, as they arrive. O(t k) time in round t, as the library. Parameters as for `PlainFLHFTL`.
    """

    def __init__(self, birth, rate, rounds):
        self.birth = birth
        self.rate = rate
        self._t = 0
        self._sums = np.zeros((rounds + 1, len(birth)))
        self._counts = np.arange(rounds, 0, -1.0)[:, np.newaxis]  # its last t rows are t, ..., 1
        self.weights = np.ones(1)

    def predict(self):
        t = self._t
        means = (self._sums[t] - self._sums[:t]) / self._counts[len(self._counts) - t :]
        self._predictions = np.vstack([means, self.birth])
        return self.weights @ self._predictions

    def update(self, z):
        losses = ((self._predictions - z) ** 2).sum(axis=1)
        judged = self.weights * np.exp(-self.rate * losses)
        judged /= judged.sum()
        self._sums[self._t + 1] = self._sums[self._t] + z
        self._t += 1
        newborn = 1 / (self._t + 1)
        self.weights = np.append((1 - newborn) * judged, newborn)


class _CumulativeSums:
    """Cumulative sums of sightings, and the means of every expert computed from them at once.

    Arrays have one row per class: numpy is fastest when the long axis is contiguous. (With one row per sighting, as is
    usual, everything below takes twice as long.)
    """

    def __init__(self, birth, rate, rounds):
        k = len(birth)
        self.birth = birth
        self.rate = rate
        self._t = 0
        self._sums = np.zeros((k, rounds + 1))
        self._scale = 1.0 / np.arange(rounds, 0, -1)  # its last t entries are 1/t, ..., 1/1
        self._room = np.empty(k * rounds)
        self._losses = np.empty(rounds + 1)
        self._weights = np.zeros(rounds + 1)
        self._means = self._room[:0].reshape(k, 0)

    def _average(self):
        """Compute the means of all sightings but the first j, for j = 0, ..., t - 1."""
        k, t = len(self.birth), self._t
        self._means = self._room[: k * t].reshape(k, t)  # contiguous, whatever t is
        np.subtract(self._sums[:, t, np.newaxis], self._sums[:, :t], out=self._means)
        self._means *= self._scale[len(self._scale) - t :]

    def _judge(self, z):
        """Write the squared errors of the means into the first t places of `_losses`; overwrites the means."""
        self._means -= z[:, np.newaxis]
        np.einsum("kj,kj->j", self._means, self._means, out=self._losses[: self._t])

    def _take_in(self, z):
        self._sums[:, self._t + 1] = self._sums[:, self._t] + z
        self._t += 1


class TunedNumpyFLHFTL(_CumulativeSums):
    """The same, tuned: contiguous along the experts, in place in preallocated arrays, with BLAS and einsum.

    O(t k) time in round t, as the library. Parameters as for `PlainFLHFTL`.
    """

    def __init__(self, birth, rate, rounds):
        super().__init__(birth, rate, rounds)
        self._weights[0] = 1.0

    @property
    def weights(self):
        """Weights of the experts, oldest first."""
        return self._weights[: self._t + 1]

    def predict(self):
        self._average()
        return self._means @ self._weights[: self._t] + self._weights[self._t] * self.birth

    def update(self, z):
        t = self._t
        self._judge(z)
        miss = self.birth - z
        self._losses[t] = miss @ miss
        factors = self._losses[: t + 1]
        factors *= -self.rate
        np.exp(factors, out=factors)
        weights = self._weights[: t + 1]
        weights *= factors
        weights *= (t + 1) / (t + 2) / weights.sum()
        self._take_in(z)
        self._weights[t + 1] = 1 / (t + 2)


class TunedNumpyWindowFLHFTL(_CumulativeSums):
    """The variant whose weights belong to window lengths, with cumulative sums, vectorised over the windows.

    The longest window is not scored, and the new expert is the next longer window. Parameters as for `PlainFLHFTL`;
    `birth` is predicted in the first round only.
    """

    def predict(self):
        if self._t == 0:
            return self.birth.copy()
        self._average()
        # Mean j is over the last t - j sightings; weights are stored by length, shortest first. The copy is needed
        # because BLAS does not accept reversed arrays.
        return self._means @ self._weights[self._t - 1 :: -1].copy()

    def update(self, z):
        t = self._t
        if t > 0:
            self._judge(z)
            self._losses[0] = 0.0
            factors = self._losses[:t]
            factors *= -self.rate
            np.exp(factors, out=factors)
            weights = self._weights[:t]
            weights *= factors[::-1]
            weights *= t / (t + 1) / weights.sum()
        self._take_in(z)
        self._weights[t] = 1 / (t + 1)


def multiply_and_normalise(batch, ratio):
    """Re-weight a batch, with no checks."""
    v = batch * ratio
    v /= v.sum(axis=1, keepdims=True)
    return v


def plain_em(batch, base, tol, max_iter=100_000):
    """Most likely class mix of a batch, by EM from its mean output until a step changes it by at most `tol`."""
    q = batch.mean(axis=0)
    for _ in range(max_iter):
        posterior = batch * (q / base)
        posterior /= posterior.sum(axis=1, keepdims=True)
        last, q = q, posterior.mean(axis=0)
        if np.abs(q - last).sum() <= tol:
            break
    return q


class ConicRLLS:
    """Regularised weights as a second-order cone problem, compiled once; a batch only sets its parameter.

    Parameters
    ----------
    proba, y
        The holdout.
    rho : float
        The penalty.
    """

    def __init__(self, proba, y, rho):
        k = proba.shape[1]
        joint = proba.T @ np.eye(k)[y] / len(y)
        self.prior = np.bincount(y, minlength=k) / len(y)
        self._offset = joint.sum(axis=1)
        self._b = cp.Parameter(k)
        self._theta = cp.Variable(k)
        loss = cp.norm(joint @ self._theta - self._b, 2) + rho * cp.norm(self._theta, 2)
        self.problem = cp.Problem(cp.Minimize(loss), [self._theta >= -1])

    def estimate(self, batch):
        self._b.value = batch.mean(axis=0) - self._offset
        self.problem.solve()
        q = np.maximum(1 + self._theta.value, 0) * self.prior
        return q / q.sum()


def loop_over_classes_of_heads(adapter, batch, features, y):
    """A round of UOGD or ATLAS, head by head and class by class; returns the heads after it."""
    trained = np.asarray(adapter.coef)
    q = adapter.marginals_.estimate(_softmax(batch @ trained.T))
    heads = []
    for head, step_size in zip(adapter._heads, adapter._step_sizes(), strict=True):
        gradient = np.zeros_like(head)
        for c in range(len(head)):
            members = features[y == c]
            residual = _softmax(members @ head.T)
            residual[:, c] -= 1.0
            gradient += q[c] / len(members) * (residual.T @ members)
        moved = head - step_size * gradient
        length = np.linalg.norm(moved)
        heads.append(moved if length <= adapter._radius else moved * adapter._radius / length)
    return np.array(heads)


def loop_over_classes_of_priors(adapter, batch, proba, y, source, horizon):
    """A round of ROGD, entry by entry of the matrix of derivatives; returns the prior after it."""
    p, k = adapter.prior_, len(source)
    q = adapter.marginals_.estimate(batch)
    gradient = np.zeros(k)
    for c in range(k):
        ratios = proba[y == c] / source
        total = ratios @ p
        for other in range(k):
            slope = -p[c] * ratios[:, c] * ratios[:, other] / total**2
            if other == c:
                slope = slope + ratios[:, c] / total
            gradient[other] -= q[c] * slope.mean()
    length = np.linalg.norm(gradient)
    gradient *= min(1.0, adapter.lipschitz_ / length)
    moved = p - np.sqrt(2.0 / horizon) / adapter.lipschitz_ * gradient
    ordered = np.sort(moved)[::-1]
    shifts = (np.cumsum(ordered) - 1.0) / np.arange(1, k + 1)
    return np.maximum(moved - shifts[np.flatnonzero(ordered > shifts)[-1]], 0.0)


def _softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
