"""Every public name has its place in the API pages, and every figure of the docs is drawn by code."""

import importlib
import importlib.util
import inspect
import re
import sys

import pytest

import baserate

from .pages import ROOT, pages


@pytest.fixture(scope="module")
def api():
    """The extension that writes the pages."""
    spec = importlib.util.spec_from_file_location("api_pages", ROOT / "docs" / "_extensions" / "api_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_an_entry(api):
    public = ["baserate", *(f"baserate.{n}" for n in dir(baserate) if inspect.ismodule(getattr(baserate, n)))]
    assert {*public, "baserate.files", "baserate.service"} <= set(api.modules())
    for module, names in api.modules().items():
        page = api.page(module, names)
        for name in importlib.import_module(module).__all__:
            entry = rf"^\.\. (?:auto\w+:: {module}\.{name}|py:module:: {module}\.{name})$"
            assert re.search(entry, page, re.MULTILINE), f"{module}.{name}"


def test_every_public_name_says_what_it_is(api):
    for module, names in api.modules().items():
        found = importlib.import_module(module)
        assert found.__doc__, module
        assert [name for name in names if callable(getattr(found, name)) and not getattr(found, name).__doc__] == []


def test_figures_are_drawn_by_one_command():
    spec = importlib.util.spec_from_file_location("figures", ROOT / "tools" / "figures.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["figures"] = module
    spec.loader.exec_module(module)
    drawn = {f"{draw.__name__}.svg" for draw in module.FIGURES}
    kept = {path.name for path in (ROOT / "docs" / "images").glob("*.svg")}
    assert drawn == kept
    used = {name for page in pages() for name in re.findall(r"images/(\w+\.svg)", (ROOT / page).read_text())}
    assert kept == used


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in pages():
        text = (ROOT / page).read_text()
        for tree in re.findall(r"```{toctree}\n(.*?)```", text, re.DOTALL):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {((ROOT / page).parent / name).resolve() for name in names}
    for page in pages():
        path = (ROOT / page).with_suffix("").resolve()
        assert not page.startswith("docs/") or page == "docs/index.md" or path in listed, page


def test_results_have_a_command_and_a_date():
    about = {"index", "datasets", "models", "reproduce", "laboratory", "trust/index"}  # what lies behind the results
    index = (ROOT / "docs" / "results" / "index.md").read_text()
    rows = [line.split("|")[2:5] for line in index.splitlines() if line.startswith("|")]
    dated = [pages for pages, command, date in rows if command.strip() and re.search(r"2026-\d\d-\d\d", date)]
    listed = {name for pages in dated for name in re.findall(r"\]\(([\w/]+)\.md\)", pages)}
    folder = ROOT / "docs" / "results"
    assert listed | about == {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md")}
