"""Models of other libraries are not saved, but known again."""

import pickle
import subprocess
import sys

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from baserate import load, save
from baserate.state import fingerprint

from .box import Box


def test_a_foreign_model_is_handed_over_again(tmp_path):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    model, other = LogisticRegression().fit(X, y), LogisticRegression(C=0.01).fit(X, y)
    path = tmp_path / "file"
    save(Box(content=5, estimator=model), path)
    assert b"coef" not in path.read_bytes()
    loaded = load(path, estimator=model)
    assert loaded.estimator is model
    assert loaded.content == 5
    with pytest.raises(ValueError, match="estimator=model"):
        load(path)
    with pytest.raises(ValueError, match="another model"):
        load(path, estimator=other)
    with pytest.raises(ValueError, match="classifier"):
        load(path, estimator=model, classifier=other)


def _models():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "b", "a")
    return {
        "logistic": LogisticRegression().fit(X, y),
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y.astype(object)),
        "forest": RandomForestClassifier(5, random_state=0).fit(X, y),
        "boosted": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2).fit(X, y),
        "search": GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2).fit(X, y),
        "net": MLPClassifier((3,), max_iter=3).fit(X, y),
        "xgboost": xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, y == "b"),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1).fit(X, y),
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_is_known_again_after_pickling_in_another_process(tmp_path):
    """Who saves a running object keeps the model elsewhere, commonly as a pickle."""
    models = _models()
    (tmp_path / "models").write_bytes(pickle.dumps(models))
    script = (
        "import pickle, sys; from baserate.state import fingerprint\n"
        "models = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print('\\n'.join(fingerprint(model) for model in models.values()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "models")], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == [fingerprint(model) for model in models.values()]
    assert len(set(run.stdout.split())) == len(models)
    assert fingerprint(FrozenEstimator(models["net"])) == fingerprint(models["net"])


def test_the_fingerprint_sees_a_small_change():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0)
    before = fingerprint(model)
    model.estimators_[3].tree_.value[0, 0, 0] += 1e-9
    assert fingerprint(model) != before
