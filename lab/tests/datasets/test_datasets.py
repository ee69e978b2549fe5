"""What data sets promise, and those that need no files."""

import hashlib
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

from baserate.datasets import synthetic
from baserate_lab import datasets

WITHOUT_FILES = ["digits", "synthetic"]


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_a_data_set_is_whole_and_always_the_same(name, check):
    data, again = check(datasets.load(name)), datasets.load(name)
    for y in (data.source_y, data.target_y):
        assert set(np.unique(y)) == set(range(len(data.class_names)))
    assert all(np.array_equal(a, b) for a, b in zip(data[:4], again[:4], strict=True))
    assert (data.in_time_order, data.stand_in_for) == (False, None)


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
    assert len(named) == 16  # all but the two without files, and arXiv, which has two recipes
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


def test_synthetic_is_the_published_sample():
    """The centres as the published run logged them."""
    data = synthetic.load()
    logged = [
        [-0.016602, -0.035527, 0.332851, -0.401524, 0.238149, -0.546676],
        [0.470452, -0.201273, 0.202060, -0.130861, 0.047408, 0.075118],
        [-0.386367, 0.060660, 0.168568, 0.222990, -0.121428, 0.182442],
    ]
    means = [data.source_X[data.source_y == c].mean(axis=0)[:6] for c in range(3)]
    np.testing.assert_allclose(means, logged, atol=4 * np.sqrt(0.215 / 20_000))
    assert data.source_X.var(axis=0).mean() > 0.215
    assert np.var(data.source_X[data.source_y == 1], axis=0).mean() == pytest.approx(0.215, rel=0.01)


def test_synthetic_with_a_seed_is_fresh_around_the_same_centres():
    fresh, published = synthetic.load(rng=1), synthetic.load()
    assert not np.array_equal(fresh.target_X, published.target_X)
    for c in range(3):
        gap = fresh.source_X[fresh.source_y == c].mean(axis=0) - published.source_X[published.source_y == c].mean(
            axis=0
        )
        assert np.abs(gap).max() < 5 * np.sqrt(2 * 0.215 / 20_000)


def test_source_and_target_do_not_share_samples():
    data = datasets.digits.load()
    digest = [{hashlib.sha1(row.tobytes()).hexdigest() for row in X} for X in (data.source_X, data.target_X)]
    assert len(digest[0] & digest[1]) == 0
