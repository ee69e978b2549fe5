"""The names that others rely on."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import baserate

from .. import exported

FROZEN = {
    "baserate": {"Bank", "LabelShiftClassifier", "RegressAndReweight", "decide", "evaluate", "load", "save"},
    "baserate.trackers": {
        "FLHFTL", "Aligator", "Arrows", "FollowTheFixedWindow", "FollowTheHistory", "LastSighting", "LikelihoodMixture",
        "LowSwitching", "OnlineGradientDescent",
    },
    "baserate.marginals": {"BBSE", "MLLS", "RLLS"},
    "baserate.calibrators": {"AutoCalibrator", "BCTS", "TemperatureScaling", "VectorScaling"},
    "baserate.adapters": {
        "ATLAS", "ROGD", "UOGD", "Base", "OptimalFixed", "Oracle", "RegressAndReweight", "RetrainLastLayer",
    },
    "baserate.learners": {"ContinualTraining", "ContinualTrainingResampled", "LazyTrainByWeights", "TrainByWeights"},
    "baserate.shifts": {
        "Adversary", "Bernoulli", "Constant", "Monotone", "RandomWalk", "Sinusoidal", "Square", "frequencies",
        "replay_stream",
        "sample_stream",
    },
    "baserate.metrics": {
        "best_hypothesis_losses", "class_losses", "dynamic_regret", "error_rate", "marginal_mse", "reweighting_losses",
    },
    "baserate.datasets": {"Dataset", "digits", "synthetic"},
    "baserate.demo": {"Cell", "Demo", "TrainedModel", "run_demo", "train_model"},
    "baserate.files": {
        "AdaptJob", "AdaptResult", "ColumnRoles", "FileProblemError", "ProgressCallback", "RoundLength", "Source",
        "adapt_file", "source_named",
    },
    "baserate.integrations": {"LabelShiftClassifier", "LastLayer", "TorchClassifier", "last_layer"},
    "baserate.backtesting": {"Backtest", "Change", "Played", "Score", "Trust", "backtest"},
    "baserate.decisions": {"decide", "expected_costs", "moved_threshold"},
    "baserate.trust": {
        "Accuracy", "AccuracyEstimate", "AssumptionCheck", "Finding", "Gate", "HoldoutWarning", "Merged", "PriorBand",
        "Problem", "SerialDependence", "UnknownMass", "health", "merge_classes",
    },
}  # fmt: skip


def unreleased():
    """The names in the changelog's section of what is not released yet."""
    text = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
    section = text.partition("## [Unreleased]")[2].partition("\n## [")[0]
    return set(re.findall(r"`(\w+)", section))


@pytest.mark.parametrize("module", FROZEN)
def test_exports_are_frozen(module):
    """No name goes away; one that comes is in the changelog, and with the release in the list above."""
    names = set(importlib.import_module(module).__all__)
    assert names >= FROZEN[module]
    assert names - FROZEN[module] <= unreleased()


@pytest.mark.parametrize("role", ["trackers", "marginals", "calibrators", "adapters", "learners"])
def test_the_table_of_packages_names_every_frozen_class(role):
    text = (Path(__file__).parents[2] / "docs" / "reference" / "packages.md").read_text()
    assert [name for name in sorted(FROZEN[f"baserate.{role}"]) if f"`{name}`" not in text] == []


def test_at_most_twelve_names_at_the_root():
    assert len(baserate.__all__) <= 12


@pytest.mark.parametrize("module", exported.modules(), ids=lambda m: m.__name__)
def test_exports_exist_and_are_documented(module):
    for name in module.__all__:
        value = getattr(module, name)
        assert value.__doc__, f"{module.__name__}.{name} has no docstring"
        assert name in dir(module)


def test_the_root_shows_public_names_alone():
    assert set(baserate.__all__) < set(dir(baserate))
    assert [name for name in dir(baserate) if name.startswith("_")] == ["__version__"]
    assert not {"import_module", "Any", "TYPE_CHECKING"} & set(dir(baserate))
    for name in dir(baserate):
        assert getattr(baserate, name)


def test_no_other_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        baserate.nonsense  # noqa: B018


def test_names_are_not_shadowed_by_modules():
    """Importing a module must not put it in the place of a public name."""
    script = (
        "import pkgutil, importlib, baserate\n"
        "for module in pkgutil.walk_packages(baserate.__path__, 'baserate.'):\n"
        "    try:\n"
        "        if '__main__' not in module.name:\n            importlib.import_module(module.name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        assert error.name in ('torch', 'river'), error\n"
        "assert all(callable(getattr(baserate, name)) for name in baserate.__all__)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_importing_is_quick():
    """The root pulls in none of the slow libraries."""
    script = "import sys, baserate; print(sorted({'numba', 'sklearn', 'scipy', 'numpy', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_help_pulls_in_none_of_the_slow_libraries():
    script = (
        "import sys; sys.argv = ['baserate', '--help']\n"
        "from baserate.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert not {'numba', 'sklearn', 'scipy', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_the_package_is_typed():
    assert (Path(baserate.__file__).parent / "py.typed").is_file()


def test_sub_packages_are_served_by_the_root():
    script = "import baserate; baserate.trackers.FLHFTL; baserate.shifts.Square; assert 'trackers' in dir(baserate)"
    subprocess.run([sys.executable, "-c", script], check=True)
