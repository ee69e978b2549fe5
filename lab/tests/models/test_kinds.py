"""The kinds of models: each follows its seed, and what is scaled does not see the scale."""

import numpy as np
import pytest

from baserate_lab.models import _kinds
from baserate_lab.models.watching import no_watcher

RNG = np.random.default_rng(0)
Y = np.arange(120) % 3
X = 2 * np.eye(3, 4)[Y] + RNG.standard_normal((120, 4))
TEXTS = np.array([" ".join(RNG.choice(["a1", "b2", "c3", "d4"], 6)) + f" w{y}" for y in Y], dtype=object)
PARAMETERS = {
    "linear": {"batch_size": 20},
    "scaled linear": {"batch_size": 20},
    "mlp": {"hidden": (5,), "epochs": 2, "batch_size": 20},
    "scaled mlp": {"hidden": (5,), "epochs": 2, "batch_size": 20},
    "forest": {"n_estimators": 3, "max_depth": 2},
    "scaled logistic": {"C": 1.0},
    "tfidf": {"words": 50, "dimensions": 3, "C": 1.0},
    "resnet18": {"width": 2, "epochs": 1, "batch_size": 20},
}


def proba(kind, seed, tmp_path, scale=1.0):
    data = {"tfidf": TEXTS, "resnet18": X.reshape(-1, 2, 2)}.get(kind, X * scale)
    model = _kinds.KINDS[kind](seed, **PARAMETERS[kind])
    _kinds.fit(model, data, Y, tmp_path / f"{seed}-{scale}", tmp_path / "embeddings", no_watcher)
    return model.predict_proba(data)


@pytest.mark.parametrize("kind", [kind for kind in PARAMETERS if kind not in ("tfidf", "scaled logistic")])
def test_the_seed_decides(kind, tmp_path):
    if kind == "resnet18":
        pytest.importorskip("torch")
    first = proba(kind, 0, tmp_path)
    np.testing.assert_array_equal(proba(kind, 0, tmp_path / "again"), first)
    assert np.abs(proba(kind, 1, tmp_path) - first).max() > 1e-3


def test_the_seed_reaches_what_words_are_brought_down_by(tmp_path):
    model = _kinds.KINDS["tfidf"](5, **PARAMETERS["tfidf"])
    assert model[1].random_state == 5
    np.testing.assert_array_equal(proba("tfidf", 0, tmp_path), proba("tfidf", 0, tmp_path))


def test_a_regression_fitted_to_the_end_does_not_depend_on_the_seed(tmp_path):
    np.testing.assert_allclose(proba("scaled logistic", 1, tmp_path), proba("scaled logistic", 0, tmp_path), atol=1e-9)


@pytest.mark.parametrize("kind", ["scaled linear", "scaled mlp"])
def test_what_is_scaled_does_not_see_the_scale(kind, tmp_path):
    np.testing.assert_allclose(proba(kind, 0, tmp_path, 1000.0), proba(kind, 0, tmp_path), atol=1e-9)


def test_a_scaled_regression_does_not_see_the_scale(tmp_path):
    """It is fitted until the solver's tolerance, not for a number of steps."""
    found = proba("scaled logistic", 0, tmp_path, 1000.0)
    np.testing.assert_allclose(found, proba("scaled logistic", 0, tmp_path), atol=1e-6)
