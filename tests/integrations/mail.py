"""Messages, good or spam: samples of two classes that overlap, whose mix can be chosen."""

import numpy as np

WEIGHTS = np.array([2.0, 1.0, 0.0, -1.0])


def mail(n, spam, seed):
    """(n, 4) features, and labels "ham" and "spam"."""
    rng = np.random.default_rng(seed)
    is_spam = rng.random(n) < spam
    return rng.normal(size=(n, 4)) + 0.7 * is_spam[:, np.newaxis] * WEIGHTS, np.where(is_spam, "spam", "ham")


def shifted(clf, spam=0.8, rounds=40, seed=100):
    """Show a classifier unlabelled rounds of another class mix."""
    for i in range(rounds):
        clf.partial_fit(mail(25, spam, seed + i)[0])
    return clf
