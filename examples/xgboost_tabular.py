"""XGBoost
=======

XGBoost on a real table of tumours, of which fewer are malignant as more people are screened.

The model is trained on patients of a clinic. Then a screening begins, and the share of malignant tumours falls from a
third to one in fifty, while p(x|y) stays the same.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from xgboost import XGBClassifier

import baserate
from baserate.shifts import Monotone, sample_stream


def screening(X, y, seed):
    """Errors and log losses of the model's own predictions and of the adapted ones, on one drifting stream."""
    rng = np.random.default_rng(seed)
    train, holdout, later = np.split(rng.permutation(len(y)), [150, 350])
    model = XGBClassifier(n_estimators=100, max_depth=3, random_state=seed, n_jobs=1).fit(X[train], y[train])
    adapter = baserate.RegressAndReweight().fit(model.predict_proba(X[holdout]), y[holdout])
    drift = Monotone(second=[0.02, 0.98])  # malignant, benign
    stream = sample_stream(model.predict_proba(X[later]), y[later], drift, n_rounds=400, rng=rng)
    totals, n = np.zeros(4), 0
    for batch in stream:
        step = adapter.step(batch.proba)
        for i, proba in enumerate((batch.proba, step.proba)):
            totals[i] += (proba.argmax(axis=1) != batch.y).sum()
            totals[2 + i] -= np.log(np.maximum(proba[np.arange(len(batch.y)), batch.y], 1e-9)).sum()
        n += len(batch.y)
    return totals / n


def main(seed=0):
    """Average over twenty splits of the patients into training data, holdout and stream."""
    X, y = load_breast_cancer(return_X_y=True)
    wrong, adapted, loss, adapted_loss = np.mean([screening(X, y, seed + i) for i in range(20)], axis=0)
    print(f"wrong: {wrong:.1%} of the model's own answers, {adapted:.1%} of the adapted ones")
    print(f"log loss: {loss:.3f} of the model's own answers, {adapted_loss:.3f} of the adapted ones")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/mixture.svg"
