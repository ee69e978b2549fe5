"""The table of recipes, the files that come with the package, and the command line."""

import json
import subprocess
import sys

import numpy as np
import pytest

from baserate_lab import datasets
from baserate_lab.cache import VARIABLE
from baserate_lab.models import RECIPES, _kinds, outputs, recipes
from baserate_lab.models.__main__ import main
from baserate_lab.models.output_files import COMMITTED, SIZE_LIMIT, read
from baserate_lab.models.recipes import _LOADERS

FILES = sorted(COMMITTED.glob("*.npz"))
NAMES = {f"{dataset}-{model}": (dataset, model) for dataset, model in RECIPES}


def names_of(file):
    """Data set and model of a file of the package; files of other seeds than 0 name theirs."""
    return NAMES[file.stem.partition("-seed")[0]]


@pytest.mark.parametrize("names", RECIPES, ids="-".join)
def test_every_recipe_can_be_built_and_has_its_data(names):
    recipe = RECIPES[names]
    parameters = json.loads(json.dumps(recipe.parameters))
    parameters.pop("until_error", None)  # a rule of the training, not a parameter of the model
    model = _kinds.KINDS[recipe.kind](0, **parameters)
    assert hasattr(model, "predict_proba")
    module = _LOADERS.get(names[0], (names[0], {}))[0]
    assert module in datasets.names()


def test_the_published_settings():
    """As the authors ran them."""
    assert RECIPES["mnist", "mlp"][:2] == (
        "normalised mlp",
        {"hidden": [20], "epochs": 1, "mean": 0.1307, "std": 0.3081},
    )
    assert RECIPES["fashion", "mlp"].parameters == {"hidden": [100, 100, 100], "epochs": 50}
    built = _kinds.KINDS["mlp"](0, hidden=(20,), epochs=1)
    assert (built.learning_rate_init, built.momentum, built.batch_size) == (0.1, 0.9, 200)
    assert built.alpha / built.batch_size == 1e-4
    for dataset in ("cifar10", "cinic10", "eurosat"):
        assert RECIPES[dataset, "resnet18"].parameters == {
            "width": 64, "epochs": 50 if dataset == "eurosat" else 70, "batch_size": 200, "step_size": 0.1,
            "momentum": 0.9, "nesterov": False, "l2": 1e-4, "schedule": "constant", "augment": False,
        }  # fmt: skip
    published = RECIPES["cifar10", "resnet18"].parameters
    plain = RECIPES["cifar10", "resnet18-plain"].parameters
    assert plain == {
        **published, "width": 32, "epochs": 8, "schedule": "drop", "precision": "bfloat16",
    }  # fmt: skip
    assert RECIPES["mnist", "mlp-text"].parameters["hidden"] == [100, 100, 20]
    assert RECIPES["mnist", "forest"].parameters["max_depth"] == 2


def test_the_loader_of_a_data_set_that_is_split_another_way(monkeypatch):
    asked = []
    monkeypatch.setattr("baserate_lab.datasets.load", lambda name, **options: asked.append((name, options)))
    for name in ("arxiv", "arxiv-random", "hapt"):
        recipes.load(name)
    assert asked == [("arxiv", {}), ("arxiv", {"by_time": False}), ("hapt", {})]


def test_every_data_set_whose_labels_come_with_the_package_is_credited():
    text = (COMMITTED / "README.md").read_text()
    for file in FILES:
        name = names_of(file)[0].removesuffix("-random")
        assert f"| `{name}` |" in text, name


def test_there_are_files():
    assert {"mnist-mlp", "mnist-forest", "fashion-mlp", "hapt-linear"} <= {file.stem for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_of_the_package(file, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert file.stat().st_size <= SIZE_LIMIT
    dataset, model = names_of(file)
    found, metadata = read(file)
    assert (metadata["dataset"], metadata["model"]) == (dataset, model)
    assert (metadata["kind"], metadata["parameters"]) == RECIPES[dataset, model][:2]
    # The module had another name when they were made.
    command = metadata["command"].replace("baserate.models", "baserate_lab.models")
    assert command == f"python -m baserate_lab.models {dataset} {model} --seed {metadata['seed']}"
    assert metadata["versions"]["numpy"]
    k = len(found.class_names)
    for logits, y in ((found.holdout_logits, found.holdout_y), (found.target_logits, found.target_y)):
        assert logits.dtype == np.float32
        assert logits.shape == (len(y), k)
        assert np.isfinite(logits).all()
        assert y.min() >= 0
        assert y.max() < k
    with np.load(file) as stored:
        assert stored["holdout_y"].dtype == stored["target_y"].dtype == np.uint8
    assert found.accuracy == (found.target_logits.argmax(axis=1) == found.target_y).mean()
    for logits, y in (found[:2], found[2:4]):
        largest = np.bincount(y).max() / len(y)
        assert (logits.argmax(axis=1) == y).mean() > max(largest, 0.5)  # better than a guess
    again = outputs(dataset, model, seed=metadata["seed"])  # finds the file, without data
    np.testing.assert_array_equal(again.target_logits, found.target_logits)
    assert list(tmp_path.iterdir()) == []


def test_the_command_trains_prints_and_writes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    assert main(["synthetic", "linear", "--seed", "1", "--commit", str(tmp_path / "out")]) == 0
    found, metadata = read(tmp_path / "out" / "synthetic-linear-seed1.npz")
    assert metadata["seed"] == 1
    assert 0.88 < found.accuracy < 0.93
    text = capsys.readouterr().out
    assert f"accuracy {100 * found.accuracy:.2f} % on 12,000 target samples; holdout 12,000" in text
    assert "synthetic-linear-seed1.npz" in text


def test_the_list(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["--list"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for names in RECIPES for name in names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing", "mlp"], "no recipe for the data set 'nothing'; choose one of arxiv"),
        (["mnist", "nothing"], "no model 'nothing' for mnist; choose one of mlp, mlp-text, forest, logistic"),
        (["mnist"], "name a data set and a model; --list shows them"),
        (["mnist", "mlp", "--seed", "-1"], "--seed is -1"),
    ],
)
def test_wrong_arguments(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, "run the same command to resume"),
        (OSError("no network"), 1, "baserate_lab.models: no network"),
    ],
)
def test_how_it_ends(error, status, message, monkeypatch, capsys):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("baserate_lab.models.trained.outputs_as_bytes", fail)
    assert main(["mnist", "mlp"]) == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("fashion", "mlp"), "to resume after the last finished epoch"),
        (("mnist", "mlp"), "to resume after the last finished epoch"),
        (("hapt", "mlp"), "to resume after the last finished epoch"),
        (("cifar10", "resnet18"), "to resume after the last finished epoch"),
        (("arxiv", "minilm"), "to resume; embedded texts are kept"),
        (("mnist", "forest"), "starts over"),
        (("mnist", "logistic"), "starts over"),
        (("reuters", "tfidf"), "starts over"),
        (("hapt", "linear"), "starts over"),
    ],
    ids=str,
)
def test_it_promises_no_more_than_it_keeps(names, message, monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("baserate_lab.models.trained.outputs_as_bytes", stop)
    assert main(list(names)) == 130
    assert message in capsys.readouterr().err


def test_a_file_to_commit_into_is_refused_before_the_training(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("baserate_lab.models.trained.outputs_as_bytes", None)  # calling it would fail
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stopped:
        main(["mnist", "mlp", "--commit", str(tmp_path / "file")])
    assert stopped.value.code == 2
    assert "is a file; name a folder" in capsys.readouterr().err


def test_the_command_loads_the_data_once(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    loads, plain = [], recipes.load
    monkeypatch.setattr(recipes, "load", lambda name: loads.append(name) or plain(name))
    assert main(["synthetic", "linear"]) == 0
    assert loads == ["synthetic"]


def test_importing_the_models_does_not_import_torch():
    script = "import sys, baserate_lab.models; assert not {'torch', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
