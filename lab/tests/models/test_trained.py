"""Training by name: from the package, else the cache, else by training; never twice."""

import os

import numpy as np
import pytest
from scipy.special import softmax

from baserate.datasets import Dataset
from baserate.integrations.linear_head import NoLastLayerError, last_layer_of
from baserate_lab.cache import VARIABLE
from baserate_lab.models import _kinds, features, output_files, outputs, recipes, train, trained
from baserate_lab.models._split import split
from baserate_lab.models.recipes import Recipe

RNG = np.random.default_rng(0)


def made(shift=0.0, classes=3):
    def draw(n):
        y = np.arange(n) % classes
        return (2 * np.eye(classes, 4)[y] + RNG_OF_DATA.standard_normal((n, 4)) + shift), y

    RNG_OF_DATA = np.random.default_rng(7)  # the same data each time
    names = tuple("abcdef"[:classes])
    return Dataset(*draw(300), *draw(90), names, "made up", in_time_order=True, stand_in_for="something")


RECIPES = {
    ("made", "linear"): Recipe("linear", {"batch_size": 20}),
    ("made", "scaled linear"): Recipe("scaled linear", {"batch_size": 20}),
    ("made", "mlp"): Recipe("mlp", {"hidden": [5], "epochs": 3, "batch_size": 20}),
    ("made", "scaled mlp"): Recipe("scaled mlp", {"hidden": [5], "epochs": 3, "batch_size": 20}),
    ("made", "forest"): Recipe("forest", {"n_estimators": 3, "max_depth": 2}),
    ("made", "logistic"): Recipe("logistic", {"C": 1.0}),
    ("made", "resnet18"): Recipe("resnet18", {"width": 2, "epochs": 8, "batch_size": 20, "augment": False}),
}
PLAIN = [model for _, model in RECIPES if model != "resnet18"]


@pytest.fixture(autouse=True)
def _made(tmp_path, monkeypatch):
    """A cache of our own, recipes of our own on made data, and no files of the package."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(recipes, "RECIPES", RECIPES)
    monkeypatch.setattr(recipes, "load", lambda name: made())
    monkeypatch.setattr(output_files, "COMMITTED", tmp_path / "package")


@pytest.fixture
def fits(monkeypatch):
    """The models that were fitted."""
    fitted, plain = [], _kinds.fit

    def counted(model, *rest):
        fitted.append(type(model).__name__)
        return plain(model, *rest)

    monkeypatch.setattr(_kinds, "fit", counted)
    return fitted


@pytest.mark.parametrize("name", PLAIN)
def test_outputs_are_those_of_the_trained_model(name):
    found = outputs("made", name, progress=False)
    model = train("made", name, progress=False)
    data = made()
    held = split(data.source_y, 0)[1]
    for logits, proba, X in (
        (found.holdout_logits, found.holdout_proba, data.source_X[held]),
        (found.target_logits, found.target_proba, data.target_X),
    ):
        assert logits.dtype == np.float32
        np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(found.holdout_y, data.source_y[held])
    np.testing.assert_array_equal(found.target_y, data.target_y)
    assert found.accuracy == (model.predict_proba(data.target_X).argmax(axis=1) == data.target_y).mean() > 0.5
    assert found[4:6] == (data.class_names, data.provenance)
    assert found.in_time_order is True
    assert found.stand_in_for == "something"


def test_the_model_is_trained_on_the_rest_of_the_source():
    data = made()
    rows = split(data.source_y, 3)[0]
    expected = _kinds.LogisticRegression(C=1.0, tol=1e-8).fit(data.source_X[rows], data.source_y[rows])
    found = train("made", "logistic", seed=3, progress=False)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)


def test_a_second_call_does_not_train(fits):
    first = outputs("made", "mlp", progress=False)
    again = outputs("made", "mlp", progress=False)
    assert fits == ["MLPClassifier"]
    np.testing.assert_array_equal(first.target_logits, again.target_logits)
    features("made", "mlp", progress=False)
    seen = len(fits)
    features("made", "mlp", progress=False)
    assert len(fits) == seen


def test_a_model_that_takes_epochs_is_read_from_the_cache(monkeypatch):
    first = train("made", "scaled mlp", progress=False)
    monkeypatch.setattr("baserate_lab.models.perceptron._run_epoch", None)  # calling it would fail
    again = train("made", "scaled mlp", progress=False)
    np.testing.assert_array_equal(first.predict_proba(made().target_X), again.predict_proba(made().target_X))


@pytest.mark.parametrize(
    "change", ["seed", "parameter", "kind", "data", "labels", "target", "target labels", "version"]
)
def test_what_changes_the_result_changes_the_name(fits, monkeypatch, change):
    before = outputs("made", "logistic", progress=False)
    data = made()
    altered = {
        "data": data._replace(source_X=data.source_X + 1e-9),
        "labels": data._replace(source_y=np.roll(data.source_y, 1)),
        "target": data._replace(target_X=data.target_X + 1e-9),
        "target labels": data._replace(target_y=np.roll(data.target_y, 1)),
    }
    if change in altered:
        monkeypatch.setattr(recipes, "load", lambda name: altered[change])
    if change == "parameter":
        monkeypatch.setitem(RECIPES, ("made", "logistic"), Recipe("logistic", {"C": 0.5}))
    if change == "kind":
        monkeypatch.setitem(_kinds.KINDS, "other", lambda rng, C: _kinds.LogisticRegression(C=C, fit_intercept=False))
        monkeypatch.setitem(RECIPES, ("made", "logistic"), Recipe("other", {"C": 1.0}))
    if change == "version":
        monkeypatch.setattr(trained, "_VERSION", 2)
    after = outputs("made", "logistic", seed=1 if change == "seed" else 0, progress=False)
    assert len(fits) == 2
    same = before.target_logits.tobytes() == after.target_logits.tobytes()
    assert not same or change in ("data", "target", "target labels", "version")


def test_texts_have_a_checksum_that_sees_every_letter():
    data = made()
    one, two, three = (
        trained.checksum(data._replace(source_X=np.array(texts, dtype=object)))
        for texts in (["ab", "c"], ["a", "bc"], ["ab", "d"])
    )
    assert len({one, two, three, trained.checksum(data)}) == 4


def test_the_checksum_sees_shape_and_type():
    data = made()
    changed = [
        data.source_X.reshape(600, 2), data.source_X.view(np.int64), data.source_X.astype(np.float32), data.source_X,
    ]  # fmt: skip
    assert len({trained.checksum(data._replace(source_X=X)) for X in changed}) == 4


def test_features_and_last_layer_give_the_outputs():
    found = features("made", "mlp", progress=False)
    expected = outputs("made", "mlp", progress=False)
    assert found.holdout.dtype == found.target.dtype == np.float32
    assert found.target.shape == (90, 5)
    for part, proba in ((found.holdout, expected.holdout_proba), (found.target, expected.target_proba)):
        np.testing.assert_allclose(softmax(found.last_layer.logits(part), axis=1), proba, atol=1e-6)
    np.testing.assert_array_equal(found.holdout_y, expected.holdout_y)
    np.testing.assert_array_equal(found.target_y, expected.target_y)
    np.testing.assert_allclose(found.last_layer.features(made().target_X), found.target, atol=1e-6)


def test_the_last_layer_is_kept_to_the_last_bit():
    layer = last_layer_of(train("made", "logistic", progress=False))
    for _ in range(2):  # made, and read
        found = features("made", "logistic", progress=False).last_layer
        assert found.coef.dtype == found.intercept.dtype == np.float64
        np.testing.assert_array_equal(found.coef, layer.coef)
        np.testing.assert_array_equal(found.intercept, layer.intercept)


def test_features_of_further_samples_train_once_at_most(fits):
    first = features("made", "logistic", progress=False).last_layer
    expected = [first.features(made().target_X) for _ in range(2)][1]
    assert len(fits) == 1
    again = features("made", "logistic", progress=False).last_layer
    assert len(fits) == 1
    for _ in range(2):
        np.testing.assert_array_equal(again.features(made().target_X), expected)
    assert len(fits) == 2


def test_only_a_missing_layer_is_taken_for_one(monkeypatch):
    """A TypeError from elsewhere is a bug, not a model that has probabilities only."""

    def broken(model):
        raise TypeError("a bug")

    monkeypatch.setattr(trained, "last_layer_of", broken)
    with pytest.raises(TypeError, match="a bug"):
        outputs("made", "logistic", progress=False)


def test_a_forest_has_no_features():
    with pytest.raises(NoLastLayerError, match="RandomForestClassifier cannot be taken"):
        features("made", "forest", progress=False)


def test_a_probability_of_zero_is_zero_again(monkeypatch):
    monkeypatch.setitem(RECIPES, ("made", "forest"), Recipe("forest", {"n_estimators": 1}))
    found = outputs("made", "forest", progress=False)
    assert np.isfinite(found.target_logits).all()
    assert found.target_logits.min() == -10_000
    np.testing.assert_array_equal(
        found.target_proba == 0, train("made", "forest", progress=False).predict_proba(made().target_X) == 0
    )


def without(monkeypatch, *classes, image=False):
    """The made data, whose source has no sample of some classes."""
    data = made()
    if image:
        data = data._replace(source_X=data.source_X.reshape(-1, 2, 2), target_X=data.target_X.reshape(-1, 2, 2))
    early = ~np.isin(data.source_y, classes)
    lacking = data._replace(source_X=data.source_X[early], source_y=data.source_y[early])
    monkeypatch.setattr(recipes, "load", lambda _: lacking)
    return lacking


@pytest.mark.parametrize("missing", [0, 1, 2])
@pytest.mark.parametrize("name", [model for _, model in RECIPES])
def test_a_class_that_is_not_in_the_source_has_probability_zero(monkeypatch, name, missing):
    if name == "resnet18":
        pytest.importorskip("torch")
    data = without(monkeypatch, missing, image=name == "resnet18")
    found = outputs("made", name, progress=False)
    assert found.target_logits.shape == (90, 3)
    assert (found.target_proba[:, missing] == 0).all()
    known = data.target_y != missing
    assert (found.target_logits.argmax(axis=1) == data.target_y)[known].mean() > 0.6
    if name != "forest":
        seen = features("made", name, progress=False)
        np.testing.assert_allclose(softmax(seen.last_layer.logits(seen.target), axis=1), found.target_proba, atol=1e-6)


@pytest.mark.parametrize("name", ["linear", "mlp", "scaled mlp", "forest", "resnet18"])
def test_a_single_class_is_certain(monkeypatch, name):
    if name == "resnet18":
        pytest.importorskip("torch")
    without(monkeypatch, 0, 2, image=name == "resnet18")
    found = outputs("made", name, progress=False)
    np.testing.assert_array_equal(found.target_proba, np.tile([0, 1, 0], (90, 1)))


def test_files_of_the_package_come_first_if_they_are_of_this_recipe_and_seed(fits, monkeypatch):
    data = trained.outputs_as_bytes("made", "logistic", progress=False)
    file = output_files.commit(data, "made", "logistic", output_files.COMMITTED)
    assert file.name == "made-logistic.npz"
    monkeypatch.setattr(recipes, "load", None)  # neither data nor training is needed
    assert outputs("made", "logistic").target_y.tolist() == made().target_y.tolist()
    monkeypatch.setattr(recipes, "load", lambda name: made())
    fits.clear()
    outputs("made", "logistic", seed=1, progress=False)
    assert fits == ["LogisticRegression"]
    monkeypatch.setitem(RECIPES, ("made", "logistic"), Recipe("logistic", {"C": 0.5}))
    outputs("made", "logistic", progress=False)
    assert len(fits) == 2


@pytest.mark.parametrize("change", ["kind", "version", "version of the file"])
def test_files_of_the_package_of_another_kind_or_version_are_not_used(fits, monkeypatch, change):
    data = trained.outputs_as_bytes("made", "linear", progress=False)
    found, made_by = output_files.from_bytes(data, "x")
    assert made_by["version"] == 1
    if change == "version of the file":
        data = output_files.to_bytes(found, made_by | {"version": 2})
    output_files.commit(data, "made", "linear", output_files.COMMITTED)
    if change == "kind":
        monkeypatch.setitem(RECIPES, ("made", "linear"), Recipe("scaled linear", {"batch_size": 20}))
    if change == "version":
        monkeypatch.setattr(trained, "_VERSION", 2)
    monkeypatch.setenv(VARIABLE, os.environ[VARIABLE] + "-empty")
    fits.clear()
    outputs("made", "linear", progress=False)
    assert fits


def test_files_of_the_package_that_name_no_version_are_of_the_first(monkeypatch):
    data = trained.outputs_as_bytes("made", "linear", progress=False)
    found, made_by = output_files.from_bytes(data, "x")
    del made_by["version"]
    output_files.commit(output_files.to_bytes(found, made_by), "made", "linear", output_files.COMMITTED)
    monkeypatch.setattr(recipes, "load", None)  # neither data nor training is needed
    outputs("made", "linear")


def test_unknown_names_list_the_choices():
    with pytest.raises(ValueError, match="data set 'x'; choose one of made"):
        outputs("x", "mlp")
    with pytest.raises(ValueError, match="no model 'x' for made; choose one of linear, scaled linear, mlp"):
        train("made", "x")
    with pytest.raises(TypeError, match="seed is 'a'"):
        train("made", "mlp", seed="a")
