"""Everything the package exports, found by looking: a new class is tested by being exported."""

import importlib
import inspect

import baserate
from baserate.state import Component

ROLES = ("trackers", "marginals", "calibrators", "adapters", "learners", "shifts")


def modules():
    """The modules that export public names."""
    return [
        baserate,
        *(
            importlib.import_module(f"baserate.{name}")
            for name in (*ROLES, "metrics", "datasets", "decisions", "backtesting", "integrations", "trust")
        ),
    ]


def classes():
    """All exported classes of components, each once."""
    found = {}
    for role in ROLES:
        module = importlib.import_module(f"baserate.{role}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and issubclass(value, Component):
                found[f"{role}.{name}"] = value
    return found


def examples():
    """One instance per mode of every exported class, by name."""
    return {f"{name}[{i}]": example for name, cls in classes().items() for i, example in enumerate(cls.examples())}
