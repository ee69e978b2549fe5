"""river
=====

A river classifier that learns online, and is adapted while labels are rare.

The samples are web sites, legitimate or phishing. At first all are labelled; later one in twenty is, and phishing comes
in waves.
"""

import math
import random

from river import datasets, linear_model, preprocessing

from baserate.integrations.river import RiverLabelShift


def waves(n, rng):
    """Sites resampled from real ones; half of them are phishing at first, then few and many in turn."""
    sites = {kind: [x for x, y in datasets.Phishing() if y is kind] for kind in (False, True)}
    for t in range(n):
        share = 0.5 if t < 1000 else (0.05, 0.9)[t // 400 % 2]
        y = rng.random() < share
        yield t, rng.choice(sites[y]), y


def main(seed=0):
    """Compare the same classifier alone and in the wrapper, with the same labels."""
    rng = random.Random(seed)
    alone = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    wrapped = RiverLabelShift(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    wrong, loss, n = [0, 0], [0.0, 0.0], 0
    for t, x, y in waves(6000, rng):
        if t >= 1000:
            n += 1
            for i, model in enumerate((alone, wrapped)):
                proba = model.predict_proba_one(x)
                wrong[i] += (proba[True] > 0.5) != y
                loss[i] -= math.log(max(proba[y], 1e-9))
        if t < 1000 or rng.random() < 0.05:
            alone.learn_one(x, y)
            wrapped.learn_one(x, y)
        else:
            wrapped.learn_one(x)
    print(f"wrong: {wrong[0] / n:.1%} of the classifier alone, {wrong[1] / n:.1%} in the wrapper")
    print(f"log loss: {loss[0] / n:.3f} of the classifier alone, {loss[1] / n:.3f} in the wrapper")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/online_regression.svg"
