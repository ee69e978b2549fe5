"""A spam filter of scikit-learn on a real stream of mail, in the order in which it came.

The filter (tf-idf and a logistic regression) was trained on mails from before August 2002, of which most were spam;
later ones are mostly not, and it takes too much of them for spam. Its outputs come with the package, so that nothing
has to be fetched; `baserate.datasets.spam_assassin` has the mails.
"""

import numpy as np

import baserate
from baserate.models import outputs

SPAM = 1


def main():
    """Filter four thousand mails, ten at a time, with and without a correction that sees no labels."""
    mails = outputs("spam_assassin", "tfidf")
    adapter = baserate.RegressAndReweight().fit(mails.holdout_proba, mails.holdout_y)
    judged = []
    for start in range(0, len(mails.target_proba), 10):
        judged.append(adapter.step(mails.target_proba[start : start + 10]).labels)

    y, own, adapted = mails.target_y, mails.target_proba.argmax(axis=1), np.concatenate(judged)
    print(f"spam: {adapter.source_prior_[SPAM]:.0%} of the holdout, {(y == SPAM).mean():.0%} of the stream")
    print(f"wrong: {(own != y).mean():.1%} of the filter's own judgements, {(adapted != y).mean():.1%} of the adapted")
    lost = [(labels[y != SPAM] == SPAM).mean() for labels in (own, adapted)]
    missed = [(labels[y == SPAM] != SPAM).mean() for labels in (own, adapted)]
    print(f"good mail thrown away: {lost[0]:.1%} before, {lost[1]:.1%} adapted")
    print(f"spam let through: {missed[0]:.1%} before, {missed[1]:.1%} adapted")


if __name__ == "__main__":
    main()
