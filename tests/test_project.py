"""What the project says about itself is true."""

import re
import tomllib
from pathlib import Path

import pytest

import baserate

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_said_once():
    assert f"version: {baserate.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert PROJECT["project"]["dynamic"] == ["version"]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/design.md",
        "docs/datasets.md",
        "docs/models.md",
        "docs/performance.md",
        "docs/learners.md",
        "docs/serving.md",
        "docs/backtest.md",
        "docs/river.md",
    ],
)
def test_links_and_commands_exist(page):
    text = (ROOT / page).read_text()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / link).exists(), link
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target in re.findall(r"`?make ([\w-]+)", text):
        assert target in targets, target


def test_every_target_is_explained():
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"\.PHONY: (.*)", makefile)[1].split()
    explained = re.findall(r"^## ([\w-]+)", makefile, re.MULTILINE)
    assert set(phony) - {"help"} == set(explained)


def test_the_readme_names_every_tracker_estimator_calibrator_adapter_and_learner():
    text = (ROOT / "README.md").read_text()
    for role in ("trackers", "marginals", "calibrators", "adapters", "learners"):
        for name in __import__(f"baserate.{role}", fromlist=["x"]).__all__:
            assert f"`{name}`" in text, name


def test_optional_libraries_are_imported_in_one_module_each():
    optional = {
        "matplotlib",
        "polars",
        "torch",
        "transformers",
        "pooch",
        "PIL",
        "platformdirs",
        "fastapi",
        "uvicorn",
        "prometheus_client",
        "psycopg",
        "pyspark",
        "river",
    }
    for library in optional:
        importers = [
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / "src").rglob("*.py")
            if re.search(rf"^\s*(import|from) {library}\b", path.read_text(), re.MULTILINE)
        ]
        assert len(importers) <= 1, (library, importers)


def test_files_fit_in_the_head():
    long = [p.name for p in (ROOT / "src").rglob("*.py") if len(p.read_text().splitlines()) > 400]
    assert long == []
