"""Print the lowest version of every dependency that both distributions allow, as pip constraints."""

import re
import tomllib
from pathlib import Path

needed = []
for folder in (".", "lab"):
    project = tomllib.loads((Path(folder) / "pyproject.toml").read_text())["project"]
    needed += project["dependencies"]
    needed += [line for extra in ("plot", "files") for line in project["optional-dependencies"].get(extra, [])]
for line in needed:
    found = re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", line)
    if found is None:
        raise SystemExit(f"pyproject.toml: {line!r} has no lower bound")
    if found[1] != "baserate":
        print(f"{found[1]}=={found[2]}")
