"""The season on top of both arms, from docs/how_it_works/likelihood.md with plain numpy.

Numbers in comments are those of the lines there.
"""

import numpy as np

from .naive import log_likelihood
from .naive_runs import NaiveRuns, classes


def across(k):
    """Orthonormal directions that sum to zero."""
    count = min(max(4, 2 * k // 5), k - 1)
    angles = np.outer(np.arange(1, count + 1), np.arange(1, k + 1)) * np.pi * (3 - np.sqrt(5))
    waves = np.cos(angles) - np.cos(angles).mean(axis=1, keepdims=True)
    q, r = np.linalg.qr(waves.T)
    return (q * np.sign(np.diag(r))).T


def reweighed(arms, logs):
    """Weigh the arms by the likelihoods of a round, and share out a little again."""
    arms = arms * np.exp(logs - logs.max())
    return 0.9999 * arms / arms.sum() + 0.0001 * np.array([0.98, 0.01, 0.01])


class NaiveSeason:
    """The whole tracker; every round is remembered for ever, by its number."""

    def __init__(self, prior, margin=None):
        self.plain = NaiveRuns(prior, margin)
        self.k, self.across = len(prior), across(len(prior))
        self.shares, self.distance, self.profile = {}, {}, {}
        self.mixes = {}
        self.period, self.since, self.t = 0, 0, 0
        self.arms = self.arms_seen = np.array([0.98, 0.01, 0.01])

    def seen(self, t):
        """Count visits of round t's place in the period before it, the round it was found in included."""
        return min(50, sum(1 for s in range(self.since + 1, t) if (t - s) % self.period == 0) + 1)

    def plays(self):
        """Line 22: what the three arms predict for the next round."""
        t, q = self.t + 1, np.array(self.plain.predict())
        if self.period == 0:
            return [q, q, q]
        now, before = self.profile[t % self.period], self.profile[(t - 1) % self.period]
        a, b = self.seen(t), min(50, self.seen(t - 1) + (t - 1 > self.since))
        change = np.square(self.across @ (now - before)).sum()
        level = np.maximum((a * now + 0.5 * q) / (a + 0.5), 1e-6 / self.k)
        moved = q
        if change > 4 * (self.distance[self.period] / 2) * (1 / a + 1 / b):
            moved = np.maximum(q + now - before, 0.02 / self.k)
            moved = moved / moved.sum()
        return [q, level / level.sum(), moved]

    def predict(self):
        return self.arms @ np.array(self.plays())

    def update(self, rows=None, frequencies=None):
        if frequencies is None and len(rows) == 0:
            return
        plays = self.plays()
        self.plain.update(rows, frequencies)
        found = self.plain.found
        if self.period:
            logs = np.array([log_likelihood(q, rows, frequencies) for q in plays])
            self.arms = reweighed(self.arms, logs)  # 22
            self.arms_seen = reweighed(self.arms_seen, np.array([self.plain.together, *logs[1:]]))  # 23
            if frequencies is None:
                found = found + self.arms[1] * (classes(plays[1], rows).mean(axis=0) - found)
        self.t += 1
        self.remember(found)

    def settled(self, before):
        """Line 23: the mix of the round just seen, for which the arms predicted `before`."""
        q, place = np.array(self.plain.predict()), self.profile[self.t % self.period]
        visits = 1 + (self.since < self.t) * (min(50, self.seen(self.t) + 1) - 1)
        plain_before, _, moved = before
        level = (visits * place + 0.5 * q) / (visits + 0.5)
        return self.arms_seen @ np.array([q, level, q if (moved == plain_before).all() else moved])

    def remember(self, found):
        """Lines 19 to 21."""
        t = self.t
        self.shares[t], self.mixes[t] = self.across @ found, found
        for lag in range(1, min(64, t - 1) + 1):
            new = np.square(self.shares[t] - self.shares[t - lag]).sum()
            old = self.distance.get(lag, 0.0)
            self.distance[lag] = old + max(0.01, 1 / (t - lag)) * (new - old)
        lags = sorted(self.distance)
        relative = {lag: lag * self.distance[lag] / sum(self.distance[s] for s in lags[:lag]) for lag in lags}
        if self.period:
            part = max(0.02, 1 / (1 + self.seen(t)))
            self.profile[t % self.period] = (1 - part) * self.profile[t % self.period] + part * found
        enough = [lag for lag in lags[1:] if t >= max(2.5 * lag, 20)]
        if not enough:
            return
        best = min(enough, key=lambda lag: relative[lag])
        parts = [best // m for m in range(2, best // 2 + 1) if best % m == 0]
        best = next((lag for lag in parts if relative[lag] <= 1.5 * relative[best]), best)
        of_old = self.period == 0 or self.period % best == 0 or relative[best] < 0.9 * relative[self.period]
        if best != self.period and relative[best] < 0.5 and of_old:
            old, before = self.period, self.profile
            self.period, self.since = best, t
            self.profile = {s % best: before[s % old] if old else self.mixes[s] for s in range(t - best + 1, t + 1)}
