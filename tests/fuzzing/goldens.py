"""The valid state files that crafted ones are made from."""

import io
import json
import zipfile
from functools import cached_property
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "tests" / "golden", ROOT / "lab" / "tests" / "golden")


class Golden:
    """A state file taken apart: its manifest as text, its arrays, and these as bytes."""

    def __init__(self, path):
        self.name = path.stem
        with zipfile.ZipFile(path) as archive:
            self.manifest = archive.read("manifest.json").decode()
            self.members = [archive.read(f"{i}.npy") for i in range(len(archive.namelist()) - 1)]
        self.arrays = [np.load(io.BytesIO(member)) for member in self.members]

    def tree(self):
        """A new copy of the manifest."""
        return json.loads(self.manifest)

    @cached_property
    def parts(self):
        """Every saved object in it, as nodes of the manifest."""
        found = []

        def walk(node):
            if isinstance(node, list):
                for item in node:
                    walk(item)
            elif isinstance(node, dict):
                if "$class" in node:
                    found.append(node)
                for item in node.values():
                    walk(item)

        walk(self.tree())
        return found


def goldens():
    """All of them, in a fixed order."""
    return [Golden(path) for folder in FOLDERS for path in sorted(folder.glob("*.baserate"))]
