"""The tool that makes the streams and the pictures of docs/howto/reports.md."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def screenshots():
    """The module, which is in no package."""
    spec = importlib.util.spec_from_file_location("screenshots", ROOT / "tools" / "screenshots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
