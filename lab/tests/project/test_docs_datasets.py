"""What docs/results/datasets.md says is what the loaders do, and whose labels come with the package."""

import re
from pathlib import Path

import pytest

from baserate_lab import datasets, models
from baserate_lab.datasets._fetch import DatasetRecipe
from baserate_lab.datasets._official import Download

TEXT = (Path(__file__).parents[3] / "docs" / "results" / "datasets.md").read_text()
ROWS = [line for line in TEXT.splitlines() if line.startswith("| `")]


def recipes(name):
    return [value for value in vars(getattr(datasets, name)).values() if type(value) is DatasetRecipe]


@pytest.mark.parametrize("name", [name for name in datasets.names() if recipes(name)])
def test_the_commands_are_those_that_the_loaders_name(name):
    ways = [way for recipe in recipes(name) for _, way in recipe.ways]
    for way in ways:
        if way is not None and not isinstance(way, Download):
            assert f"`{way.command}`" in TEXT
    row = next(
        row for row in ROWS if re.match(rf"\| [`a-z0-9_, ]*`{name}`[`a-z0-9_, ]* \|( yes | by [a-z ()A-Z]+| )\|", row)
    )
    assert ("| yes |" in row) == any(isinstance(way, Download) for way in ways)


def test_the_labels_that_come_with_the_package_are_owned_up_to():
    packaged = {path.name.split("-")[0] for path in (Path(models.__file__).parent / "outputs").glob("*.npz")}
    assert "synthetic" in packaged
    section = TEXT.split("## What comes with the laboratory")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|.+\|.+\| <http.+> \|$", section, re.MULTILINE)) == packaged - {
        "synthetic"
    }  # our own
