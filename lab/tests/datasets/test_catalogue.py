"""All data sets by name, and those that need no files."""

import pkgutil
import subprocess
import sys

import numpy as np
import pytest

from baserate.datasets import synthetic
from baserate_lab import datasets

WITHOUT_FILES = ["digits", "synthetic"]


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_a_data_set_that_needs_no_files_is_whole(name, check):
    check(datasets.load(name))


def test_the_catalogue_is_the_folder():
    modules = [m.name for m in pkgutil.iter_modules(datasets.__path__) if not m.name.startswith("_")]
    assert datasets.names() == sorted([*modules, *WITHOUT_FILES])  # these are in baserate.datasets
    assert set(datasets.names()) < set(datasets.__all__)
    for name in datasets.names():
        module = getattr(datasets, name)
        assert module.__doc__
        assert module.load.__doc__
        assert name in dir(datasets)


def test_a_recipe_has_the_name_of_its_module():
    named = {
        name: module.RECIPE.name for name in datasets.names() if hasattr(module := getattr(datasets, name), "RECIPE")
    }
    assert len(named) == 17  # all but the two without files, and arXiv, which has two recipes
    assert all(name == recipe for name, recipe in named.items())


def test_an_unknown_name_is_an_error_that_lists_the_names():
    with pytest.raises(ValueError, match=r"no data set 'minst'.*mnist.*weather"):
        datasets.load("minst")
    with pytest.raises(AttributeError, match="no attribute 'minst'"):
        datasets.minst  # noqa: B018


def test_options_are_handed_on():
    data = datasets.load("synthetic", rng=3)
    assert np.array_equal(data.target_X, synthetic.load(rng=3).target_X)
    assert not np.array_equal(data.target_X, synthetic.load().target_X)


def test_an_option_that_a_data_set_does_not_have_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"^the data set digits has no option 'folder'; it has: none\.$"):
        datasets.load("digits", folder=tmp_path)
    with pytest.raises(TypeError, match=r"arxiv has no option 'rng'; it has: folder, by_time\."):
        datasets.load("arxiv", folder=tmp_path, rng=1)


def test_importing_all_loaders_needs_none_of_the_optional_libraries():
    script = (
        "import sys\nfrom baserate_lab import datasets\n"
        "[getattr(datasets, name) for name in datasets.names()]\n"
        "print(sorted({'pooch', 'requests', 'PIL', 'polars'} & set(sys.modules)))"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.communicate(timeout=120)[0] == "[]\n"
    assert child.returncode == 0
