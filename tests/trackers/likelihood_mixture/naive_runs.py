"""The whole likelihood mixture, with runs and arms, from docs/how_it_works/likelihood.md with plain numpy.

Numbers in comments are those of the lines there.
"""

import math
from itertools import pairwise

import numpy as np

from .naive import Naive, log_likelihood

FULL = 32  # classes; with more, runs take each class alone


class Run:
    """A run: its class mix, the mean products of its class probabilities, and its samples."""

    def __init__(self, mix, began):
        self.mix, self.began, self.n, self.weight = mix, began, 0.0, 0.0
        self.products = np.zeros((len(mix), len(mix)))
        self.first, self.second = np.zeros(len(mix)), np.zeros(len(mix))


def parts(n):
    """Ends of the parts of n samples."""
    ends, size = [0], 10
    while ends[-1] < n:
        end = ends[-1] + size
        ends.append(n if n - end < size / 2 else end)
        size *= 4
    return ends


class NaiveRuns:
    """Both arms, for rows of class likelihoods or class frequencies."""

    def __init__(self, prior, margin=None):
        self.prior, self.k = np.array(prior), len(prior)
        self.mixture = Naive(list(prior), margin)
        self.runs = []  # the oldest first
        self.of_prior = 1.0  # weight of the prior among the runs
        self.arms = np.array([0.5, 0.5])
        self.t = 0

    def predict(self):
        runs = self.of_prior * self.prior + sum(run.weight * run.mix for run in self.runs)
        return self.arms[0] * np.array(self.mixture.predict()) + self.arms[1] * runs  # 1

    def update(self, rows=None, frequencies=None):
        if frequencies is None and len(rows) == 0:
            return
        self.t += 1
        made, near = self.mixture.judge(rows, frequencies, self.predict())
        self.begin()
        few = self.k <= FULL
        logs = [made, self.follow(rows, frequencies, near) if few else self.judge(rows, frequencies, near)]
        self.together = max(logs) + math.log(self.arms @ np.exp(np.array(logs) - max(logs)))
        self.arms = self.arms * np.exp(np.array(logs) - max(logs))
        self.arms /= self.arms.sum()
        self.mix = mix = self.predict()
        shares = classes(mix, rows) if frequencies is None else np.array([frequencies])  # 5
        self.found = shares.mean(axis=0)
        if not few:
            self.average(shares, mix, split=frequencies is not None)
        self.mixture.count(shares.sum(axis=0).tolist())
        self.arms = (1 - 0.00003) * self.arms + 0.00003 / 2  # 12

    def begin(self):
        """Line 13."""
        ended = 0.05 * self.of_prior / (self.t + 1)
        self.of_prior -= ended
        for run in self.runs:
            h = 0.05 * run.weight / (self.t - run.began + 1)
            run.weight -= h
            ended += h
        if not self.runs or self.runs[-1].n >= 10:
            if len(self.runs) == (7 if self.k <= FULL else 2):
                ended += self.drop()
            self.runs.append(Run((self.prior + 1 / self.k) / 2, self.t))
        self.of_prior += 0.25 * ended
        self.runs[-1].weight += 0.75 * ended
        if self.t == 1:
            self.of_prior = self.runs[-1].weight = 0.5

    def drop(self):
        """Make room for a run that begins now; returns the weight of the run that goes if there is no younger one."""
        began = [0, *(run.began for run in self.runs), self.t]
        worth = [
            (run.weight + 0.003) * (began[j + 2] - began[j]) / (self.t - run.began + 1)
            for j, run in enumerate(self.runs)
        ]
        j = int(np.argmin(worth))
        lost = self.runs.pop(j)
        if j < len(self.runs):
            self.runs[j].weight += lost.weight
            return 0.0
        return lost.weight

    def judge(self, rows, frequencies, near):
        """Line 15 for a part, by the mixes before it; returns the log-likelihood under all runs."""
        logs = np.array([log_likelihood(q, rows, frequencies) for q in (near, *(run.mix for run in self.runs))])
        weights = np.array([self.of_prior, *(run.weight for run in self.runs)]) * np.exp(logs - logs.max())
        total = weights.sum()
        self.of_prior = weights[0] / total
        for run, weight in zip(self.runs, weights[1:] / total, strict=True):
            run.weight = weight
        return math.log(total) + logs.max()

    def follow(self, rows, frequencies, near):
        """Lines 14 to 18 for every part; returns the log-likelihood of the round."""
        if frequencies is not None:
            log = self.judge(None, frequencies, near)
            for run in self.runs:
                self.move(run, np.array([frequencies]), np.diag(frequencies))
            return log
        log, ends, new, born = 0.0, parts(len(rows)), self.runs[-1].n == 0, self.runs[-1].weight
        for first, end in pairwise(ends):
            part = rows[first:end]
            shares = [classes(run.mix, part) for run in self.runs]
            log += self.judge(part, None, near)
            for run, r in zip(self.runs, shares, strict=True):
                self.move(run, r, products_of(r, 16))
        return self.judge_as_a_whole(np.asarray(rows), log, born) if new and born > 0 and len(rows) > 10 else log

    def judge_as_a_whole(self, rows, log, born):
        """Judge a run by all of its first batch, and solve for its mix; returns the log-likelihood of the round."""
        run, rest = self.runs[-1], self.of_prior + sum(run.weight for run in self.runs[:-1])
        others, by_parts = log + math.log(rest), log + math.log(run.weight / born)
        astray = log_likelihood(run.mix, rows, None) < by_parts
        if not astray and self.evidence(run, rows) < others + math.log(0.001 / born) - self.k / 2:
            return log
        self.solve(run, rows)
        own = math.log(born) + max(self.evidence(run, rows), by_parts)
        after = np.logaddexp(others, own)
        less = math.exp(others - after) / rest
        self.of_prior *= less
        for other in self.runs[:-1]:
            other.weight *= less
        run.weight = math.exp(own - after)
        return after

    def evidence(self, run, rows):
        """Laplace's approximation of the mean likelihood under the prior that a run is born with."""
        born = self.k / 2 * (self.prior + 1 / self.k) / 2
        curved = np.linalg.slogdet(len(rows) * run.products + np.diag(born))[1] - math.log(len(rows) + self.k / 2)
        made_one = math.lgamma(self.k / 2) - sum(map(math.lgamma, born))
        best = log_likelihood(run.mix, rows, None) + born @ np.log(run.mix)
        return best + made_one + (self.k - 1) / 2 * math.log(2 * math.pi) - curved / 2

    def move(self, run, shares, products):
        m = len(shares)
        run.products += m / (run.n + m) * (products - run.products)  # 14
        run.n += m
        self.step(run, shares.sum(axis=0) - m * run.mix, caution=20)

    def step(self, run, score, caution):
        """Lines 16 to 18."""
        q, known = run.mix, run.n / (run.n + caution)
        root = np.sqrt(run.products.sum(axis=1) + 1e-12)
        told = known * run.products / np.outer(root, root) + (1 - known) * np.eye(self.k)  # 16
        told += (self.k / (2 * run.n) + 1e-9) * np.eye(self.k)
        d = np.sqrt(q) * np.linalg.solve(told, score / np.sqrt(q)) / run.n  # 17
        self.shift(run, np.minimum(d, q + 2 * np.maximum(score, 0) / run.n))

    def solve(self, run, rows):
        """Solve for the mix of a run that began with these rows."""
        n, born = len(rows), self.k / 2 * (self.prior + 1 / self.k) / 2
        highest, caution, best = -math.inf, 20.0, run.mix
        for _ in range(50):
            shares = classes(run.mix, rows)
            found = log_likelihood(run.mix, rows, None) + born @ np.log(run.mix)
            still = False
            if found >= highest:
                still = highest > -math.inf and np.abs(run.mix - best).max() < 1e-5
                highest, caution, best = found, caution / 4, run.mix
                score = shares.sum(axis=0) + born - (n + self.k / 2) * best
                run.products = products_of(shares, 16 + 8 * self.k)
            else:
                caution = max(8 * caution, 0.05 * n)
            if still:
                break
            run.mix = best
            self.step(run, score, caution)
        run.mix = best

    def shift(self, run, d):
        """Line 18."""
        mix = np.maximum(run.mix + d, run.mix / 10)
        mix = np.maximum(mix, (self.prior + 1 / self.k) / (4 * (run.n + 1)))
        run.mix = mix / mix.sum()

    def average(self, shares, mix, *, split=False):
        """The runs of more than 32 classes; `split`: one labelled sample that is split among the classes."""
        n, mean = len(shares), shares.mean(axis=0)
        squares = mean if split else (shares[:: 1 + (n - 1) // 16] ** 2).mean(axis=0)
        for run in self.runs:
            part, aim = n / (run.n + n), mean
            run.n += n
            run.first += part * (mean - run.first)
            run.second += part * (squares - run.second)
            if not split:
                label = np.maximum(run.first * (1 - run.first), 1e-12)
                told = (run.second - run.first**2) / label + 1 / run.n  # the prior is one sample that tells all
                aim = mix + (mean - mix) / np.clip(told, 0.05, 1.0)
            d = n / (run.n + 1) * (aim - run.mix)
            if not split:
                d = np.minimum(d, run.mix + 2 * np.maximum(n / (run.n + 1) * (mean - run.mix), 0))
            self.shift(run, d)


def products_of(shares, most):
    """The mean products of class probabilities, of at most about so many samples."""
    some = shares[:: 1 + (len(shares) - 1) // most]
    return some.T @ some / len(some)


def classes(mix, rows):
    """Class probabilities of samples under a class mix."""
    joint = mix * np.asarray(rows)
    return joint / joint.sum(axis=1, keepdims=True)
