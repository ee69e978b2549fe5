"""Registry of the names of classes in state files: short, stable, and independent of where a class is defined.

A class gives its name where it is defined, ``class Waiting(Component, saved_as="waiting")``, and is registered by being
defined. A file names classes by it and nothing else, so that code may move. Names without a dot are given ones; a class
without one goes by its path (``package.module.Class``), and then a move of it breaks files.
"""

import re
from importlib import import_module
from typing import Any

from baserate.state.unreadable import UnreadableError

_HOMES = ("trackers", "marginals", "calibrators", "shifts", "trust", "adapters", "bank",
          "files.adapting.state", "learners", "integrations", "integrations.spark.bucket")  # fmt: skip
"""Modules of the package that define every saved class, in the order in which they are looked through."""

_OURS = ("baserate.", "baserate_lab.")
"""The beginnings of paths that no file may name: ours without a name are bases of others, and declare nothing."""

_CLASSES: dict[str, type] = {}


def register(cls: type, saved_as: str | None) -> str:
    """Register a class under a name, and return the name.

    Raises
    ------
    TypeError
        If it is no plain name, or another class's.
    """
    path = f"{cls.__module__}.{cls.__qualname__}"
    if saved_as is not None and not re.fullmatch(r"[a-z][a-z0-9_]*", saved_as):
        raise TypeError(f"saved_as is {saved_as!r}; expected lower-case letters, digits and underscores.")
    name = saved_as or path
    known = _CLASSES.get(name)
    # The same class again means that a module was reloaded, or a notebook cell was run twice.
    if known is not None and f"{known.__module__}.{known.__qualname__}" != path:
        raise TypeError(
            f"saved_as is {name!r}, under which {known.__module__}.{known.__qualname__} is saved; choose another."
        )
    _CLASSES[name] = cls
    return name


def registered() -> dict[str, type]:
    """Return all saved classes by name: those of this package, and those of other packages that were imported."""
    for home in _HOMES:
        import_module(f"baserate.{home}")
    return dict(_CLASSES)


def resolve(name: Any) -> type:
    """Return the class with a name in a file.

    Nothing is imported because a file says so: where a name is not known yet, the package's own modules are imported
    one by one until it is. Classes of this package that are only bases of others are known to no file.
    """
    for home in _HOMES:
        if name in _CLASSES:
            break
        import_module(f"baserate.{home}")
    if name not in _CLASSES or name.startswith(_OURS):
        raise UnreadableError(f"holds a {name}, which is not known here; import the module that defines it first")
    return _CLASSES[name]
