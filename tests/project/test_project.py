"""What the project says about itself is true."""

import importlib
import io
import re
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import baserate

from .pages import pages

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "src" / "baserate", ROOT / "lab" / "src" / "baserate_lab"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_said_once():
    assert f"version: {baserate.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert PROJECT["project"]["dynamic"] == ["version"]


@pytest.mark.parametrize("page", pages())
def test_links_and_commands_exist(page):
    text = (ROOT / page).read_text()
    for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        made = link.endswith(("api/index.rst",))  # by the build
        assert made or ((ROOT / page).parent / link).exists(), link
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target in re.findall(r"(?:`|^\$ )make ([\w-]+)", text, re.MULTILINE):  # commands, and not the English word
        assert target in targets, target


def test_the_readme_fits_on_a_screen_or_two():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_every_target_is_explained():
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"\.PHONY: (.*)", makefile)[1].split()
    explained = re.findall(r"^## ([\w-]+)", makefile, re.MULTILINE)
    assert set(phony) - {"help"} == set(explained)


SERVICE = ("starlette", "msgspec", "uvicorn", "uvloop", "prometheus_client", "psycopg", "httpx")


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_optional_libraries_are_imported_in_one_module_each(source):
    for library in ("matplotlib", "polars", "torch", "transformers", "pooch", "PIL", "platformdirs", "river", *SERVICE):
        importers = [
            path.relative_to(ROOT).as_posix()
            for path in source.rglob("*.py")
            if re.search(rf"^\s*(import|from) {library}\b", path.read_text(), re.MULTILINE)
        ]
        assert len(importers) <= 1, (library, importers)


def test_files_fit_in_the_head():
    long = [p.name for source in SOURCES for p in source.rglob("*.py") if len(p.read_text().splitlines()) > 400]
    assert long == []


MODULES = {"scikit-learn": "sklearn", "pillow": "PIL", "prometheus-client": "prometheus_client"}


@pytest.mark.parametrize("folder", [".", "lab"])
def test_every_dependency_is_imported(folder):
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    text = "".join(path.read_text() for path in (ROOT / folder / "src").rglob("*.py"))
    for line in project["dependencies"] + extras:
        name = re.match(r"[\w.-]+", line)[0]
        module = MODULES.get(name, name)
        assert re.search(
            rf"^\s*(import|from) {module}\b|import_module\(\"{module}\"|\"{module}\"\):", text, re.MULTILINE
        ), line


UNSAFE = {"torch": (2, 5), "transformers": (5, 2), "pillow": (10, 2)}
"""The newest versions with a known way to run code that comes with data."""


@pytest.mark.parametrize("folder", [".", "lab"])
def test_unsafe_versions_of_dependencies_are_left_out(folder):
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    for line in sum(project["optional-dependencies"].values(), project["dependencies"]):
        name, least = re.match(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)", line).groups()
        assert tuple(map(int, least.split("."))) > UNSAFE.get(name, ()), line


def test_the_wheel_is_small():
    """Under 1 MB, packed as a wheel is."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((ROOT / "src" / "baserate").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(ROOT))
    assert 100_000 < len(buffer.getvalue()) < 1_000_000


VERSIONS = ["3.11", "3.12", "3.13", "3.14"]


@pytest.mark.parametrize("folder", [".", "lab"])
def test_the_supported_versions_of_python_are_said_alike(folder):
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    said = [line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert said == VERSIONS
    assert project["requires-python"] == f">={VERSIONS[0]}"
    assert "Python 3.11, 3.12, 3.13 and 3.14 on Linux" in (ROOT / "docs" / "howto" / "platforms.md").read_text()
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in VERSIONS


WHOLE = {"golden", "project", "system"}  # folders of tests that are about the whole, and mirror no file


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_tests_mirror_the_source(source):
    """A file of tests stands where what it tests stands, and has its name; a topic may follow."""
    tests = source.parents[1] / "tests"
    for test in tests.rglob("test_*.py"):
        folder = test.parent.relative_to(tests)
        if folder.parts[:1] and folder.parts[0] in WHOLE:
            continue
        here = [path for path in (source / folder).glob("*") if path.suffix == ".py" or path.is_dir()]
        known = {path.stem.lstrip("_") for path in here if not path.stem.startswith("__")}
        tested = test.stem.removeprefix("test_")
        named = any(tested == name or tested.startswith(f"{name}_") for name in known)
        assert named, f"{test.relative_to(ROOT)} tests no file of {(source / folder).relative_to(ROOT)}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_every_public_class_has_a_file_of_tests(source):
    """Named after the module that defines it, in the folder that mirrors the module's."""
    tests = source.parents[1] / "tests"
    for init in source.glob("*/__init__.py"):
        package = importlib.import_module(f"{source.name}.{init.parent.name}")
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            if not isinstance(value, type) or not value.__module__.startswith(f"{package.__name__}."):
                continue  # no class, or one that is defined elsewhere
            *folders, module = value.__module__.split(".")[1:]
            test = tests.joinpath(*folders, f"test_{module.lstrip('_')}.py")
            assert test.exists(), f"{name} has no {test.relative_to(ROOT)}"
