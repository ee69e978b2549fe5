"""What the cache keeps: damage is repaired and said, and a cache that cannot be written costs nothing but the copy."""

import numpy as np
import pytest

from baserate.datasets import Dataset
from baserate_lab.cache import VARIABLE
from baserate_lab.models import _keeping, _kinds, features, outputs, recipes, train, trained
from baserate_lab.models.recipes import Recipe

Y = np.arange(90) % 3
X = 2 * np.eye(3, 4)[Y] + np.random.default_rng(7).standard_normal((90, 4))
DATA = Dataset(X, Y, X[:30], Y[:30], ("a", "b", "c"), "made up", in_time_order=False, stand_in_for=None)
RECIPES = {
    ("made", "logistic"): Recipe("logistic", {"C": 1.0}),
    ("made", "mlp"): Recipe("mlp", {"hidden": [5], "epochs": 3, "batch_size": 20}),
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(recipes, "RECIPES", RECIPES)
    monkeypatch.setattr(recipes, "load", lambda name: DATA)
    return tmp_path / "cache"


def damage(file, how):
    if how == "gone":
        file.unlink()
    elif how == "cut":
        file.write_bytes(file.read_bytes()[:-9])
    elif how == "garbage":
        file.write_bytes(b"garbage")
    elif how == "shape":
        np.save(file, np.load(file)[:-1])
    elif how == "type":
        np.save(file, np.load(file).astype(np.int8))


@pytest.mark.parametrize("how", ["gone", "cut", "garbage", "shape", "type"])
@pytest.mark.parametrize("name", ["holdout", "target", "coef", "intercept"])
def test_features_that_are_damaged_are_made_anew(cache, capsys, name, how):
    whole = features("made", "logistic", progress=False)
    (file,) = cache.glob(f"models/*/{name}.npy")
    before = file.read_bytes()
    damage(file, how)
    again = features("made", "logistic", progress=False)
    for one, other in zip((*again[:4], *again[4][1:]), (*whole[:4], *whole[4][1:]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert file.read_bytes() == before
    assert (f"{name}.npy is damaged" in capsys.readouterr().err) == (how != "gone")


@pytest.mark.parametrize("shape", [(), (18,), (18, 4, 1)])
def test_features_must_be_a_table(cache, capsys, shape):
    whole = features("made", "logistic", progress=False)
    (file,) = cache.glob("models/*/holdout.npy")
    np.save(file, np.zeros(shape, np.float32))
    np.testing.assert_array_equal(features("made", "logistic", progress=False).holdout, whole.holdout)
    assert "holdout.npy is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["cut", "garbage"])
def test_outputs_that_are_damaged_are_made_anew(cache, capsys, how):
    whole = trained.outputs_as_bytes("made", "logistic", progress=False)
    (file,) = cache.glob("models/*/outputs.npz")
    damage(file, how)
    again = outputs("made", "logistic", progress=False)
    np.testing.assert_array_equal(again.target_logits, trained.output_files.from_bytes(whole, "x")[0].target_logits)
    assert "outputs.npz is damaged" in capsys.readouterr().err
    outputs("made", "logistic", progress=False)
    assert capsys.readouterr().err == ""


@pytest.fixture
def read_only(monkeypatch):
    """From now on nothing can be written or made (a superuser is not held by the rights of a folder)."""

    def begin():
        def refuse(path, *_, **__):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(_keeping, "write_atomically", refuse)
        plain = trained.Path.mkdir

        def mkdir(path, *rest, **options):
            if not path.is_dir():
                refuse(path)
            plain(path, *rest, **options)

        monkeypatch.setattr(trained.Path, "mkdir", mkdir)

    return begin


@pytest.mark.parametrize("name", ["mlp", "logistic"])
def test_a_cache_that_cannot_be_written_loses_no_result(cache, capsys, read_only, name):
    cache.mkdir()
    read_only()
    found = outputs("made", name, progress=False)
    assert "outputs.npz could not be written" in capsys.readouterr().err
    seen = features("made", name, progress=False)
    assert "holdout.npy could not be written" in capsys.readouterr().err
    np.testing.assert_allclose(seen.last_layer.logits(seen.target), found.target_logits, atol=1e-5)
    assert list(cache.iterdir()) == []


def test_what_is_in_the_cache_needs_no_right_to_write(cache, capsys, read_only, monkeypatch):
    model = train("made", "mlp", progress=False)
    found, seen = outputs("made", "mlp", progress=False), features("made", "mlp", progress=False)
    capsys.readouterr()
    read_only()
    monkeypatch.setattr("baserate_lab.models.perceptron._run_epoch", None)  # calling it would fail
    again = train("made", "mlp", progress=False)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    monkeypatch.setattr(_kinds, "fit", None)
    np.testing.assert_array_equal(outputs("made", "mlp", progress=False).target_logits, found.target_logits)
    np.testing.assert_array_equal(features("made", "mlp", progress=False).target, seen.target)
    assert capsys.readouterr().err == ""


def test_only_what_is_written_gets_a_folder(cache):
    train("made", "logistic", progress=False)
    assert list(cache.iterdir()) == []
