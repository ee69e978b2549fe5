"""A spam filter on real mail
==========================

A scikit-learn spam filter on a real stream of mail, in the order in which it arrived.

The filter (tf-idf and a logistic regression) was trained on mails from before August 2002, most of which were spam.
Later mails mostly are not, and the filter marks too many of them as spam. Mails come in campaigns of similar mails, so
the adapter corrects cautiously; if readers mark one mail in ten, it knows that the correction helps. The filter's
outputs come with baserate-lab, so nothing has to be downloaded; `baserate_lab.datasets.spam_assassin` has the mails.
"""

import numpy as np

import baserate
from baserate_lab.models import outputs

SPAM = 1


def judge(mails, told):
    """Adapted predictions, ten mails at a time; `told` are labels that arrive after the prediction, -1 for none."""
    adapter = baserate.RegressAndReweight().fit(mails.holdout_proba, mails.holdout_y)
    tens = [slice(start, start + 10) for start in range(0, len(told), 10)]
    return np.concatenate([adapter.step(mails.target_proba[ten], told[ten]).labels for ten in tens])


def main():
    """Filter four thousand mails with the filter alone, adapted without labels, and adapted with some labels."""
    mails = outputs("spam_assassin", "tfidf")
    y, own = mails.target_y, mails.target_proba.argmax(axis=1)
    marked = np.where(np.random.default_rng(0).random(len(y)) < 0.1, y, -1)
    adapted, reported = judge(mails, np.full(len(y), -1)), judge(mails, marked)

    shares = [(labels == SPAM).mean() for labels in (mails.holdout_y, y)]
    print(f"spam: {shares[0]:.0%} of the holdout, {shares[1]:.0%} of the stream")
    for what, counted in (
        ("wrong", np.ones(len(y), dtype=bool)),
        ("good mail thrown away", y != SPAM),
        ("spam let through", y == SPAM),
    ):
        alone, unseen, seen = ((labels != y)[counted].mean() for labels in (own, adapted, reported))
        print(f"{what}: {alone:.1%} by the filter alone, {unseen:.1%} adapted, {seen:.1%} with one mail in ten marked")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/spam.svg"
