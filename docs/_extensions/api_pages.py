"""Writes the pages of the API from what the package exports: a page for each public module, an entry for each name."""

import importlib
import inspect
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import baserate

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).parents[1] / "reference" / "api"
APART = ["files", "service", "integrations.river"]
"""Public modules that the root does not serve, because they need an extra."""


def modules() -> dict[str, list[str]]:
    """The public modules, and the names that each exports."""
    names = ["baserate", *(f"baserate.{name}" for name in sorted({*_sub_packages(), *APART}))]
    return {name: sorted(importlib.import_module(name).__all__) for name in names}


def _sub_packages() -> list[str]:
    return [name for name in dir(baserate) if inspect.ismodule(getattr(baserate, name))]


@cache
def _served() -> set[str]:
    """Names of the root that a sub-package has, too: they are indexed there."""
    return {name for package in _sub_packages() for name in importlib.import_module(f"baserate.{package}").__all__}


def page(module: str, names: list[str]) -> str:
    """The page of a module: what it is for, then its names."""
    found = importlib.import_module(module)
    parts = [f"{module}\n{'=' * len(module)}\n", f".. py:module:: {module}\n", f"{inspect.getdoc(found)}\n"]
    for name in names:
        value = getattr(found, name)
        indexed = "   :no-index:\n" if module == "baserate" and name in _served() else ""
        parts.append(f"{name}\n{'-' * len(name)}\n")
        if inspect.ismodule(value):
            parts.append(f".. py:module:: {value.__name__}\n\n{inspect.getdoc(value)}\n")
        elif inspect.isclass(value):
            parts.append(f".. autoclass:: {module}.{name}\n{indexed}")
        elif callable(value):
            parts.append(f".. autofunction:: {module}.{name}\n{indexed}")
        else:
            parts.append(f".. autodata:: {module}.{name}\n   :no-value:\n{indexed}")
    return "\n".join(parts)


def write(app: "Sphinx | None" = None) -> None:
    """Write the pages; one that has not changed is left alone, so that a second build is quick."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages = {f"{module}.rst": page(module, names) for module, names in modules().items()}
    tree = "".join(f"   {name.removesuffix('.rst')}\n" for name in pages)
    pages["index.rst"] = f"API\n===\n\nEvery public name.\n\n.. toctree::\n   :maxdepth: 2\n\n{tree}"
    for path in set(FOLDER.glob("*.rst")) - {FOLDER / name for name in pages}:
        path.unlink()
    for name, text in pages.items():
        path = FOLDER / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Write before Sphinx looks for pages."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
