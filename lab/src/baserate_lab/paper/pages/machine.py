"""Machine and package versions of a run, since numbers depend on them."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from baserate._version import __version__

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "torch")


def machine() -> str:
    """Processors and operating system."""
    n_cores = os.cpu_count() or 1
    return f"{n_cores} processor{'s' if n_cores > 1 else ''}, {platform.machine()}, {platform.system()}"


def versions() -> dict[str, str]:
    """Versions of Python, this package and its numerical dependencies, as far as they are installed."""
    found = {"Python": platform.python_version(), "baserate": __version__}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
