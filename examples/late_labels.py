"""Labels that come late, and for few: each sample has an id, and its label is handed over when it arrives.

News are sorted into twenty groups by a model that confuses some of them. A person reads three of ten, and says five
rounds later where they belong; one round of ten is forgotten for so long that the adapter no longer waits.
"""

import numpy as np

import baserate
from baserate.shifts import Monotone, sample_stream
from baserate_lab.models import outputs

DELAY = 5


def follow(stream, adapter, share, rng):
    """Predict a stream, and hand over a share of the labels late; gives the error, and how far off the mix was."""
    wrong, n, off, post = 0, 0, [], []
    for batch in stream:
        ids = [f"{batch.index}-{i}" for i in range(len(batch.y))]
        step = adapter.step(batch.proba, ids=ids)
        wrong, n = wrong + int((step.labels != batch.y).sum()), n + len(batch.y)
        off.append(((step.prior - batch.q) ** 2).sum())
        asked = np.flatnonzero(rng.random(len(ids)) < share)
        arrives = batch.index + (100 if rng.random() < 0.1 else DELAY)
        post.append((arrives, [ids[i] for i in asked], batch.y[asked]))
        for letter in [letter for letter in post if letter[0] <= batch.index]:
            adapter.update_labels(letter[1], letter[2])
            post.remove(letter)
    return wrong / n, float(np.mean(off))


def main(seed=0):
    """The same stream of news, twice: without any labels, and with late ones."""
    news = outputs("newsgroups", "tfidf")
    stream = list(sample_stream(news.target_proba, news.target_y, Monotone(), n_rounds=300, rng=seed))
    found = {}
    for share in (0.0, 0.3):
        adapter = baserate.RegressAndReweight(max_waiting=500).fit(news.holdout_proba, news.holdout_y)
        found[share] = follow(stream, adapter, share, np.random.default_rng(seed))
    print(f"wrong: {found[0.0][0]:.1%} without labels, {found[0.3][0]:.1%} with late ones")
    print(f"squared error of the class mix: {found[0.0][1]:.4f} without labels, {found[0.3][1]:.4f} with late ones")
    print(f"waiting: {adapter.waiting_}, too late: {adapter.missed_labels_}")


if __name__ == "__main__":
    main()
