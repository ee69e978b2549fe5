"""Late labels
===========

Late labels for a few samples: each sample has an id, under which its label is passed on when it arrives.

A model sorts news into twenty groups, and confuses some of them. A person labels three of ten, five rounds later. The
labels of one round in ten come so late that the adapter no longer waits for them.
"""

import numpy as np

import baserate
from baserate.shifts import Monotone, sample_stream
from baserate_lab.models import outputs

DELAY = 5


def follow(stream, adapter, share, rng):
    """Predict a stream and pass on a share of the labels late; returns the errors of labels and class mix."""
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
    """Run the same stream of news without labels, and with late ones."""
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

# sphinx_gallery_thumbnail_path = "images/few_labels.svg"
