"""Print the lowest version that pyproject.toml allows of every dependency, as pip constraints."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
needed = project["dependencies"] + [
    line for extra in ("plot", "files", "data") for line in project["optional-dependencies"][extra]
]
for line in needed:
    found = re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", line)
    if found is None:
        raise SystemExit(f"pyproject.toml: {line!r} has no lower bound")
    print(f"{found[1]}=={found[2]}")
