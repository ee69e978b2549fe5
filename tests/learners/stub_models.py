"""Models that do as they are told, and remember what was done to them."""

import warnings

import numpy as np


class Fixed:
    """Says the same about every sample, and remembers the labels of each mini-batch."""

    def __init__(self, row=(0.5, 0.3, 0.2)):
        self.row = row
        self.batches = []

    def partial_fit(self, X, y, classes=None):
        self.classes_ = np.asarray(classes)
        self.batches.append((np.array(X), np.array(y)))

    def predict_proba(self, X):
        return np.tile(self.row, (len(X), 1))

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class Knowing(Fixed):
    """Knows the label of every sample by the sample's number."""

    def __init__(self, labels):
        super().__init__()
        self.labels = labels

    def predict(self, X):
        return self.labels[X[:, 0].astype(int)]


class Hopeless(Fixed):
    """Right about nothing once it has been trained in a second round; a fresh one is right about everything."""

    def __init__(self, labels, per_round):
        super().__init__()
        self.labels, self.per_round = labels, per_round

    def predict(self, X):
        right = self.labels[X[:, 0].astype(int)]
        return right if len(self.batches) <= self.per_round else np.zeros_like(right)


class Mute(Fixed):
    """Has probabilities, and no labels."""

    predict = None


class Scripted(Fixed):
    """Gets the first so many samples right that it is asked about, by the number of the epoch."""

    def __init__(self, right):
        super().__init__()
        self.right = right
        self.asked = 0

    def predict(self, X):
        n = self.right[self.asked]
        self.asked += 1
        labels = X[:, 0].astype(int)
        labels[n:] = (labels[n:] + 1) % 3
        return labels


class Interrupted(Fixed):
    """Takes Ctrl-C for the end of the training, as scikit-learn's nets do."""

    def partial_fit(self, X, y, classes=None):
        warnings.warn("Training interrupted by user.", UserWarning, stacklevel=1)


class Tired(Fixed):
    """Gives up after so many mini-batches."""

    def __init__(self, limit):
        super().__init__()
        self.limit = limit

    def partial_fit(self, X, y, classes=None):
        super().partial_fit(X, y, classes)
        if len(self.batches) > self.limit:
            raise RuntimeError("no more")


def rounds(n_rounds, n, k, seed=0, d=3):
    """Gaussian classes whose mix drifts: samples and labels of each round."""
    rng = np.random.default_rng(seed)
    centres = 1.5 * rng.standard_normal((k, d))
    for t in range(n_rounds):
        if t % 4 == 0:
            q = rng.dirichlet(np.full(k, 2.0))
        y = rng.choice(k, size=n, p=q)
        yield centres[y] + rng.standard_normal((n, d)), y
