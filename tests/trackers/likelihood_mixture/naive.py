"""The mixture of memories and known mixes, without runs, in lists and loops."""

import math

MEMORIES, RECALLED = 23, 8


def log_likelihood(q, rows, frequencies):
    """Log-likelihood of rows of class likelihoods, or of one labelled sample that is split among the classes."""
    if frequencies is None:
        return sum(math.log(sum(a * b for a, b in zip(q, row, strict=True))) for row in rows)
    return sum(f * math.log(a) for f, a in zip(frequencies, q, strict=True))


class Naive:
    """The mixture in lists and loops, for rows of class likelihoods or class frequencies."""

    def __init__(self, prior, margin=None):
        self.prior, self.k, self.margin = list(prior), len(prior), margin
        self.memories = [*(2.0**j for j in range(22)), math.inf]
        self.counts = [[0.0] * self.k for _ in self.memories]
        self.recalled = []  # of dicts: counts, first and last round it was made of
        self.doubted, self.doubt, self.since = [0.0] * self.k, 0.0, 1
        self.shares = [lambda t: 0.2, lambda t: 0.02, lambda t: 1 / (t + 1)]
        self.weights = [[0.5 / 23] * 23 + [0.5] for _ in self.shares]
        self.trust = [1 / 3] * 3
        self.t = 0

    def experts(self):
        """Memories, the prior, recalled mixes."""
        every = [*self.counts, [0.0] * self.k, *(mix["counts"] for mix in self.recalled)]
        return [[(s[c] + self.prior[c]) / (sum(s) + 1) for c in range(self.k)] for s in every]

    def say(self):
        return [
            sum(u * w[e] for u, w in zip(self.trust, self.weights, strict=True)) for e in range(len(self.weights[0]))
        ]

    def predict(self):
        return [sum(w * q[c] for w, q in zip(self.say(), self.experts(), strict=True)) for c in range(self.k)]

    def update(self, rows=None, frequencies=None):
        if frequencies is None and len(rows) == 0:
            return
        self.judge(rows, frequencies, self.predict())
        self.count(self.counted(self.predict(), rows) if frequencies is None else frequencies)

    def judge(self, rows, frequencies, mix):
        """Lines 2 to 4: returns the log-likelihood of the round, and the mix by which the prior was judged."""
        experts, before = self.experts(), self.say()
        judged = [*experts]
        if self.margin is not None:
            judged[MEMORIES] = self.tolerated(self.counted(mix, rows) if frequencies is None else frequencies)
        logs = [log_likelihood(q, rows, frequencies) for q in judged]

        def foreseen(some):
            top = max(logs[e] for e in some)
            return top + math.log(sum(before[e] * math.exp(logs[e] - top) for e in some) / sum(before[e] for e in some))

        ahead = foreseen(range(MEMORIES)) - foreseen(range(MEMORIES, len(experts)))
        self.doubt = max(0.0, self.doubt + ahead)
        likelihood = foreseen(range(len(experts)))
        for s in range(3):
            weighed = [w * math.exp(log - max(logs)) for w, log in zip(self.weights[s], logs, strict=True)]
            self.trust[s] *= sum(weighed)
            self.weights[s] = [w / sum(weighed) for w in weighed]
        self.trust = [u / sum(self.trust) for u in self.trust]
        return likelihood, judged[MEMORIES]

    def count(self, found):
        """Lines 6 to 12."""
        now = self.say()
        self.t += 1
        for e, memory in enumerate(self.memories):
            self.counts[e] = [(1 - 1 / memory) * s + f for s, f in zip(self.counts[e], found, strict=True)]
        self.place(found, now)
        for s in range(3):
            share, n = self.shares[s](self.t), len(self.recalled)
            deal = [0.5 / 23] * 23 + [0.5 / (1 + n)] * (1 + n)
            self.weights[s] = [(1 - share) * w + share * d for w, d in zip(self.weights[s], deal, strict=True)]
        self.trust = [(1 - 1 / (self.t + 1)) * u + 1 / (self.t + 1) / 3 for u in self.trust]

    def counted(self, mix, rows):
        """Classes of the samples under a class mix, added up."""
        found = [0.0] * self.k
        for row in rows:
            joint = sum(a * b for a, b in zip(mix, row, strict=True))
            for c in range(self.k):
                found[c] += mix[c] * row[c] / joint
        return found

    def tolerated(self, batch):
        """The mix that the prior is judged by: the one that was found, if that is near enough to it."""
        worth = sum(p * (1 - p) for p in self.prior) / sum(d * d for d in self.margin)
        weight = self.say()[:MEMORIES]
        found = [sum(w * s[c] for w, s in zip(weight, self.counts, strict=True)) / sum(weight) for c in range(self.k)]
        found = [f + b for f, b in zip(found, batch, strict=True)]
        mix = [(f + worth * p) / (sum(found) + worth) for f, p in zip(found, self.prior, strict=True)]
        near = [max(p - d, min(p + d, q)) for q, p, d in zip(mix, self.prior, self.margin, strict=True)]
        return [q / sum(near) for q in near]

    def place(self, found, weight):
        if self.doubt == 0.0:
            known = sum(weight[MEMORIES:])
            for r, mix in enumerate(self.recalled):
                part = weight[MEMORIES + 1 + r] / known
                mix["counts"] = [s + part * f for s, f in zip(mix["counts"], found, strict=True)]
            self.doubted, self.since = [0.0] * self.k, self.t + 1
            return
        self.doubted = [s + f for s, f in zip(self.doubted, found, strict=True)]
        if self.doubt < 5:
            return
        mix = {"counts": self.doubted, "first": self.since, "last": self.t}
        if len(self.recalled) < RECALLED:
            self.recalled.append(mix)
            self.weights = [[*w, 0.0] for w in self.weights]
        else:
            used = [sum(m["counts"]) / (self.t - m["last"] + 1) for m in self.recalled]
            self.recalled[used.index(min(used))] = mix
        self.doubted, self.doubt, self.since = [0.0] * self.k, 0.0, self.t + 1
